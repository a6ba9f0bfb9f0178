#!/usr/bin/env bash
# tier: test
# Stacks of a Node program at its defaults have its functions, interpreted, compiled and inlined, with file and line, whole from the process's start on,
# in the shares that the program measures; and so are its waits.
. tests/live/lib.sh
. tests/live/lib_shapes.sh
. tests/live/lib_node.sh
needs_recording
needs_node
look node
whole_stacks node
shares node
waits node
# The line of the only call in middle.
line=$(awk '/^function middle/ { print NR + 1 }' tests/live/node/shapes.js)
"$cresset" sql -q --format csv --timeout 0 --data "$tmp/shapes.cresset" \
	"SELECT kind, line FROM frames WHERE function = 'middle' AND file LIKE '%/shapes.js' GROUP BY 1, 2" | tail -n +2 | tr -d '\r' >"$tmp/lines"
holds "kind and line of a caller ($(paste -sd ' ' "$tmp/lines"))" grep -qx "js,$line" "$tmp/lines"
start "$node" tests/live/node/shapes.js 60 >"$tmp/runs" 2>&1
right='"language":"js","state":"ok","by":"V8 [^"]* builtins mapped [1-9]'
for _ in $(seq 600); do # until V8 has started
	"$cresset" doctor --json "${pids[-1]}" >"$tmp/doctor" 2>"$tmp/err"
	grep -qE "$right" "$tmp/doctor" && break
	sleep 0.1
done
holds "doctor names V8 and finds its builtins" grep -E "$right" "$tmp/doctor"
kill "${pids[-1]}"
finish
