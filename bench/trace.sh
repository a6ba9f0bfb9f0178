#!/usr/bin/env bash
# What a sample costs in the kernel when its thread tells its span, beside the same program when it does not say that it does: by turns, on all
# CPUs, in one recording. Counting costs BPF programs some of their time, both alike.
if [ -z "${COUNTED-}" ]; then
	COUNTED=1 exec "${BUILD:-build}/bench/trace" bash "$0"
fi
. bench/lib.sh
# Others' ticks cost next to nothing: only the program is recorded.
"$cresset" record --no-progress --comm 'bench-*' -d 1000 -F 999 -e cpu --unwind fp -o "$tmp/c.cresset" 2>"$tmp/begin.err" &
recorder=$!
pids+=("$recorder")
for _ in $(seq 100); do
	grep -q recording "$tmp/begin.err" && break
	kill -0 $recorder || exit 1
	sleep 0.05
done
sleep 2
counted() { # run_time_ns and run_cnt of the recorder's programs
	cat "/proc/$recorder"/fdinfo/* 2>/dev/null | awk '/^run_time_ns:/ { n += $2 } /^run_cnt:/ { c += $2 } END { print n + 0, c + 0 }'
}
round() { # NAME OPTION…: adds to ns[NAME], runs[NAME]
	local name=$1 n0 c0 n1 c1
	start nice -n -15 "$progs/trace" "bench-$name" 3 "$tmp/log" "${@:2}"
	sleep 1.5 # it has been found
	read -r n0 c0 <<<"$(counted)"
	sleep 1.2
	read -r n1 c1 <<<"$(counted)"
	wait "${pids[-1]}"
	ns[$name]=$((${ns[$name]-0} + n1 - n0)) runs[$name]=$((${runs[$name]-0} + c1 - c0))
}
declare -A ns runs
for _ in 1 2; do
	round without mode=quiet
	round with
	round with
	round without mode=quiet
done
stop_cresset
in_spans() { "$cresset" sql -q --format csv "SELECT count(trace_id) FROM samples WHERE series IN (SELECT series FROM labels WHERE key = 'comm' AND value = 'bench-$1')" --data "$tmp/c.cresset" | tail -1 | tr -d '\r'; }
each() { calc "${ns[$1]} / ${runs[$1]}"; }
say "samples in spans: with $(in_spans with), without $(in_spans without)"
[ "$(in_spans with)" -gt 100 ] || exit 1
row "BPF time of a tick at 999 Hz while a program publishes spans, against none (4 rounds of 1.2 s)" "stated" \
	"$(each with) ns (${runs[with]} ticks), $(each without) ns (${runs[without]}): $(calc "${ns[with]} / ${runs[with]} - ${ns[without]} / ${runs[without]}") ns more" -
