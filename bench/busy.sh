#!/usr/bin/env bash
# Hosts that start some hundred programs a second: a build with make -j2, packages that are unpacked, a shell loop. The recorder and perf record -g run
# beside each other, for BENCH_SECONDS (60) per load and cache; so their ratio holds on a machine that has other work, too. Shares of one CPU are
# those of a quiet machine only there.
#
#   BENCH_LOADS='build unpack shell'   which of them
#   BENCH_CACHES='warm cold'           cold: the page cache is dropped before the recorder starts
. bench/lib.sh
seconds=${BENCH_SECONDS:-60}
loads=${BENCH_LOADS:-build unpack shell}
caches=${BENCH_CACHES:-warm cold}
[ "$(id -u)" = 0 ] || { say "needs root"; exit 1; }

# Each load runs in a session of its own until load_ends.
load_begins() { # NAME
	setsid bash -c "$(declare -f "load_$1"); set -e; tmp=$tmp; load_$1" >"$tmp/load.out" 2>&1 &
	load=$!
}
load_ends() {
	[ "$load" != 0 ] || return
	kill -KILL -- "-$load" 2>/dev/null
	wait "$load" 2>/dev/null
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

# Records with both: how many forks meanwhile, and the CPU time of all of perf, as of all of the recorder (its start and end, too).
beside() {
	local n TIMEFORMAT='%U %S'
	start_cresset -F 99 || return 1
	n=$(forks)
	{ time perf record -q -a -g -F 99 -o "$tmp/perf.data" -- sleep "$seconds" 2>"$tmp/perf.err"; } 2>"$tmp/perf.time"
	n=$(($(forks) - n))
	stop_cresset
	took=("$(($(json own_cpu_ns) - $(json own_bpf_ns)))" "$(awk '{ printf "%.0f", ($1 + $2) * 1e9 }' "$tmp/perf.time")" "$n")
}

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
	row "$what: own CPU beside \`perf record -a -g -F 99\`, in the same run" "≤ 0.5×" \
		"$(calc "$own / ($peer + 1)")× ($(calc "$own / $seconds / 1e7") % and $(calc "$peer / $seconds / 1e7") % of a CPU, $rate forks a second)" \
		"$(met "$own <= 0.5 * $peer")"
	row "$what: time in BPF programs" "≤ 1.3 % of a CPU" "$bpf %" "$(met "$bpf <= 1.3")"
	row "$what: stacks that end early" "≤ $cut %" "$(calc "100 * $(json truncated) / ($samples + 1)") %" \
		"$(met "100 * $(json truncated) <= $cut * ($samples + 1)")"
	read -r -a unnamed < <(nameless)
	row "$what: samples whose leaf has no name though its file has symbols" "≤ 1 %" \
		"$(calc "100 * ${unnamed[0]} / ($samples + 1)") % (in files without symbols $(calc "100 * ${unnamed[1]} / ($samples + 1)") %, outside of files $(
			calc "100 * ${unnamed[2]} / ($samples + 1)"
		) %)" "$(met "100 * ${unnamed[0]} <= $samples + 1")"
}

trap 'load_ends; cleanup' EXIT
load=0
for name in $loads; do
	for cache in $caches; do measure "$name" "$cache" || exit 1; done
done
