#!/usr/bin/env bash
# tier: test
# Java's heap in cresset up: allocations of a program that --mem-switch selects are right by function, other programs stay unchanged, and the sampler is off
# when cresset has ended, also where the process that will turn it off was killed.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/live/lib_java_heap.sh
needs_recording
needs_allocates
own_java "j$$"
chmod 755 "$tmp" # the store process is another user
allocates java -Xmx64m -- 1
other=$pid other_to=$to
begin_always up --data "$tmp/data" --listen none --events alloc --mem-switch "comm=\"j$$\""
allocates "$tmp/j$$/bin/j$$" -Xmx256m -- 400
holds "the sampler is on" until_sampler 1 "$pid"
helper=$(worker cresset-switch)
holds "the process that turns it off is killed" kill -9 "$helper"
for _ in $(seq 600); do
	now=$(worker cresset-switch)
	[ -z "$now" ] || [ "$now" = "$helper" ] || break
	sleep 0.1
done
is "… and replaced" "$([ -n "$now" ] && [ "$now" != "$helper" ] && echo yes)" yes
echo >&"$to"
holds "the program is done" states "done"
is "another program's sampler stays off" "$(sampler "$other")" 0
end_always TERM
is "then it is off" "$(sampler "$pid")" 0
is "cresset ends" $status 0
for type in alloc alloc-objects; do
	"$cresset" query --data "$tmp/data" "$type{comm=\"j$$\"}" -o "$tmp/$type.cresset" 2>"$tmp/err"
	inside "in up" "$tmp/$type.cresset" $type
done
echo >&"$to"
wait "$pid"
is "the program ends as ever" $? 0
echo >&"$other_to"
echo >&"$other_to"
wait "$other"
is "and the other one" $? 0
finish
