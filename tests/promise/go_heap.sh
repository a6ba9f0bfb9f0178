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

made off "$(go env GOROOT)"
mkdir "$tmp/off" && touch "$tmp/truth" "$tmp/off/start" "$tmp/off/more"
start "$tmp/go_heap-off" "$tmp/off" >"$tmp/truth"
holds "the program is ready" states ready
"$cresset" record --no-progress -e inuse -d 1 -p "${pids[-1]}" -o "$tmp/off.cresset" 2>"$tmp/err"
: >"$tmp/off/end"
holds "a profile that the linker turned off is named" grep -q "Go's heap profile is off: the program never uses it" "$tmp/err"
made stripped "$(go env GOROOT)" -tags profile -ldflags -s
"$cresset" record --no-progress -e inuse -o "$tmp/none.cresset" -- "$tmp/go_heap-stripped" "$tmp" >"$tmp/out" 2>"$tmp/err"
is "a stripped one is refused" $? 4
holds "… by name" grep -q 'a Go program without symbols' "$tmp/err"
finish
