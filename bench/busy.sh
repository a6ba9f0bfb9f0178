#!/usr/bin/env bash
# Hosts that start some hundred programs a second: a build with make -j2, packages that are unpacked, a shell loop. The recorder and perf record -g run
# beside each other, for BENCH_SECONDS (60) per load and cache; so their ratio holds on a machine with other work. Shares of one CPU need
# a quiet machine. The rows of 2026-11-23 are of 25 s each, self times of 30 s at 499 Hz, on a busy machine, both sides with nice 19.
#
#   BENCH_ROWS='load up shares slow memory'   which parts:
#       load     for each load and cache: own CPU, perf, BPF time, stacks that end early, leaves without a name
#       up       all processes and BPF programs of `up` at its defaults, of each load
#       shares   the time in cc1, as, sh and make by function, compared with perf's
#       slow     CPU and wall time of a build with and without the recorder: BENCH_PAIRS (20) alternating pairs
#       memory   the collector of `up` after BENCH_PROCESSES (100000) processes
#   BENCH_LOADS='build unpack shell'            which loads, for the first two
#   BENCH_CACHES='warm cold'                    cold: the page cache is dropped before the recorder starts
. bench/lib.sh
. tests/live/lib_project.sh
seconds=${BENCH_SECONDS:-60}
parts=${BENCH_ROWS:-load up shares slow memory}
loads=${BENCH_LOADS:-build unpack shell}
caches=${BENCH_CACHES:-warm cold}
pairs=${BENCH_PAIRS:-20}
processes=${BENCH_PROCESSES:-100000}
[ "$(id -u)" = 0 ] || { say "needs root"; exit 1; }

# Each load runs in a session of its own until load_ends.
load_begins() { # NAME
	setsid bash -c "$(declare -f "load_$1"); set -e; tmp=$tmp; load_$1" >"$tmp/load.out" 2>&1 &
	load=$!
}
load_ends() {
	[ "$load" != 0 ] || return 0
	kill -KILL -- "-$load" 2>/dev/null
	wait "$load" 2>/dev/null
	load=0
}
load_build() {
	while make -j2 BUILD="$tmp/built" all; do rm -rf "$tmp/built"; done
}
load_shell() {
	seq 200 >"$tmp/numbers"
	while :; do
		sed -n 's/1/2/p' "$tmp/numbers" | grep -c 22
		expr 3 + 4
		date +%s
		sort -r "$tmp/numbers" | tail -1
	done
}
load_unpack() {
	local root=$tmp/root package=$tmp/package
	mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$package/DEBIAN" "$package/opt/files"
	touch "$root/var/lib/dpkg/status"
	cp -r src "$package/opt/files"
	printf 'Package: files\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: files\n' >"$package/DEBIAN/control"
	dpkg-deb -b "$package" "$tmp/files.deb"
	while :; do dpkg --root="$root" --force-all --unpack "$tmp/files.deb"; done
}

