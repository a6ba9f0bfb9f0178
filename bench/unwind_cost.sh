#!/usr/bin/env bash
# shellcheck disable=SC2154 # omit and no_omit are set by eval
# The run time of the sampling program for one sample (kernel.bpf_stats_enabled, bench/unwind_cost.c): a loop below 32 frames without
# frame pointers, walked by unwind tables; the same program with frame pointers, walked by them and by the kernel's helper; and
# redis-server under load.
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-10}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; load_end; cleanup' EXIT
echo 1 >/proc/sys/kernel/bpf_stats_enabled

# _start, two of libc, main, 27 of the recursion and the loop. The helper does not see through libc's.
for how in omit no-omit; do
	gcc -std=gnu11 -D_GNU_SOURCE -O1 -f$how-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$tmp/$how" tests/live/prog/deep.c || exit 1
	start "$tmp/$how" 27 1000 >/dev/null
	eval "${how//-/_}=$!"
done
# The rows of one sample. cost MODE PID…: sets $us, $n, $steps
cost() {
	read -r us n steps <<<"$("$BUILD/bench/unwind_cost" "$seconds" "$@")"
	[ -n "$us" ] || exit 1
	say "$1: $us µs, $n samples, $steps steps each"
}
# shellcheck disable=SC2154 # set above
kill -STOP "$no_omit"
cost tables "$omit"
tables=$us
row "one sample of 32 native frames by unwind tables, hot (BPF run time)" "≤ 5 µs" \
	"$us µs ($n samples, $steps steps each)" "$(met "$us <= 5")"
kill -STOP "$omit"
kill -CONT "$no_omit"
for mode in fp helper; do
	cost $mode "$no_omit"
	eval "$mode=$us"
done
kill -KILL "$omit" "$no_omit"
# shellcheck disable=SC2154
row "… with frame pointers, walked by them; by the kernel's helper" "stated" "$fp µs; $helper µs: unwind tables take $(calc "$tables / $helper") × the helper's" -
if load_begin redis $((seconds * 2 + 30)); then
	cost tables "$load_pids"
	row "one sample of redis-server under load, by unwind tables" "≤ 15 µs" "$us µs ($n samples, $steps steps each)" "$(met "$us <= 15")"
	cost helper "$load_pids"
	row "… by the helper, which sees almost nothing of it" "stated" "$us µs ($n samples)" -
	load_end
else
	row "one sample of redis-server under load" "≤ 15 µs" "$load_missing" -
fi
