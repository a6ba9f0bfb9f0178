#!/usr/bin/env bash
# tier: live
# The sources of each binary's names are counted while recording, and report --by binary shows them; the second recording of a program takes its names
# from disk.
. tests/live/lib.sh
needs_recording

cp "$progs/burn" "$tmp/whole"
strip -o "$tmp/bare" "$progs/burn"
record() { # PROGRAM
	timeout "$most_s" "$cresset" record -q -F 999 -o "$tmp/r.cresset" -- "$tmp/$1" "$1" 0.5 >/dev/null 2>"$tmp/err"
	is "recording $1" $? 0
	"$cresset" report --by binary --json "$tmp/r.cresset" >"$tmp/json"
	"$cresset" report --csv --top 0 --no-kernel "$tmp/r.cresset" >"$tmp/$1.csv"
}
binary() { jq -c --arg b "$1" ".binaries[] | select(.binary == \$b) | $2" "$tmp/json"; }

record whole
is "a program with symbols" "$(binary whole '[.names_from[].origin] - [null]')" '[".symtab"]'
is "… which needs nothing" "$(binary whole .remedy)" null
is "… with a known build id" "$(binary whole .build_id)" "\"$(readelf -n "$tmp/whole" | sed -n 's/ *Build ID: //p')\""
is "every frame is counted" "$(binary whole '.frames == ([.names_from[].frames] | add)')" true
is "each table entry is a binary" "$(jq -r '.top[] | select(.binary == "whole") | .function' "$tmp/json")" whole
is "… and all together the total" "$(jq '([.top[].self] | add) == .total' "$tmp/json")" true
names() { awk -F, 'NR > 1 && $7 == "whole" { print $6 }' "$tmp/whole.csv" | sort; }
first=$(names)
holds "names are cached" [ -n "$(find "$CRESSET_CACHE/names" -name "*$(readelf -n "$tmp/whole" | sed -n 's/ *Build ID: ..//p')*")" ]
record whole
is "the second time they come from the same place" "$(binary whole '[.names_from[].origin] - [null]')" '[".symtab"]'
is "… and are the same" "$(names | grep -c burn_loop)" "$(grep -c burn_loop <<<"$first")"
record bare
is "a stripped one has no .symtab" "$(binary bare '[.names_from[].origin] | index(".symtab")')" null
holds "… but its entry point has its name" awk -F, '$6 == "_start" && $7 == "bare" { found = 1 } END { exit !found }' "$tmp/bare.csv"
if [ -d /var/lib/dpkg/info ]; then
	is "… and a remedy" "$(binary bare .remedy)" '"build it with -g and leave its symbols in"'
else
	skip "… and a remedy" "no dpkg here"
fi
text=$("$cresset" report --by binary "$tmp/r.cresset")
holds "the text reports it as well" grep -q "names come from" <<<"$text"
"$cresset" report --by binary --csv "$tmp/r.cresset" >"$tmp/csv"
is "CSV has columns for it" "$(head -1 "$tmp/csv" | cut -d, -f9-)" "frames,names_from,remedy"
is "… in every row" "$(python3 -c 'import csv, sys; print(len({len(r) for r in csv.reader(open(sys.argv[1]))}))' "$tmp/csv")" 1
rm -r "$CRESSET_CACHE"
CRESSET_CACHE='' "$cresset" record -q -d 0.2 -o "$tmp/n.cresset" -- "$tmp/whole" whole 0.1 >/dev/null 2>&1
holds "nothing is cached with caching off" test ! -e "$CRESSET_CACHE"
finish
