#!/usr/bin/env bash
# What recording the whole machine costs at 99 Hz with every CPU busy: the collector's own CPU time and the run time of its BPF
# programs, after a start-up of 5 s, beside perf record -a -g; and what the work on the machine loses.
. bench/lib.sh
seconds=${BENCH_SECONDS:-20}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)

busy_cpus $((seconds * 2 + 40))
sleep 1
echo 1 >/proc/sys/kernel/bpf_stats_enabled
"$cresset" record -a -q -F 99 -d 1000 -o "$tmp/c.cresset" &
recorder=$!
pids+=("$recorder")
sleep 5
start_up=$(cpu_ns $recorder)
cpu0=$start_up bpf0=$(bpf_ns)
sleep "$seconds"
own=$(($(cpu_ns $recorder) - cpu0)) bpf=$(($(bpf_ns) - bpf0))
echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
kill -INT $recorder
wait $recorder 2>/dev/null

perf record -q -a -g -F 99 -o "$tmp/perf.data" 2>/dev/null &
perf=$!
pids+=("$perf")
sleep 5
perf0=$(cpu_ns $perf)
sleep "$seconds"
perf_own=$(($(cpu_ns $perf) - perf0))
kill -INT $perf
wait $perf 2>/dev/null

ours=$(calc "($own + $bpf) / $seconds / 1e7") theirs=$(calc "$perf_own / $seconds / 1e7")
row "whole machine at 99 Hz, every CPU busy, steady after 5 s: own CPU time + BPF run time" "≤ 0.3 % of a CPU" \
	"$ours % ($(calc "$own / $seconds / 1e7") % user space, $(calc "$bpf / $seconds / 1e7") % BPF)" "$(met "$ours <= 0.3")"
row "the same against \`perf record -a -g -F 99\` (its process only; what it does inside interrupts is not counted)" "≤ ½" \
	"$(calc "$ours / $theirs") × ($theirs %)" "$(met "$ours <= $theirs / 2")"
row "start-up CPU time, stated apart (first 5 s)" "-" "$(calc "$start_up / 1e6") ms" -
