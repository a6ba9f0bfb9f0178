#!/usr/bin/env bash
# tier: test
# Stacks of a Java program at its defaults have its methods, interpreted, compiled and inlined, with file and line, whole from the thread's start on, in the
# shares that the program measures; and so have its waits.
. tests/live/lib.sh
. tests/live/lib_java.sh
needs_recording
needs_java
look java -F 499 -e cpu,off-cpu --
thread_shares java
if named_only java; then
	path_shares java
else
	skip "shares by path" "others want all CPUs: names of more than 2 % of the samples were read too late"
fi
whole_stacks java
waits java
# The line of the only call in middle.
line=$(awk '/static int middle/ { print NR + 1 }' tests/live/java/Shapes.java)
"$cresset" sql -q --format csv --timeout 0 --data "$tmp/java.cresset" \
	"SELECT kind, file, line FROM frames WHERE function = 'Shapes.middle(int)' GROUP BY 1, 2, 3" | tail -n +2 | tr -d '\r' >"$tmp/lines"
holds "kind, file and line of a caller ($(paste -sd ' ' "$tmp/lines"))" grep -qx "java,Shapes.java,$line" "$tmp/lines"
finish
