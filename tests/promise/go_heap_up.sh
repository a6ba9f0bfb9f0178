#!/usr/bin/env bash
# tier: test
# Go's heap in cresset up: memory in use equals Go's own profile of that moment, allocations since the program's start are right by function, and an ended
# program has no memory in use.
. tests/live/lib.sh
. tests/live/lib_go_heap.sh
. tests/live/lib_always.sh
needs_recording
command -v go >/dev/null || { echo "1..0 # SKIP no go"; exit 0; }
made go "$(go env GOROOT)" -tags profile
chmod 755 "$tmp" # the store process is another user
made off "$(go env GOROOT)"
mv "$tmp/go_heap-off" "$tmp/off$$"
begin_always up --data "$tmp/data" --listen none --events alloc,inuse --mem-switch "comm=\"off$$\""
mkdir "$tmp/off" && touch "$tmp/off/start"
start "$tmp/off$$" "$tmp/off" >"$tmp/off.truth"
off=${pids[-1]}
mkdir "$tmp/go" && touch "$tmp/go/start" "$tmp/truth"
start "$tmp/go_heap-go" "$tmp/go" >"$tmp/truth"
program=${pids[-1]}
holds "the program is ready" states ready

query() { "$cresset" query --data "$tmp/data" "$1{pid=\"$program\"}" "${@:2}" 2>"$tmp/query.err"; } # TYPE OPTION…
bytes() { query "$1" --format folded | folded_sum "$2"; }                                           # TYPE FUNCTION
# Until a function has memory in use, or none has: until_used FUNCTION WANT
until_used() {
	for _ in $(seq 600); do
		[ "$(($(bytes inuse ";$1(;| )") > 0))" = "$2" ] && return
		kill -0 "$always" 2>/dev/null || return 1
		sleep 0.2
	done
	return 1
}
holds "its memory in use is there" until_used main.smalls 1
query inuse -o "$tmp/inuse.cresset"
same "in use" "$tmp/go_heap-go" "$tmp/go/first.pb.gz" "$tmp/inuse.cresset" inuse_space inuse
query inuse-objects -o "$tmp/objects.cresset"
same "in use" "$tmp/go_heap-go" "$tmp/go/first.pb.gz" "$tmp/objects.cresset" inuse_objects inuse-objects
inside "in use" "$tmp/inuse.cresset" inuse 4 keeps churns smalls recurses
touch "$tmp/go/more"
holds "the program is done" states "done"
holds "later memory is there as well" until_used main.later 1
query alloc -o "$tmp/alloc.cresset"
inside "since its start" "$tmp/alloc.cresset" alloc 2 keeps churns smalls recurses later
holds "a profile that the linker has turned off is on" until_rate 524288 "$off" "$tmp/off$$"
# The process that will turn it off is killed: another one takes that over.
helper=$(worker cresset-switch)
holds "… by another process" kill -9 "$helper"
for _ in $(seq 600); do
	now=$(worker cresset-switch)
	[ -z "$now" ] || [ "$now" = "$helper" ] || break
	sleep 0.1
done
is "… that is replaced" "$([ -n "$now" ] && [ "$now" != "$helper" ] && echo yes)" yes
touch "$tmp/off/more" "$tmp/go/end"
wait "$program"
holds "the store has its allocations" test "$(bytes alloc ';main.keeps(;| )')" -gt 0
holds "after its end nothing is in use" until_used '[^ ]*' 0
program=$off
holds "… and has memory in use" until_used main.later 1
end_always TERM
is "then it is off again" "$(rate "$off" "$tmp/off$$")" 0
is "it ends" $status 0
finish
