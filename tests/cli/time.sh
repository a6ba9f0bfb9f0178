#!/usr/bin/env bash
# tier: test
# What is shown over time: --time, report --heatmap, flame --flamechart, on a recording whose truth tests/fixture/waits.c says.
. tests/cli/lib.sh
"$BUILD/fixture/waits" "$tmp/waits.cresset" || exit 1
waits=$tmp/waits.cresset folded=tests/golden/folded/simple.txt

# Nanoseconds of a function in all, by type wall.
total_of() { awk -F, -v f="$1" '$6 == f { print $4 }' "$tmp/out"; }
total() { "$cresset" report --json "$@" 2>/dev/null | jq .total; }

# --- ranges of time
ends "a second" 0 report --csv --top 0 "$waits" --time 3s-4s
is "… has the part of the long wait" "$(total_of '[blocked: futex/lock]')" 1000000000
is "… of a wait that starts in it" "$(total_of '[blocked: poll/epoll]')" 500000000
is "… and the samples" "$(total_of work)" 500000000
ends "the end of the long wait" 0 report --csv --top 0 "$waits" --time 8.4s-9s
is "… is a tenth of a second" "$(total_of '[blocked: futex/lock]')" 100000000
sum=0
for range in -0.7s 0.7s-0.701234567s 0.701234567s-2.5s 2.5s-8.499999999s 8.499999999s-; do
	sum=$((sum + $(total "$waits" --time=$range)))
done
is "parts add up to the whole" "$sum" "$(total "$waits")"
ends "a part as a file" 0 convert "$waits" -o "$tmp/part.cresset" --time 2.25s-2.75s
is "… has the waits cut" "$(total "$tmp/part.cresset")" "$(total "$waits" --time 2.25s-2.75s)"
is "… to its own time" "$(total "$tmp/part.cresset" --time 0.1s-0.2s)" "$(total "$waits" --time 2.35s-2.45s)"
ends "a part as folded stacks" 0 convert "$waits" -o - --to folded --unit ns --by none --time 1s-1.45s
is "… too" "$(awk '/sched-wait/ { print $2 }' "$tmp/out")" 50000000
ends "a part as a difference" 0 diff "$waits" "$waits" --json --time 1s-2s
is "… is of that part" "$(jq -c '[.older.total, .newer.total]' "$tmp/out")" "[$(total "$waits" --time 1s-2s),$(total "$waits" --time 1s-2s)]"

