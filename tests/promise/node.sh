#!/usr/bin/env bash
# tier: test
# Stacks of a Node program at its defaults have its functions, interpreted, compiled and inlined, with file and line, whole from the process's start on,
# in the shares that the program measures; and so are its waits.
. tests/live/lib.sh
. tests/live/lib_node.sh
needs_recording
needs_node
look node
whole_stacks node
shares node
waits node
# The line of the only call in middle.
line=$(awk '/^function middle/ { print NR + 1 }' tests/live/node/shapes.js)
"$cresset" sql -q --format csv --timeout 0 --data "$tmp/node.cresset" \
	"SELECT kind, line FROM frames WHERE function = 'middle' AND file LIKE '%/shapes.js' GROUP BY 1, 2" | tail -n +2 | tr -d '\r' >"$tmp/lines"
holds "kind and line of a caller ($(paste -sd ' ' "$tmp/lines"))" grep -qx "js,$line" "$tmp/lines"
finish
