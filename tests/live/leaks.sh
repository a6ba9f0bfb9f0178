#!/usr/bin/env bash
# tier: live
# The stack that leaks is the only one that cresset query --leaks names, with its rate: not a cache that fills, not memory from the start, and not memory that
# comes and goes.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
me=l$$
cp "$progs/leaks" "$tmp/$me"
chmod 755 "$tmp" # the store process is another user
begin_always up --data "$tmp/data" --listen none --events alloc,inuse --mem-attach "comm=\"$me\""
"$tmp/$me" 150 >"$tmp/truth" &
pid=$!
pids+=("$pid")
until_said "allocations of 1 programs"
sleep 20 # the cache has filled
since=$EPOCHSECONDS
sleep 60
"$cresset" query --data "$tmp/data" "inuse{comm=\"$me\"}" --leaks --older 0 --from "$since" --json >"$tmp/all"
"$cresset" query --data "$tmp/data" "inuse{comm=\"$me\"}" --leaks --from "$since" --json >"$tmp/young"
is "one stack leaks" "$(jq '.leaks | length' "$tmp/all")" 1
is "nothing is older than ten minutes" "$(jq '.leaks | length' "$tmp/young")" 0
wait "$pid"
"$cresset" query --data "$tmp/data" "inuse{comm=\"$me\"}" --leaks --older 0 --from "$since" --json >"$tmp/leaks"
is "the query" $? 0
is "after its end the same one is named" "$(jq -c '[.leaks[].stack | map(select(test("^(leaks|caches|keeps|passes)$"))) | add]' "$tmp/leaks")" '["leaks"]'
rate=$(cat "$tmp/truth")
holds "… as fast as it does: $rate bytes an hour" jq -e --argjson rate "$rate" '.leaks[0] | ((.per_hour_high - .per_hour_low) / 2) as $half
	| ((.per_hour - $rate) | if . < 0 then -. else . end) <= $half * 5 / 1.96' "$tmp/leaks"
holds "… and none of it is freed" jq -e '.leaks[0].survives > 0.8' "$tmp/leaks"
end_always TERM
is "cresset ends" $status 0
finish
