#!/usr/bin/env bash
# What recording the whole machine costs at 99 Hz with every CPU busy: the recorder's own CPU time and the run time of its BPF
# programs, after a start-up of 5 s, beside perf record -a -g in the same state; and both from start to finished file.
#
# perf's process only empties its rings now and then: it takes its samples inside interrupts, which are charged to whatever they
# interrupt. So the own time of the two is no like for like: where bpftrace is there, the time inside the sampling timer's handler
# is measured for both and added; bench/workload.sh measures what both take from the work. The row without a stack has the timer
# itself, which no sampler can avoid.
. bench/lib.sh
seconds=${BENCH_SECONDS:-20}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT

# User and system time in ms of a command from start to end: whole_run COMMAND…
whole_run() {
	(
		"$@" >/dev/null 2>&1
		times >"$tmp/times" # not in a pipe: a shell of its own would have no children
	)
	tail -1 "$tmp/times" | awk '{ for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); n += t[1] * 60 + t[2] } print n * 1000 }'
}

# Time in ns that the kernel spends in the handler of the sampling timer during N s, for whoever samples (bpftrace's own cost is
# in it, alike for both); nothing where bpftrace is missing: handler_ns N
handler_ns() {
	local address
	address=$(awk '$3 == "perf_swevent_hrtimer" { print $1; exit }' /proc/kallsyms)
	command -v bpftrace >/dev/null || return
	cat >"$tmp/handler.bt" <<-BT
		tracepoint:timer:hrtimer_expire_entry /args->function == 0x$address/ { @t[cpu] = nsecs; }
		tracepoint:timer:hrtimer_expire_exit /@t[cpu]/ { @ns = @ns + (nsecs - @t[cpu]); @t[cpu] = 0; }
		interval:s:$1 { printf("RESULT %d\\n", @ns); exit(); }
		END { clear(@t); clear(@ns); }
	BT
	unshare -m sh -c "mount -t tracefs t /sys/kernel/tracing; mount -t debugfs d /sys/kernel/debug; bpftrace $tmp/handler.bt" 2>/dev/null |
		awk '/RESULT/ { print $2 }'
}

busy_cpus $((seconds * 8 + 120))
sleep 1
echo 1 >/proc/sys/kernel/bpf_stats_enabled
"$cresset" record -a -q -F 99 -d 1000 -o "$tmp/c.cresset" &
recorder=$!
pids+=("$recorder")
sleep 5
start_up=$(cpu_ns $recorder)
cpu0=$start_up bpf0=$(bpf_ns $recorder)
sleep "$seconds"
own=$(($(cpu_ns $recorder) - cpu0)) bpf=$(($(bpf_ns $recorder) - bpf0))
echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
inside=$(handler_ns "$seconds")
kill -INT $recorder
wait $recorder 2>/dev/null

start_perf "$tmp/perf.data" -g -F 99
sleep 5
perf0=$(cpu_ns $perf)
sleep "$seconds"
perf_own=$(($(cpu_ns $perf) - perf0))
perf_inside=$(handler_ns "$seconds")
stop_perf

# The least a timer sample can cost here: the event, its timer and an address, no stack.
start_perf "$tmp/floor.data" -e cpu-clock -F 99
sleep 2
floor_inside=$(handler_ns "$seconds")
stop_perf

ours=$(calc "($own + $bpf) / $seconds / 1e7") theirs=$(calc "$perf_own / $seconds / 1e7")
row "whole machine at 99 Hz, every CPU busy: own CPU time + BPF" "≤ 0.3 % of a CPU" \
	"$ours % ($(calc "$own / $seconds / 1e7") % user space, $(calc "$bpf / $seconds / 1e7") % BPF)" "$(met "$ours <= 0.3")"
row "… against the process of \`perf record -a -g -F 99\` (without its sampling in interrupts)" "≤ ½" \
	"$(calc "$ours / ($theirs + 1e-9)") × ($theirs %)" "$(met "$ours <= $theirs / 2")"
if [ -n "$inside" ]; then
	all=$(calc "($own + $inside) / $seconds / 1e7") perf_all=$(calc "($perf_own + $perf_inside) / $seconds / 1e7")
	row "… like for like: own CPU time + the timer's handler" "≤ ½ of perf record" \
		"$all % against $perf_all %: $(calc "$all / $perf_all") ×" "$(met "$all <= $perf_all / 2")"
	row "… the floor: handler without a stack (\`perf record -a -F 99\`)" "stated" \
		"$(calc "$floor_inside / $seconds / 1e7") %: $(calc "$floor_inside / ($perf_own + $perf_inside)") × of \`perf record -a -g\`" -
fi
row "… start-up CPU time (first 5 s)" "stated" "$(calc "$start_up / 1e6") ms" -

whole=$(whole_run "$cresset" record -a -q -F 99 -d "$seconds" -o "$tmp/w.cresset")
whole_perf=$(whole_run perf record -q -a -g -F 99 -o "$tmp/w.data" -- sleep "$seconds")
row "… CPU time of recording $seconds s to a finished file (perf's lacks names)" "stated" "$whole ms; perf record $whole_perf ms" -