# Whether names can be had of a file: it, or the debug file of its build id on this machine, has symbols. A file that is gone counts as one.
has_symbols() { # FILE BUILD-ID
	[ -e "$1" ] || return 0
	[ -e "/usr/lib/debug/.build-id/${2:0:2}/${2:2}.debug" ] || readelf -SW "$1" 2>/dev/null | grep -q '\.symtab'
}
# Samples of the recording with a nameless leaf: in files with symbols, in files without, in other code.
nameless() {
	local n id file with=0 without=0 other=0
	while IFS=, read -r n id file; do
		if [ "${file:0:1}" != / ]; then
			other=$((other + n))
		elif has_symbols "$file" "$id"; then
			with=$((with + n))
			say "  $n samples without a name in $file"
		else
			without=$((without + n))
		fi
	done < <("$cresset" sql --data "$tmp/c.cresset" --format csv "SELECT sum(s.value), f.build_id, f.mapping
		FROM samples s JOIN stacks t ON t.stack = s.stack JOIN frames f ON f.stack = s.stack AND f.depth = t.depth - 1
		WHERE f.function IS NULL OR f.function GLOB '*+0x*' OR f.function = '[unknown]' GROUP BY 2, 3" | tail -n +2)
	echo "$with $without $other"
}
forks() { awk '/^processes/ { print $2 }' /proc/stat; }
json() { jq -r ".$1" "$tmp/c.json"; }

# Records with both: how many forks meanwhile, and the CPU time of all of perf, as of all of the recorder (its start and end, too). Names are in the
# recorder's file when it ends; perf finds them when its file is read.
beside() {
	local n TIMEFORMAT='%U %S'
	start_cresset -F 99 || return 1
	n=$(forks)
	{ time perf record -q -a -g -F 99 -o "$tmp/perf.data" -- sleep "$seconds" 2>"$tmp/perf.err"; } 2>"$tmp/perf.time"
	n=$(($(forks) - n))
	stop_cresset
	{ time perf script --no-inline -i "$tmp/perf.data" >/dev/null 2>&1; } 2>"$tmp/script.time"
	took=("$(($(json own_cpu_ns) - $(json own_bpf_ns)))" "$(spent_ns perf)" "$n" "$(spent_ns script)")
}
spent_ns() { awk '{ printf "%.0f", ($1 + $2) * 1e9 }' "$tmp/$1.time"; }

measure() { # LOAD CACHE
	local what="$1, $2 cache" took unnamed cut=1
	load_begins "$1"
	sleep 3
	[ "$2" = warm ] && sleep 5
	[ "$2" = cold ] && cut=3 && sync && echo 3 >/proc/sys/vm/drop_caches
	beside || return 1
	load_ends
	local own=${took[0]} peer=${took[1]} rate samples bpf
	rate=$(calc "${took[2]} / $seconds") samples=$(json samples)
	bpf=$(calc "100 * $(json own_bpf_ns) / $(json duration_ns)")
	say "$what: $samples samples, $(json lost) lost; $rate forks a second; load $(cut -d' ' -f1 /proc/loadavg)"
	row "$what: own CPU against \`perf record -a -g -F 99\`" "≤ 0.5×" \
		"$(calc "$own / ($peer + 1)")× ($(calc "$own / $seconds / 1e7") % and $(calc "$peer / $seconds / 1e7") % of a CPU, $rate forks a second)" \
		"$(met "$own <= 0.5 * $peer")"
	row "… against perf record and perf script, which also finds names" "-" \
		"$(calc "$own / ($peer + ${took[3]} + 1)")× (perf script: $(calc "${took[3]} / $seconds / 1e7") % of a CPU)" -
	row "$what: time in BPF programs" "≤ 1.3 % of a CPU" "$bpf %" "$(met "$bpf <= 1.3")"
	row "$what: stacks that end early" "≤ $cut %" "$(calc "100 * $(json truncated) / ($samples + 1)") %" \
		"$(met "100 * $(json truncated) <= $cut * ($samples + 1)")"
	read -r -a unnamed < <(nameless)
	row "$what: nameless leaves in files with symbols" "≤ 1 %" \
		"$(calc "100 * ${unnamed[0]} / ($samples + 1)") % (without symbols $(calc "100 * ${unnamed[1]} / ($samples + 1)") %, outside of files $(
			calc "100 * ${unnamed[2]} / ($samples + 1)"
		) %)" "$(met "100 * ${unnamed[0]} <= $samples + 1")"
}

part_load() {
	local name cache
	for name in $loads; do
		for cache in $caches; do measure "$name" "$cache" || return 1; done
	done
}

# --- up -------------------------------------------------------------------------------------------
tree() { # PID: it and all below it
	local p
	echo "$1"
	for p in $(pgrep -P "$1"); do tree "$p"; done
}
tree_ns() {
	local n=0 p
	for p in $(tree "$up"); do n=$((n + $(cpu_ns "$p"))); done
	echo $n
}
begin_up() {
	chmod 755 "$tmp"
	"$cresset" up --data "$tmp/data" --listen none --memory 32M 2>"$tmp/up.log" &
	up=$!
	pids+=("$up")
	for _ in $(seq 200); do
		collector=$(pgrep -P "$up" -x cresset-collect) && grep -q 'recording this machine' "$tmp/up.log" && return
		sleep 0.1
	done
	say "up did not start: $(cat "$tmp/up.log")"
	return 1
}
end_up() {
	kill -TERM "$up"
	wait "$up" 2>/dev/null
}
# BPF time is counted separately: counting costs the programs a tenth of their time.
part_up() {
	local name own bpf t n
	begin_up || return 1
	sleep $((seconds / 2)) # what runs here has names by then
	for name in $loads; do
		load_begins "$name"
		sleep 10
		own=$(tree_ns) n=$(forks) t=$EPOCHREALTIME
		sleep "$seconds"
		own=$(($(tree_ns) - own)) n=$(($(forks) - n)) t=$(calc "$EPOCHREALTIME - $t")
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		bpf=$(bpf_ns "$collector")
		sleep $((seconds / 3))
		bpf=$(($(bpf_ns "$collector") - bpf))
		echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
		load_ends
		own=$(calc "$own / $t / 1e7") bpf=$(calc "$bpf / ($seconds / 3) / 1e7")
		say "up, $name: load $(cut -d' ' -f1 /proc/loadavg)"
		row "$name: \`up\` at its defaults, all of its processes" "≤ 1 % of a CPU" \
			"$own % (and $bpf % in BPF programs; $(calc "int($n / $t)") forks a second)" "$(met "$own <= 1")"
	done
	end_up
}

