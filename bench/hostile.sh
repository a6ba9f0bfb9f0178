#!/usr/bin/env bash
# cresset up at its defaults, and what an ordinary user can make it cost: a perf map of a million entries, a sparse one of 60 GB, a process that maps and unmaps
# without end, one that begins processes of 5 ms without end. CPU time and memory of all of its processes, beside those without. BENCH_SECONDS: of each (default 60).
# On a busy machine trust the ratio. BENCH_ONLY: entries, sparse, maps or short alone.
. bench/lib.sh
seconds=${BENCH_SECONDS:-60} settle_s=60
chmod 755 "$tmp"
cp "$progs/hostile" "$tmp/hostile"

tree() { # PID: it and all below it
	local p
	echo "$1"
	for p in $(pgrep -P "$1"); do tree "$p"; done
}
all_ns() {
	local n=0 p
	for p in $(tree "$up"); do n=$((n + $(cpu_ns "$p"))); done
	echo $n
}
all_pss() { for p in $(tree "$up"); do awk '/^Pss:/ { print $2 * 1024 }' "/proc/$p/smaps_rollup" 2>/dev/null; done | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
measure() { # sets share (% of a CPU) and pss
	local from t
	from=$(all_ns) t=$EPOCHREALTIME
	sleep "$seconds"
	share=$(calc "($(all_ns) - $from) / ($EPOCHREALTIME - $t) / 1e7")
	pss=$(all_pss)
}
under() { # WORDS WHAT [ARG]
	local words=$1 own
	shift
	[ -z "${BENCH_ONLY-}" ] || [ "$BENCH_ONLY" = "$1" ] || return 0
	setpriv --reuid 65534 --clear-groups "$tmp/hostile" "$@" >/dev/null &
	own=$!
	pids+=("$own")
	sleep "$settle_s" # a file is read for the first time, and what was saved for the side band is used up
	measure
	say "$words: $share % of a CPU ($(calc "$share / $alone_share") times as much as without), $(calc "($pss - $alone_pss) / 1048576") MiB more"
	row "\`up\` beside $words: all its processes" "≤ 1 % of a CPU, +4 MB" "$share %, $(calc "$share / $alone_share") × without; $(calc "($pss - $alone_pss) / 1e6") MB more" \
		"$(met "$share <= 1 && $pss - $alone_pss <= 4e6")"
	pkill -9 -P "$own"
	kill -9 "$own"
	wait "$own" 2>/dev/null
	rm -f "/tmp/perf-$own.map"
}

start "$cresset" up --data "$tmp/data" --listen none 2>"$tmp/log"
up=${pids[-1]}
sleep 150 # what runs here has names by then
measure
alone_share=$share alone_pss=$pss
say "without: $share % of a CPU, $(calc "$pss / 1048576") MiB"
under "a perf map of a million entries" entries 1000000
under "a sparse perf map of 60 GB" sparse 60000000000
under "a process that maps and unmaps without end" maps
under "processes of 5 ms without end" short
