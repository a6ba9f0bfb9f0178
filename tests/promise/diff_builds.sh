#!/usr/bin/env bash
# tier: test
# One program built in two directories, and stripped: cresset diff finds its functions again, and nothing has changed.
. tests/live/lib.sh
needs_recording

for side in old new; do
	mkdir -p "$tmp/$side"
	cp tests/golden/reported/diff-two-build-dirs.c "$tmp/$side/prog.c"
	gcc -g -O1 -o "$tmp/$side/prog" "$tmp/$side/prog.c"
done
mkdir "$tmp/bare"
strip -o "$tmp/bare/prog" "$tmp/old/prog"
for side in old new bare; do
	"$cresset" record -q -F 999 --no-kernel -o "$tmp/$side.cresset" -- "$tmp/$side/prog" 1 || not_ok "recording $side" $?
done

# FUNCTION: "loose 1 1" if both sides have samples of it.
matched() { jq -r --arg f "$1" '.rows[] | select(.function == $f) | "\(.match) \(.older_total > 0) \(.newer_total > 0)"' "$tmp/out.json"; }

"$cresset" diff "$tmp/old.cresset" "$tmp/new.cresset" --json --top 0 --fail-on 20 >"$tmp/out.json"
is "two directories: nothing grew by 20 points" $? 0
for f in main w_a w_b; do
	is "… $f is one function" "$(matched $f)" "loose true true"
done
is "… in the other directory" "$(jq -r '.rows[] | select(.function == "w_a") | .older_file' "$tmp/out.json")" "$tmp/old/prog.c"
"$cresset" diff "$tmp/old.cresset" "$tmp/new.cresset" --fail-on 20 --strict >"$tmp/out" 2>"$tmp/err"
is "… strictly they are two" $? 10
"$cresset" diff "$tmp/old.cresset" "$tmp/bare.cresset" --json --top 0 --fail-on 20 >"$tmp/out.json"
is "stripped: nothing grew by 20 points" $? 0
is "… all unnamed code is one function" "$(matched '[no names]')" "no-names true true"
is "… its names come from the older side" "$(matched w_a)" ""
finish
