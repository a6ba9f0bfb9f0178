#!/usr/bin/env bash
# tier: test
# cresset query --leaks names the stack that grows in eight heap profiles, one a minute, as text, CSV and JSON, and by the server; too few profiles, another
# type, and no leak are reported.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
store=$tmp/store range=(--from 2026-11-30T10:00:00Z --to 2026-11-30T10:10:00Z)
heap_profiles "$store"
leaks() { run_cresset query --data "$store" inuse_space --leaks "${range[@]}" "$@"; }

leaks --json
is "JSON" "$status $(jq -c '[.leaks[] | [.process, .stack, .survives, (.first_ns / 1e9 | floor), (.last_ns / 1e9 | floor)]]' <"$tmp/out")" \
	'0 [["prog",["prog+0x1fff","prog+0xfff"],null,1796032800,1796033220]]'
# 200 blocks of 524288 / (1 - 1/e) bytes a minute.
holds "… its growth in an hour" jq -e '.leaks[0] | ((.per_hour / 9952936843 - 1) | if . < 0 then -. else . end) < 1e-6
	and .per_hour_low < .per_hour and .per_hour < .per_hour_high' "$tmp/out"
json=$(cat "$tmp/out")
leaks --csv
is "CSV" "$status $(cut -d, -f 2,4,10 "$tmp/out" | tr '\n' ' ')" "0 process,per_hour,stack prog,9952936843,\"prog+0x1fff;prog+0xfff\" "
leaks
has "text" "9.95 GB" "$out"
has "… with the leaf first" "prog+0xfff < prog+0x1fff" "$out"
leaks --older 1h --json
is "memory without an age has any" "$(cat "$tmp/out")" "$json"
run_cresset query --data "$store" 'inuse_space{process="prog",pid="9"}' --leaks "${range[@]}"
is "another process has no leak" "$status $out" "0 "
run_cresset query --data "$store" 'inuse_space{process="other"}' --leaks "${range[@]}"
is "no leak" "$status $out" "0 "
has "… is reported" "no stack has memory in use that grows" "$errs"
fails "too few profiles" 1 "no process has memory in use at 5 times of this range" query --data "$store" inuse_space --leaks --from 2026-11-30T10:00:00Z \
	--to 2026-11-30T10:04:00Z
fails "another type" 2 "leaks are of memory in use" query --data "$store" alloc_space --leaks
fails "an age that is none" 2 "option --older: 'x' is not known" query --data "$store" inuse_space --leaks --older x
fails "two views" 2 "choose one of --tree and --leaks" query --data "$store" inuse_space --leaks --tree

serve "$store"
get api/v1/leaks q=inuse_space from=2026-11-30T10:00:00Z to=2026-11-30T10:10:00Z >"$tmp/response"
is "the server" "$(cat "$tmp/code") $(cat "$tmp/response")" "200 $json"
get api/v1/leaks q=inuse_space from=2026-11-30T10:00:00Z to=2026-11-30T10:04:00Z >"$tmp/response"
is "… too few profiles" "$(cat "$tmp/code")" 404
get api/v1/leaks q=inuse_space older=2m >"$tmp/response"
is "… an age that is none" "$(cat "$tmp/code")" 400
run_cresset query --server "$url" inuse_space --leaks "${range[@]}" --json
is "a query of the server" "$out" "$json"
stop
finish
