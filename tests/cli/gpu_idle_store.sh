#!/usr/bin/env bash
# tier: test
# cresset query --gpu-idle against a store whose truth is known: tests/fixture/gpu_store.c says it. What is said is compared with an answer that a script
# computes from the readings alone (tests/cli/gpu_idle_answers.py).
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
store=$tmp/store
"$BUILD/fixture/gpu_store" "$store" || exit 1
range=(--from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:40Z)
idle() { "$cresset" -q query --data "$store" --gpu-idle "${range[@]}" "$@"; }
# FILTER [ARG…]: of the JSON.
of() { idle --json "${@:2}" | jq -c "$1"; }
times='.devices[] | [.host, .gpu, .source, .watched_ns / 1e6, .busy_ns / 1e6, .idle_ns / 1e6, .gaps]'
read0='.devices[] | select(.host == "read" and .gpu == "0")'
exact0='.devices[] | select(.host == "exact")'

is "by records if present, by readings otherwise" "$(of "$times")" \
	$'["exact","0","records",100000,60000,40000,100]\n["read","0","readings",100000,70000,30000,10]\n["read","1","readings",100000,0,100000,1]'
is "which is exact" "$(of '[.devices[] | [.exact, .period_ns, .uncertain_ns]]')" '[[true,null,0],[false,1000000000,19000000000],[false,1000000000,0]]'
is "idle devices" "$(of .threshold)" 0.05
is "… as a script has it of the readings" "$(of "$read0 | [.busy_ns, .idle_ns, .gaps, .uncertain_ns]")" \
	"$("$cresset" query --data "$store" 'hw_gpu_utilization{host="read",gpu="0",task="general"}' --from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:41Z --range 1s --csv |
		python3 tests/cli/gpu_idle_answers.py 0.05)"
for percent in 1 2 2.5 90 95; do
	is "… below $percent %" "$(of "$read0 | [.busy_ns, .idle_ns, .gaps, .uncertain_ns]" --gpu-idle-threshold "$percent%")" \
		"$("$cresset" query --data "$store" 'hw_gpu_utilization{host="read",gpu="0",task="general"}' --from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:41Z --range 1s --csv |
			python3 tests/cli/gpu_idle_answers.py "$(awk -v p="$percent" 'BEGIN { print p / 100 }')")"
