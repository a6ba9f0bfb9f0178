#!/usr/bin/env bash
# What is lost is counted and shown; what goes wrong ends with the right status; a killed recorder leaves a readable file.
. tests/live/lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording the machine needs root"; exit 0; }

start "$progs/burn" lossy 8 >/dev/null
start "$progs/burn" lossy 8 >/dev/null
# A ring of one page cannot hold what two busy CPUs send in a tenth of a second at 10 kHz.
"$cresset" record -a -F 10000 -d 2 --buffer 4096 -o "$tmp/small.folded" 2>"$tmp/small.err"
is "losses alone are no failure" $? 0
holds "losses are shown" grep -Eq 'lost [1-9]|[1-9][0-9,]* lost' "$tmp/small.err"
holds "… with the reason and the remedy" grep -q -- '--buffer' "$tmp/small.err"
"$cresset" record -a -q -F 10000 -d 1 --buffer 4096 --max-lost 0.05 -o "$tmp/small.folded" 2>/dev/null
is "--max-lost" $? 9
"$cresset" record -a -F 999 -d 2 -o "$tmp/large.folded" 2>"$tmp/large.err"
holds "nothing is lost with the ordinary buffer" grep -Eq '(^|[^0-9,])0 lost|lost 0' "$tmp/large.err"

"$cresset" record -a -q -F 199 -o "$tmp/killed.cresset" &
recorder=$!
sleep 7
kill -9 $recorder
wait $recorder 2>/dev/null
holds "a killed recorder leaves its .tmp" test -s "$tmp/killed.cresset.tmp"
holds "… which opens" "$cresset" report "$tmp/killed.cresset.tmp"
is "no programs stay behind" "$(find /proc/[0-9]*/exe -lname "$cresset" 2>/dev/null | wc -l)" 0

"$cresset" record -q -t 1 --comm x -d 1 -o "$tmp/x.folded" 2>/dev/null
is "two kinds of targets" $? 2
"$cresset" record -a -q -d 1 -F 20000 -o "$tmp/x.folded" 2>/dev/null
is "a rate that is too high" $? 2
finish
