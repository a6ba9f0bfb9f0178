#!/usr/bin/env bash
# tier: live
# run: alone
# cresset up on a machine that switches constantly: waits are recorded in windows of time. Their sums are estimates of the threads' own figures, and
# state their possible error. On a calm machine, all waits are recorded.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

me=$$
waiting=(wait_2ms wait_20ms wait_700ms wait_all)
chmod 755 "$tmp" # the store process is nobody

asked() { # SELECTOR; rows of all functions, in folded stacks
	local type
	for type in off-cpu sched-wait; do "$cresset" query --data "$data" "$type{$1}" --format folded -o - 2>"$tmp/err"; done
}
burnt() { asked "comm=\"$1\"" | folded_sum; }
# A copy with its own name: its threads have that name, too. waits NAME RATE SECONDS
waits() {
	cp "$progs/switches" "$tmp/$1"
	"$tmp/$1" "$2" "$3" >"$tmp/$1.truth"
	until_stored "$1-wait"
	asked "comm=\"$1-wait\"" >"$tmp/$1.folded"
}
truth() { awk -v what="$2" '$1 == "off" && $2 == what { print $3 }' "$tmp/$1.truth"; }
# Each function has its time, with a relative tolerance: sums NAME PERCENT
sums() {
	local function want
	for function in "${waiting[@]}"; do
		want=$(truth "$1" "$function")
		near "$1: $function, µs" "$(folded_sum ";$function;" <"$tmp/$1.folded")" "$want" $((want * $2 / 100))
	done
}

# --- all waits, on a calm machine and where the cost does not matter ---

data=$tmp/all
begin_always up --data "$data" --listen none -e off-cpu,sched-wait --wait-budget 0 --max-rate 20000
waits "s$me-a" 60000 5
end_always
sums "s$me-a" 2
is "no windows without a budget" "$(grep -c 'recorded in windows' "$tmp/log")" 0
is "… and no series has the label" "$(asked 'windows!=""' | wc -l)" 0

# --- windows ---

data=$tmp/windows
begin_always up --data "$data" --listen none -e off-cpu,sched-wait --wait-budget 0.5 --max-rate 20000
traced=
begin_trace "tracepoint:sched:sched_switch {
	if (@left[args->next_pid]) { @off_us = sum((nsecs - @left[args->next_pid]) / 1000); delete(@left[args->next_pid]); }
	if (args->prev_comm == \"s$me-b-wait\") { @left[args->prev_pid] = nsecs; }
} END { clear(@left); }" "$tmp/trace" && traced=1
waits "s$me-b" 100000 16
[ -z "$traced" ] || end_trace
# Only chance: a window of some tenths of each second. wait_all is fully in each.
sums "s$me-b" 10
is "it logs this" "$(grep -c 'waits are recorded in windows' "$tmp/log")" 1
all=$(asked "comm=\"s$me-b-wait\"" | folded_sum) thin=$(asked "comm=\"s$me-b-wait\",windows=\"1\"" | folded_sum)
holds "series of windows have a label ($thin of $all µs)" test "$thin" -gt $((all * 7 / 10)) # all but the beginning
if [ -n "$traced" ]; then
	theirs=$(awk '/@off_us/ { print $2 }' "$tmp/trace")
	near "bpftrace has the same sum, µs" "$all" "$theirs" $((theirs / 20))
else
	skip "bpftrace has the same sum" "no bpftrace here, or it does not start"
fi
# The store's answer consists of sums, which have the widest intervals; the truth is in all of them.
"$cresset" query --data "$data" "off-cpu{comm=\"s$me-b-wait\"}" -o "$tmp/b.pb.gz" 2>"$tmp/err"
"$cresset" report --json "$tmp/b.pb.gz" >"$tmp/b.json"
for function in "${waiting[@]}"; do
	want=$(truth "s$me-b" "$function")
	holds "the interval of $function contains its time" jq -e --arg f "$function" --argjson us "$want" \
		'[.top[] | select(.function == $f)] | length == 1 and .[0].total_low <= $us * 1000 and $us * 1000 <= .[0].total_high' "$tmp/b.json"
done

end_always
finish
