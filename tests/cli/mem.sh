#!/usr/bin/env bash
# tier: test
# The refusals of cresset mem, and its list.
. tests/cli/lib.sh

fails "no process" 5 "no process 4194305" mem status 4194305
fails "no process to attach to" 5 "4194305" mem attach 4194305
fails "no process to detach" 5 "4194305" mem detach 4194305
fails "not a process id" 2 "'x' is not a process id" mem detach x
fails "no process id" 2 "attach takes the id of a process" mem attach
fails "a process for list" 2 "list takes no argument" mem list 1
fails "no such word" 2 "'bake' is not one of: list, attach, detach, status" mem bake
fails "a library that is not there" 6 "none.so" mem attach $$ --library "$tmp/none.so" --force young
start sleep 1000
fails "a process without the library" 5 "does not have the library" mem status "${pids[-1]}"
"$cresset" mem list >"$tmp/list"
is "the list: its status" $? 0
holds "… its head" grep -qE '^ +pid +anonymous +allocations +name$' "$tmp/list"
holds "… this shell" grep -qE "^ *$$ .* (possible|refused: [a-z-]+) +$(cat /proc/$$/comm)\$" "$tmp/list"
"$cresset" mem list --json >"$tmp/json"
holds "… as JSON" jq -e --argjson pid $$ '.processes[] | select(.pid == $pid) | .anonymous_bytes > 0 and .name != null' "$tmp/json"
finish
