#!/usr/bin/env bash
# tier: live
# A real program under valgrind: each function has the same cost here as in callgrind_annotate.
. tests/live/lib.sh
command -v valgrind >/dev/null || { echo "1..0 # SKIP no valgrind: ./quickstart test installs it"; exit 0; }

# "self file:function" of the first event, sorted; a function in several objects is one line.
annotated() {
	(cd / && callgrind_annotate --threshold=100 --auto=no --show-percs=no "$1" 2>/dev/null) |
		awk '/file:function/ { on = 1; next } on && $1 ~ /^[0-9]/ {
			v = $1; gsub(/,/, "", v); sub(/^ *[^ ]+ +/, ""); sub(/ \[[^]]*\]$/, ""); n[$0] += v }
			END { for (f in n) print n[f], f }' | sort
}
reported() {
	"$cresset" report --json --top 0 "$1" | jq -r '.top[] | select(.self != 0) | "\(.self) \(.file // "???" | if . == "" then "???" else . end):\(.function)"' |
		awk '{ v = $1; sub(/^[^ ]+ /, ""); n[$0] += v } END { for (f in n) print n[f], f }' | sort
}
compare() { # NAME VALGRIND-OPTION…
	local name=$1
	shift
	seq 300 -1 1 >"$tmp/numbers"
	valgrind -q --tool=callgrind --callgrind-out-file="$tmp/out" "$@" sort -n "$tmp/numbers" >"$tmp/sorted" 2>"$tmp/valgrind.err"
	annotated "$tmp/out" >"$tmp/theirs"
	reported "$tmp/out" >"$tmp/ours"
	holds "$name: there is something to compare" test "$(wc -l <"$tmp/theirs")" -gt 100
	holds "$name: the same functions, each as much" diff "$tmp/theirs" "$tmp/ours"
}

compare "lines"
compare "instructions and jumps" --dump-instr=yes --collect-jumps=yes
compare "without compression" --compress-strings=no --compress-pos=no
compare "recursion apart" --separate-recs=3
finish
