#!/usr/bin/env bash
# tier: live
# run: alone
# The memory that a command has, by the stack that wrote to it, shortly before its end. How long before depends on how long a look at its pages takes.
. tests/live/lib.sh
needs_recording

pages() { awk -v f="$1" '$0 ~ ";" f "(;| )" { n += $NF } END { printf "%d", n / 4096 }' "$2"; }
# One page in 16 is chosen: the variance of n pages is 15 n.
check() { # NAME FOLDED
	local function want
	while read -r function want; do
		near "$1: pages of $function" "$(pages "$function" "$2")" "$want" "$(awk "BEGIN { printf \"%d\", 5 * sqrt(15 * $want) }")"
	done <"$tmp/truth"
	is "$1: five functions" "$(wc -l <"$tmp/truth")" 5
}

"$cresset" record --no-progress -e rss -o "$tmp/c.cresset" -- "$progs/resident" exits >"$tmp/truth" 2>"$tmp/err"
is "a command: the recording" $? 0
folded "$tmp/c.cresset" rss >"$tmp/folded"
check "a command" "$tmp/folded"
finish
