#!/usr/bin/env bash
# tier: test
# A program that looks like PHP and lies, in many ways: the recording ends as ever, its samples are there, and a marker shows where frames cannot be read.
. tests/live/lib.sh
needs_recording
look() { # KIND
	rm -f "$tmp/lies.cresset"
	start "$progs/not_php" "$1" >"$tmp/out"
	"$cresset" record --no-progress -F 499 -d 0.5 -p "${pids[-1]}" -o "$tmp/lies.cresset" 2>"$tmp/err"
	is "$1: the recording" $? 0
	"$cresset" convert -q "$tmp/lies.cresset" --type cpu --to folded -o "$tmp/folded"
	holds "$1: the program still runs" kill -0 "${pids[-1]}"
	kill -9 "${pids[-1]}"
	wait "${pids[-1]}" 2>/dev/null
}
look circle
holds "circle: as many frames as a stack has" grep -qE '^not_php;\[truncated: (depth|time)\];(lies;){200,}lies ' "$tmp/folded"
look long
holds "long: as many frames as a stack has" grep -qE '^not_php;\[truncated: (depth|time)\];(lies;){200,}lies ' "$tmp/folded"
for kind in nowhere functions types empty; do
	look $kind
	holds "$kind: the native stack, and what is missing" grep -qE '^not_php;\[truncated: frames of PHP\];_start;.*;main;execute_ex ' "$tmp/folded"
	holds "$kind: it is counted" grep -q 'stacks with missing frames of Python or PHP' "$tmp/err"
done
look texts
holds "texts: functions without a name" grep -qE ';main;execute_ex;\[gone\];\[gone\];\[gone\] ' "$tmp/folded"
look lines
holds "lines: functions, whatever their lines" grep -qE '_start;.*;main;execute_ex;lies;lies;lies ' "$tmp/folded"
finish