# --- shares ---------------------------------------------------------------------------------------
# A difference that is no larger than that of two random samples says nothing.
within() { if [ "$(met "$1 <= $2")" = yes ]; then echo -; else echo no; fi; }
part_shares() {
	local comm points own peer n most_points worst whole peer_whole
	load_begins build
	sleep 3
	start_cresset -F 499 || return 1
	perf record -q -a -g -F 499 -o "$tmp/perf.data" -- sleep "$seconds" 2>"$tmp/perf.err"
	stop_cresset
	load_ends
	"$cresset" convert "$tmp/c.cresset" -q --type cpu --format folded -o "$tmp/own.folded"
	"$cresset" sql --data "$tmp/c.cresset" --format csv "SELECT l.value, f.function, f.kind, sum(s.value) FROM samples s
		JOIN labels l ON l.series = s.series AND l.key = 'comm' JOIN frames f ON f.stack = s.stack AND f.depth = 0
		WHERE s.type = 'cpu' GROUP BY 1, 2, 3" >"$tmp/roots.csv"
	perf script -i "$tmp/perf.data" --no-demangle -F comm,event,ip,sym,dso 2>/dev/null >"$tmp/perf.txt"
	while read -r comm own peer whole peer_whole points n most_points worst; do
		say "$comm: $own and $peer samples; the largest difference $most_points points: $worst"
		row "build: self time of \`$comm\` by function, against perf" "≤ 2 points, or 3σ" \
			"$most_points points ($worst; $n functions, $own and $peer samples, 3σ $points points)" "$(met "$most_points <= 2" | sed "s/no/$(within "$most_points" "$points")/")"
		row "… its whole stacks" "≥ 99 %" \
			"$whole % (perf: $peer_whole %)" "$(met "$whole >= 99")"
	done < <(python3 bench/busy_shares.py "$tmp/own.folded" "$tmp/roots.csv" "$tmp/perf.txt" cc1 as sh make)
}

# --- slow-down ------------------------------------------------------------------------------------
build_once() { # prints the build's CPU time and wall time, in s
	local TIMEFORMAT='%R %U %S'
	project_clean "$tmp/project"
	{ time make -s -j2 -C "$tmp/project" >/dev/null 2>&1; } 2>&1 | awk '{ print $2 + $3, $1 }'
}
build_recorded() {
	start_cresset -F 99 || return 1
	build_once
	stop_cresset
}
part_slow() {
	local i plain recorded ratio low high
	project_make "$tmp/project" 12
	build_once >/dev/null
	for ((i = 0; i < pairs; i++)); do
		if ((i % 2)); then
			plain=$(build_once) recorded=$(build_recorded)
		else
			recorded=$(build_recorded) plain=$(build_once)
		fi
		say "pair $((i + 1)) of $pairs: CPU and wall time $plain s, recorded $recorded s"
		echo "$plain $recorded" >>"$tmp/pairs"
	done
	for i in "CPU 1 3" "wall 2 4"; do
		read -r what a b <<<"$i"
		read -r ratio low high < <(awk -v a="$a" -v b="$b" '{ print $a, $b }' "$tmp/pairs" | ratio)
		row "\`$what\` time of a build with make -j2 under \`record -a\`, against without (median of $pairs pairs)" "≤ 0.5 % more" \
			"$(calc "100 * ($ratio - 1)") % ($(calc "100 * ($low - 1)") to $(calc "100 * ($high - 1)") %)" "$(met "$ratio <= 1.005")"
	done
}

# --- memory ---------------------------------------------------------------------------------------
pss_kib() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }
part_memory() {
	local i first last most=0 now
	begin_up || return 1
	sleep 20
	for i in $(seq 10); do
		"$progs/storm" exec $((processes / 10)) /bin/true >/dev/null
		sleep 6 # ended processes are released
		now=$(pss_kib "$collector")
		say "memory of the collector after $((i * processes / 10)) processes: $now KiB"
		[ "$i" = 5 ] && first=$now
		[ "$now" -gt "$most" ] && most=$now
		last=$now
	done
	end_up
	row "memory (Pss) of the collector of \`up\` after $processes processes that ran a program" "≤ 12 MB" \
		"$(calc "$last * 1024 / 1e6") MB (at most $(calc "$most * 1024 / 1e6") MB)" "$(met "$most * 1024 <= 12e6")"
	row "… its growth in the second half of them" "none (≤ 0.5 MB)" "$(calc "($last - $first) * 1024 / 1e6") MB" "$(met "$last - $first <= 488")"
}

stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; load_ends; cleanup' EXIT
load=0
for part in $parts; do "part_$part" || exit 1; done
