#!/usr/bin/env bash
# tier: test
# Pages that are written from a store: why GPUs were idle, as every other place says it, and what a page does not show. Truth: tests/fixture/gpu_store.c and gpu.c.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
. tests/cli/lib_page.sh
dir=$tmp/dir
mkdir "$dir"
page=$dir/page.html
query() { "$cresset" query "$@" 2>"$tmp/err"; }
# Of each GPU of an answer: ns watched, busy, idle, and gaps. One is exact in both, so the figures are.
times='.devices[] | [.gpu, .watched_ns, .busy_ns, .idle_ns, .gaps] | join(" ")'
idle() { header "$1" | jq -c .gpu.idle; }
idle_times() { idle "$1" | jq -r "$times"; }
# All but when, in us: moments are of clocks.
findings='[.devices[] | [.gpu, .source, .watched_ns, .busy_ns, .idle_ns, .gaps, .ended_by, .owned, .owners, [.longest[] | (.to_ns - .from_ns) / 1e3 | round], .no_change, (.change.rows // [] | map([.function, .self, .total]))]]'

# --- of known truth
"$BUILD/fixture/gpu_store" "$tmp/store"
range=(--from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:40Z)
exact='wall{host="exact"}' read='wall{host="read"}'
ends "a page of a store" 0 query --data "$tmp/store" "${range[@]}" "$exact" -o "$page"
is "… reports nothing" "$errs" ""
is "… nor does it" "$(notes "$page")" ""
is "… shows why its GPU was idle" "$(idle_times "$page")" "0 100000000000 60000000000 40000000000 100"
is "… which is what its own timeline draws" "$(idle_times "$page")" "$(python3 tests/cli/page_idle_answers.py "$page" 100000000000)"
is "… and the same as query --gpu-idle" "$(idle "$page")" "$(query --data "$tmp/store" "${range[@]}" "$exact" --gpu-idle --json --top 100 | jq -c .)"
is "… with the command for a part" "$(header "$page" | jq -r '.gpu | .part, .part_ns')" $'cresset query --gpu-idle --from A --to B\n1795255200000000000'
for part in "2026-11-21T10:00:03.25Z 2026-11-21T10:00:05Z 1750000000" "2026-11-21T10:00:10.6Z 2026-11-21T10:00:11.6Z 1000000000"; do
	read -r from to length <<<"$part"
	query --data "$tmp/store" --from "$from" --to "$to" "$exact" -o "$page"
	is "a part of it: $from" "$(idle_times "$page")" "$(python3 tests/cli/page_idle_answers.py "$page" "$length")"
	is "… as --gpu-idle does" "$(idle "$page")" "$(query --data "$tmp/store" --from "$from" --to "$to" "$exact" --gpu-idle --json --top 100 | jq -c .)"
done
query --data "$tmp/store" "${range[@]}" "$exact" --focus work -o "$page"
is "filters are for the stacks" "$(idle_times "$page"; idle "$page" | jq -c '[.devices[0].change.rows[].function] | sort')" $'0 100000000000 60000000000 40000000000 100\n["main","work"]'
query --data "$tmp/store" "${range[@]}" "$read" -o "$page"
is "by readings" "$(idle "$page" | jq -c '.devices[0] | [.busy_ns, .idle_ns, .gaps, .uncertain_ns]')" \
	"$(query --data "$tmp/store" 'hw_gpu_utilization{host="read",gpu="0",task="general"}' --from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:41Z --range 1s --csv | python3 tests/cli/gpu_idle_answers.py 0.05)"
query --data "$tmp/store" "${range[@]}" wall -o "$page"
is "from several hosts" "$(idle "$page" | jq -c '[.devices[] | [.host, .gpu, .gaps]]')" '[["exact","0",100],["read","0",10],["read","1",1]]'
for other in 'gpu-time{host="exact"}' 'gpu-time{stream="7"}'; do
	query --data "$tmp/store" "${range[@]}" "$other" -o "$page"
	is "what is not of threads chooses hosts: $other" "$(idle "$page")" "$(query --data "$tmp/store" "${range[@]}" '{host="exact"}' --gpu-idle --json --top 100 | jq -c .)"