done
is "… which is reported" "$(of .threshold --gpu-idle-threshold 2.5)" 0.025
is "owners: processes that ran work" "$(of "$exact0 | [.owned, .owners[0].pid, .owners[0].process]")" '["ran",700,"serve"]'
is "owners: processes listed by the driver" "$(of "$read0 | [.owned, .processes, .owners[0].pid, .owners[0].process]")" '["listed",[],null,"train"]'
is "owners: none" "$(of '.devices[2] | [.owned, .owners]')" '["none",[]]'
is "the work after gaps, by records" "$(of "$exact0 | .ended_by[] | [.name, .over, .gaps, .total_ns / 1e6]")" $'["gemm",true,99,39600]\n[null,false,1,400]'
is "… and by readings, which do not know" "$(of "$read0 | .ended_by[] | [.name, .over, .gaps, .total_ns / 1e6]")" $'[null,true,9,27000]\n[null,false,1,3000]'
is "the longest, when" "$(of "$read0 | .longest[0] | [.from_ns, .to_ns, .over]")" '[1795255207000000000,1795255210000000000,true]'
shares() { of "$1 | .change.rows[] | select(.function != \"main\") | [.function, .self.older, .self.newer, .self.certainty]" | sort; }
is "activity of owners, by records" "$(shares "$exact0")" $'["wait",0,100,"sure"]\n["work",100,0,"sure"]'
is "… by readings, of no other process" "$(shares "$read0")" $'["compute",100,0,"sure"]\n["load",0,100,"sure"]'
is "… with intervals" "$(of "$read0 | .change.rows[0].self | [.low < .change + 1e-9, .high >= .change, .high > -100.0001]")" '[true,true,true]'
is "an unused one has nothing to compare" "$(of '.devices[2] | [.change, .no_change]')" '[null,"its processes are unknown"]'
is "a selector chooses hosts" "$(of '[.devices[].host]' 'wall{host="exact"}')" '["exact"]'
fails "… one that chooses none" 8 "no series is selected" query --data "$store" --gpu-idle "${range[@]}" 'wall{comm="nobody"}'
is "… by any label" "$(of '.devices[0] | [.gpu, (.change.rows | map(.function) | sort)]' '{host="read",comm="train"}')" '["0",["compute","load","main"]]'
is "a part of the time" "$(of "$times" '{host="read"}' --from 2026-11-21T10:00:05.5Z --to 2026-11-21T10:00:12Z | head -1)" '["read","0","readings",6500,3500,3000,1]'
is "filters are for the stacks" "$(of "$read0 | [.change.rows[].function]" --focus load)" '["load","main"]'
idle --csv >"$tmp/out"
is "CSV" "$(sed -n '1p;4p' "$tmp/out")" $'gpu,gaps,total_ns,median_ns,longest_ns,ended_by,over,host,source,period_ns\n0,9,27000000000,3000000000,3000000000,,1,read,readings,1000000000'
idle >"$tmp/out"
has "text has the confidence" "GPU 0 of read: idle 30.0 s (30.00 %) in 10 gaps, busy 1 min 10 s (70.00 %) of 1 min 40 s read · ± 19.0 s: from readings of its driver below 5 %, one each 1.00 s" "$(cat "$tmp/out")"
has "… or that it is exact" "GPU 0 of exact: idle 40.0 s (40.00 %) in 100 gaps, busy 1 min 0 s (60.00 %) of 1 min 40 s recorded · exact" "$(cat "$tmp/out")"
has "… who" "the driver lists process train" "$(cat "$tmp/out")"
has "… the reason for missing stacks" "No stacks to compare: its processes are unknown" "$(cat "$tmp/out")"
"$BUILD/fixture/metrics" "$tmp/none"
fails "a store without GPUs" 8 "no GPU work or readings" query --data "$tmp/none" --gpu-idle --from start --to end
fails "with another view" 2 "choose one of --tree and --gpu-idle" query --data "$store" --gpu-idle --tree
fails "with a file" 2 "-o writes samples" query --data "$store" --gpu-idle -o "$tmp/x.svg"
fails "a threshold of nothing" 2 "--gpu-idle-threshold goes with --gpu-idle" query --data "$store" --gpu-idle-threshold 5 'wall{}'
fails "… of 0" 2 "below 0 percent nothing is idle" query --data "$store" --gpu-idle --gpu-idle-threshold 0
fails "… of more than there is" 2 "more than 100 percent" query --data "$store" --gpu-idle --gpu-idle-threshold 101
fails "a type that is not there" 2 "heap" query --data "$store" --gpu-idle 'heap{}'
"$BUILD/fixture/gpu" "$tmp/gpu.cresset"
is "a recording gives the same" "$("$cresset" -q query --data "$tmp/gpu.cresset" --gpu-idle --json | jq -c '.devices[] | [.gpu, .host, .watched_ns / 1e6, .busy_ns / 1e6, .gaps]')" $'["0",null,10000,7000,100]\n["1",null,10000,1000,1]'
is "… as report has it" "$("$cresset" -q query --data "$tmp/gpu.cresset" --gpu-idle --json | jq -c '[.devices[].change.rows]')" "$("$cresset" -q report --gpu-idle --json "$tmp/gpu.cresset" | jq -c '[.devices[].change.rows]')"
serve "$tmp/gpu.cresset"
for part in "" 'wall{}'; do
	is "a server says the same${part:+ of $part}" "$("$cresset" query --server "$url" --gpu-idle --json --top 2 ${part:+"$part"})" \
		"$("$cresset" -q query --data "$tmp/gpu.cresset" --gpu-idle --json --top 2 ${part:+"$part"})"
done
is "… as text" "$("$cresset" query --server "$url" --gpu-idle)" "$("$cresset" -q query --data "$tmp/gpu.cresset" --gpu-idle)"
is "… as CSV" "$("$cresset" query --server "$url" --gpu-idle --csv)" "$("$cresset" -q query --data "$tmp/gpu.cresset" --gpu-idle --csv)"
stop
finish
