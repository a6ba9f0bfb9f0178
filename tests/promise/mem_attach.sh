#!/usr/bin/env bash
# tier: test
# cresset mem: a running program gets the library and changes in nothing; an agent that is always on then takes it, though its configuration selects nothing.
# Detached, all calls lead to the allocator again, and no agent takes it until it is attached.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/live/lib_attach.sh
. tests/live/lib_mem_sites.sh
needs_recording
opens_map_files || { echo "1..0 # SKIP attaching to a process needs root"; exit 0; }

me=ma$$
cp "$progs/mem_sites" "$tmp/$me"
# It gets the library from its start, and its samples are not wanted.
mkfifo "$tmp/other"
LD_PRELOAD=$PWD/$BUILD/libcresset-mem.so "$tmp/$me" "$progs/mem_late" <"$tmp/other" >"$tmp/other.out" &
other=$!
pids+=("$other")
exec {to_other}>"$tmp/other"
run_sites "$tmp/$me"

# mem WHAT [PID] … sets status; its output is in $tmp/json, for `of FILTER`
mem() {
	"$cresset" mem "$@" --json >"$tmp/json" 2>"$tmp/err"
	status=$?
}
of() { jq -r "$1" "$tmp/json"; }
state() { # PID [KEY]
	mem status "$1"
	of ".processes[0].${2-state}"
}
until_is() { # PID KEY VALUE
	for _ in $(seq 600); do
		[ "$(state "$1" "$2")" != "$3" ] || return
		sleep 0.1
	done
}
listed() { # PID
	mem list
	of ".processes[] | select(.pid == $1) | .allocations"
}
mem status "$pid"
is "a program without the library: its status" "$status" 5
holds "… and what loads it" grep -q "cresset mem attach $pid" "$tmp/err"
mem detach "$pid"
is "… it cannot be detached" "$status" 5
if [[ $force != *seccomp* ]]; then
	is "it is listed as one that can have it" "$(listed "$pid")" possible
else
	is "it is listed as one that can have it by force" "$(listed "$pid")" refused
fi
mem attach "$pid" --dry-run --force "$force"
is "a dry run" "$(of .result)" possible
is "… loads nothing" "$(grep -c libcresset-mem.so "/proc/$pid/maps")" 0
mem attach "$pid" --force "$force"
is "attached" "$(of .result)" loaded
is "it is parked, as nothing reads it" "$(state "$pid")" parked
is "… by the list as well" "$(listed "$pid")" parked
mem attach "$pid" --force "$force"
is "attached again" "$(of .result)" already
# One that reads a named pipe is as safe to stop as one that reads another pipe.
mkfifo "$tmp/piped"
"$tmp/$me" "$progs/mem_late" <"$tmp/piped" >"$tmp/piped.out" &
piped=$!
pids+=("$piped")
exec {to_piped}>"$tmp/piped"
for _ in $(seq 600); do
	[ ! -s "$tmp/piped.out" ] || break
	sleep 0.05
done
mem attach "$piped" --force "$force"
is "a program that reads a named pipe" "$(of .result)" loaded
echo end >&"$to_piped"
wait "$piped"
is "… ends as ever" $? 0
mem list
is "the list is by memory" "$(of '[.processes[].anonymous_bytes] | . == (sort | reverse)')" true

chmod 755 "$tmp" # the store process is another user
begin_always up --data "$tmp/data" --listen none --events alloc,inuse
until_is "$pid" state running
is "an agent takes it" "$(state "$pid")" running
is "… which is known" "$(state "$pid" agent_pid)" "$(half cresset-collect)"
is "… the list has that" "$(listed "$pid")" recorded
is "another program with the library is not taken" "$(state "$other")" parked
echo "fill 20000" >&"$to"
next_line >"$tmp/held"
allocated() {
	"$cresset" query --data "$tmp/data" "alloc{pid=\"$pid\"}" -o - --format folded 2>/dev/null | awk '{ n += $NF } END { printf "%d\n", n }'
}
for _ in $(seq 600); do
	[ "$(allocated)" = 0 ] || break
	sleep 0.2
done
holds "its allocations are stored" test "$(allocated)" -gt 0

mem detach "$pid"
is "detached" "$(of .result)" detached
is "its state" "$(state "$pid")" detached
until_is "$pid" has_agent false
is "the agent leaves it" "$(state "$pid" has_agent)" false
samples=$(state "$pid" samples)
holds "it had samples" test "$samples" -gt 0
echo "short 3000" >&"$to"
next_line >/dev/null
is "… and none since" "$(state "$pid" samples)" "$samples"
mem detach "$pid"
is "detached again" "$(of .result)" already
"$cresset" record --no-progress -e alloc -d 1 -p "$pid" -o "$tmp/none.cresset" >"$tmp/out" 2>"$tmp/err"
is "a recording of it is refused" $? 4
holds "… with what brings it back" grep -q "cresset mem attach $pid" "$tmp/err"
mem attach "$pid" --force "$force"
is "attached again: nothing is stopped for that" "$(of .result):$(of .stop_us)" "reattached:0"
until_is "$pid" has_agent true
is "the agent takes it back" "$(state "$pid"):$(state "$pid" has_agent)" running:true
echo "fill 21000" >&"$to"
next_line >/dev/null
holds "… with new samples" test "$(state "$pid" samples)" -gt "$samples"
echo end >&"$to"
wait "$pid"
is "the program ends as ever" $? 0
echo end >&"$to_other"
wait "$other"
is "… so does the other one" $? 0
end_always TERM
# shellcheck disable=SC2154 # set by end_always
is "cresset ends" $status 0
finish