done
query --data "$tmp/store" "${range[@]}" 'gpu-launch{comm="train"}' -o "$page"
is "… all threads of the file" "$(idle "$page")" "$(query --data "$tmp/store" "${range[@]}" '{host="read"}' --gpu-idle --json --top 100 | jq -c .)"

# --- a recording, and the same in a store: three ways to the same figures
start=$(($(date +%s) - 1200))
"$BUILD/fixture/gpu" "$tmp/new.cresset" 0 "$start" more
"$cresset" -q convert "$tmp/new.cresset" --data "$tmp/new"
told=$("$cresset" -q report --gpu-idle "$tmp/new.cresset" --json --top 100 | jq -c "$findings")
"$cresset" -q convert "$tmp/new.cresset" -o "$page"
is "the page of a recording equals the report" "$(idle "$page" | jq -c "$findings")" "$told"
is "… its command for a part is that one's" "$(header "$page" | jq -r '.gpu | .part, .part_ns')" $'cresset report --gpu-idle --time As-Bs\n0'
query --data "$tmp/new.cresset" wall -o "$page"
is "its response as well" "$(idle "$page" | jq -c "$findings")" "$told"
query --data "$tmp/new" wall --from "$start" --to "$((start + 10))" -o "$page"
is "… and one of a store" "$(idle "$page" | jq -c "$findings")" "$told"
# Of a GPU that nothing ran on only the recording as a whole knows that it was watched.
first="$findings"'[0]'
told=$("$cresset" -q report --gpu-idle "$tmp/new.cresset" --time 2s-4.55s --json --top 100 | jq -c "$first")
query --data "$tmp/new" wall --from "$((start + 2))" --to "$((start + 4)).55" -o "$page"
is "… of a part" "$(idle "$page" | jq -c "$first")" "$told"
"$BUILD/fixture/gpu" "$tmp/clockless.cresset"
query --data "$tmp/clockless.cresset" wall --from start+2s --to start+4.55s -o "$page"
is "from one without a wall clock" "$(idle "$page" | jq -c "$first")" "$told"
is "… times are those of the recording" "$(header "$page" | jq -c '.gpu | [.start_ns, .part, .part_ns, .idle.devices[0].longest[0].from_ns]')" '[2000000000,"cresset query --gpu-idle --from start+As --to start+Bs",2000000000,2070000000]'