# --- heatmap
ends "a heatmap" 0 report "$waits" --heatmap
is "… 50 rows" "$(grep -c '|' "$tmp/out")" 50
has "… what a cell is" "a column is 1 s, a cell 20 ms of it with the time of all threads" "$out"
has "… excludes the rest" "1.00 s before the start are not shown" "$out"
is "… plain characters" "$(LC_ALL=C grep -c '[^ -~]' <<<"${out#*cell}")" 0
ends "as JSON" 0 report "$waits" --heatmap --json
is "… all cells are the total" "$(jq '([.cells[][] // 0] | add) + .outside == .total' "$tmp/out")" true
is "… ten seconds of fifty rows" "$(jq -c '[.columns, .rows, .column_ns, (.cells | length), (.cells[0] | length)]' "$tmp/out")" '[10,50,1000000000,10,50]'
ends "the disk only" 0 report "$waits" --heatmap --json --focus 'disk I/O'
is "… 4 ms in each cell" "$(jq -c '[.cells[][]] | unique' "$tmp/out")" '[4000000]'
ends "one thread only" 0 report "$waits" --heatmap --json --match '{comm="web"}' --focus poll
is "… sleeps in the second half" "$(jq -c '[.cells[] | .[0:25], .[25:50] | add] | unique' "$tmp/out")" '[0,500000000]'
cell=$(jq -r '.cells[7][30]' <("$cresset" report "$waits" --heatmap --json))
is "a cell is its --time" "$(total "$waits" --time 7.6s-7.62s)" "$cell"
ends "a range" 0 report "$waits" --heatmap --json --time 3.5s-5.25s
is "… is the selected range" "$(jq -c '[.columns, .start_ns, .from_ns, .to_ns, .cells[0][24], .cells[0][25], .cells[2][13]]' "$tmp/out")" \
	'[3,3000000000,3500000000,5250000000,null,44000000,null]'
ends "as CSV" 0 report "$waits" --heatmap --csv --focus 'disk I/O'
is "… a line for each row, and names" "$(wc -l <"$tmp/out"),$(head -1 "$tmp/out"),$(sed -n 3p "$tmp/out")" \
	"51,offset_s,0,1,2,3,4,5,6,7,8,9,0.02$(printf ',4000000%.0s' 1 2 3 4 5 6 7 8 9 10)"
ends "as a graph" 0 report "$waits" --heatmap -o "$tmp/h.svg"
holds "… is XML" xmllint --noout "$tmp/h.svg"
has "… titles have --time" "--time 9.98s-10s" "$(cat "$tmp/h.svg")"
is "… a rectangle for each cell" "$(grep -c 'data-i=' "$tmp/h.svg")" 500
ends "with samples" 0 report tests/golden/perf-script/perf-funcab-cmd-01.txt --heatmap --json
is "… counts them" "$(jq -c '[.type, .unit, .total, ([.cells[][] // 0] | add)]' "$tmp/out")" '["cpu","samples",169,169]'
fails "no times" 2 "the samples here have no times" report $folded --heatmap
fails "… for a graph" 2 "the samples here have no times" report $folded --heatmap -o "$tmp/x.svg"
for other in --tree "--callers main" "--diff $waits"; do
	# shellcheck disable=SC2086 # several words
	fails "a heatmap and ${other%% *}" 2 "choose one of --heatmap and ${other%% *}" report "$waits" --heatmap $other
done
fails "-o without a heatmap" 2 "-o is the file of --heatmap" report "$waits" -o "$tmp/x.svg"
fails "another ending" 2 "does not end in .svg" report "$waits" --heatmap -o "$tmp/x.png"
fails "a graph as JSON" 2 "choose one of -o and --json" report "$waits" --heatmap -o "$tmp/x.svg" --json
fails "no such directory" 7 "cannot create" report "$waits" --heatmap -o "$tmp/no/x.svg"
if command -v script >/dev/null; then
	on_terminal() { script -qec "stty cols $1 rows 40; $2" /dev/null </dev/null; }
	wide=$(on_terminal 100 "$cresset report $waits --heatmap")
	has "on a terminal blocks" "▀" "$wide"
	has "… in colour" $'\033[48;5;' "$wide"
	has "… without colour shades" "█" "$(NO_COLOR=1 on_terminal 100 "$cresset report $waits --heatmap")"
	narrow=$(NO_COLOR=1 on_terminal 44 "$cresset report $waits --heatmap" | tr -d '\r')
	is "… no wider than it is" "$(grep '│' <<<"$narrow" | wc -L)" 40
else
	skip "on a terminal blocks" "no script(1)"
fi

# --- flame chart
ends "a flame chart" 0 flame "$waits" --flamechart -o "$tmp/c.svg"
svg=$(cat "$tmp/c.svg")
holds "… is XML" xmllint --noout "$tmp/c.svg"
is "… a lane for each thread, in order" "$(grep -A1 'data-l=' "$tmp/c.svg" | sed -n 's/.*<title>//p' | paste -sd,)" "web 100/100,worker 100/101,db 200/200"
has "… the long wait is drawn from the start to its end" 'data-s="0" data-v="8500000000"><title>[blocked: futex/lock]' "$svg"
has "… what a sample is" "a sample stands for 10.0 ms around it · waits are exact" "$svg"
is "… a thousand waits of 2 ms" "$(grep -c 'data-v="2000000"><title>fsync' "$tmp/c.svg")" 1000
is "… on the CPU in one piece" "$(grep -c 'data-v="400000000"><title>work' "$tmp/c.svg")" 10
is "… and its time ready to run in another" "$(grep -c 'data-v="100000000"><title>work' "$tmp/c.svg")" 10
ends "… by kind" 0 flame "$waits" --flamechart --palette kind --force -o "$tmp/c.svg"
is "… both together" "$(grep -c 'data-v="500000000"><title>work' "$tmp/c.svg")" 10
ends "… coarser" 0 flame "$waits" --flamechart -o "$tmp/c.svg" --min-width 1
is "… merges and counts narrow boxes" "$(grep -o '3,000 frames below 1 px merged' "$tmp/c.svg" | head -1)" "3,000 frames below 1 px merged"
ends "… of a part" 0 flame "$waits" --flamechart -o "$tmp/c.svg" --time 8s-9s --match '{comm="worker"}' --palette wall
has "… is that part" 'data-s="8000000000" data-v="500000000"><title>[blocked: futex/lock]' "$(cat "$tmp/c.svg")"
ends "… onto standard output" 0 flame "$waits" --flamechart -o - --title 'A <b>'
has "… with its title" "A &lt;b&gt;" "$out"
fails "no times for a chart" 2 "the samples here have no times" flame $folded --flamechart -o "$tmp/x.svg"
fails "a chart turned round" 2 "choose one of --flamechart and --inverted" flame "$waits" --flamechart --inverted -o "$tmp/x.svg"
fails "a chart of changes" 2 "choose one of --flamechart and --diff" flame "$waits" --flamechart --diff "$waits" -o "$tmp/x.svg"
holds "no graph after an error" test ! -e "$tmp/x.svg"
finish
