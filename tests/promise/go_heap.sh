#!/usr/bin/env bash
# tier: test
# Memory of a Go program by stack, read from outside: equal to Go's own profile of the same moment, and right within the interval that the report states; of
# a program from its start on, and of a running one. Programs that cannot be read are named.
. tests/live/lib.sh
. tests/live/lib_go_heap.sh
needs_recording
command -v go >/dev/null || { echo "1..0 # SKIP no go"; exit 0; }
made go "$(go env GOROOT)" -tags profile
whole_life "all of it" go
second_part "the second part" go
# What a command has is read once a second.
mkdir "$tmp/command" && touch "$tmp/command/start" "$tmp/command/more" "$tmp/command/end"
"$cresset" record --no-progress -e alloc -o "$tmp/command.cresset" -- sh -c '"$0" "$1"; exec "$0" "$1" "$2"' "$tmp/go_heap-go" "$tmp/command" \
	"$(awk "BEGIN { print 2500 * $CRESSET_SLOW }")" >/dev/null 2>"$tmp/err"
is "a command" $? 0
by_us "$tmp/command.cresset" alloc >"$tmp/by_us"
holds "… has its functions" grep -q '^main.later ' "$tmp/by_us"

# Where Go's linker has turned the profile off it is on as long as a recording runs.
made off "$(go env GOROOT)"
mkdir "$tmp/off" && touch "$tmp/truth" "$tmp/off/start"
start "$tmp/go_heap-off" "$tmp/off" >"$tmp/truth"
off=${pids[-1]}
holds "the program is ready" states ready
is "its profile is off" "$(rate "$off" "$tmp/go_heap-off")" 0
begin "$tmp/off.cresset" -e alloc,inuse -p "$off"
holds "a recording turns it on" until_rate 524288 "$off" "$tmp/go_heap-off"
: >"$tmp/off/more"
holds "the program is done" states "done"
end
is "the recording" $? 0
is "then it is off" "$(rate "$off" "$tmp/go_heap-off")" 0
inside "turned on" "$tmp/off.cresset" alloc 2 later
inside "turned on" "$tmp/off.cresset" inuse 4 later
holds "… since when is a label" grep -qE '^2[0-9-]+T[0-9:]+Z$' <("$cresset" query --data "$tmp/off.cresset" --values since)
"$cresset" record --no-progress -e inuse -p "$off" -o "$tmp/killed.cresset" 2>/dev/null &
killed=$!
pids+=("$killed")
holds "another recording turns it on" until_rate 524288 "$off" "$tmp/go_heap-off"
kill -9 "$killed"
holds "… and is killed: it is off" until_rate 0 "$off" "$tmp/go_heap-off"
: >"$tmp/off/end"
# Without symbols the profile is found in the code, and read; it is not turned on.
made stripped "$(go env GOROOT)" -tags profile -ldflags '-s -w'
whole_life "stripped" stripped
made bare "$(go env GOROOT)" -ldflags '-s -w'
mkdir "$tmp/bare" && touch "$tmp/bare/start" && : >"$tmp/truth"
start "$tmp/go_heap-bare" "$tmp/bare" >"$tmp/truth"
holds "a stripped one with its profile off is ready" states ready
"$cresset" record --no-progress -e inuse -d 1 -o "$tmp/none.cresset" -p "${pids[-1]}" >"$tmp/out" 2>"$tmp/err"
is "it has no samples" $? 8
holds "… for a reason" grep -q 'is not turned on: the program has no symbols' "$tmp/err"
finish