# --- what is missing, and why
sums="exact times exist for the last hours only: the page has no timeline; select a shorter or later range"
"$BUILD/fixture/gpu" "$tmp/old.cresset" 0 1763719200 more
"$cresset" -q convert "$tmp/old.cresset" --data "$tmp/old"
ends "where exact times are gone" 0 query --data "$tmp/old" --from start --to end wall -o "$page"
is "… the page reports this" "$(notes "$page")" "$sums"
is "… and standard error" "$errs" "cresset: $sums"
has "… and it shows without scripts" "<p>$sums</p>" "$(cat "$page")"
is "… idle times come from readings" "$(idle "$page" | jq -c '[.devices[] | [.gpu, .source]]')" '[["0","readings"],["1","readings"]]'
"$BUILD/fixture/gpu" "$tmp/plain.cresset" 0 1763719200
"$cresset" -q convert "$tmp/plain.cresset" --data "$tmp/plain"
ends "… without readings" 0 query --data "$tmp/plain" --from start --to end wall -o "$page"
is "… it has neither, and reports why" "$(notes "$page")" "$sums
GPU work is known as sums over time only: the page does not show why GPUs were idle; exact times exist for the last hours: select those"
is "… and nothing of GPUs" "$(header "$page" | jq -c .gpu)" null
ends "… ids neither" 0 query --data "$tmp/old" --from start --to end 'wall{pid="700"}' -o "$page"
is "… is reported in the page" "$(notes "$page" | tail -1)" "part of the range has only sums of 10 s: without pid, tid, cpu and trace_id"
ends "with other files" 0 query --data "$tmp/store" "${range[@]}" "$exact" -o "$page" -o "$dir/x.folded"
is "… it has no timeline, and reports why" "$(notes "$page")" "the other outputs contain sums only: the page has no timeline; write the page alone"
is "… but why GPUs were idle" "$(idle_times "$page")" "0 100000000000 60000000000 40000000000 100"
query --data "$tmp/old" --from start --to end 'wall{pid="700"}' -o "$page" -o "$dir/x.folded"
is "… and the missing columns" "$(notes "$page" | tail -1)" "part of the range has only sums of 10 s: without pid, tid, cpu and trace_id"
ends "with a trace" 0 query --data "$tmp/store" "${range[@]}" "$exact" -o "$page" -o "$dir/x.trace.json"
is "… it has both" "$(notes "$page"; idle_times "$page")" "0 100000000000 60000000000 40000000000 100"
"$BUILD/fixture/metrics" "$tmp/none"
type=$("$cresset" query --data "$tmp/none" --types --json | jq -r '[.[] | select(.aggregation == "sum")][0].type')
ends "without GPUs" 0 query --data "$tmp/none" --from start --to end "$type" -o "$page"
is "… it has no GPU part and no note about it" "$(header "$page" | jq -c .gpu) $(notes "$page" | grep -c GPU)" "null 0"

serve --data "$tmp/calls"
post "api/v1/profiles?type=gpu-launch&label=host%3Dh0" --data-binary $'main;launch 3\n' >/dev/null
is "calls of a GPU alone" "$(cat "$tmp/code")" 200
get api/v1/flame q=gpu-launch from=now-1h to=now fmt=html >"$page"
is "… have no idle times, which is reported" "$(notes "$page" | tail -1)" "no GPU work or readings: the page does not show why GPUs were idle; record with -e gpu-time"
stop

# --- from a server: the same page, and the same words
serve "$tmp/store"
query --data "$tmp/store" "${range[@]}" "$exact" -o "$page"
get api/v1/flame q="$exact" from=2026-11-21T10:00:00Z to=2026-11-21T10:01:40Z fmt=html >"$tmp/s.html"
is "fmt=html" "$(header "$tmp/s.html")" "$(header "$page")"
is "… equals the response of gpu-idle" "$(idle "$tmp/s.html")" "$(get api/v1/gpu-idle q="$exact" from=2026-11-21T10:00:00Z to=2026-11-21T10:01:40Z n=100 | jq -c .)"
ends "query --server" 0 query --server "$url" "${range[@]}" "$exact" -o "$page"
is "… writes it" "$(header "$page")" "$(header "$tmp/s.html")"
is "… and reports nothing" "$errs" ""
stop
serve "$tmp/plain"
query --data "$tmp/plain" --from start --to end wall -o "$page"
get api/v1/flame q=wall from=start to=end fmt=html >"$tmp/s.html"
is "missing parts are listed in the page" "$(notes "$tmp/s.html")" "$(notes "$page")"
is "… and in a header" "$(curl -sS -o /dev/null -D - "${url}api/v1/flame?q=wall&from=start&to=end&fmt=html" | tr -d '\r' | sed -n 's/^X-Cresset-Note: //p')" "$(notes "$page" | paste -sd '\t' | sed 's/\t/. /g')"
is "… and not in other responses" "$(curl -sS -o /dev/null -D - "${url}api/v1/flame?q=wall&from=start&to=end&fmt=folded" | grep -ci x-cresset-note)" 0
ends "query --server" 0 query --server "$url" --from start --to end wall -o "$page"
has "… reports it" "cresset: $sums. GPU work" "$errs"
stop
finish
