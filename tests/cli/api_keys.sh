#!/usr/bin/env bash
# tier: test
# docs/api.tsv lists the keys of every response of cresset serve: the server sends no other keys, and it sends each listed key at least once,
# unless the key needs a host, a GPU or an estimate.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in curl jq; do
	command -v $program >/dev/null || { skip "keys of responses" "no $program"; finish; exit; }
done
list=docs/api.tsv
: >"$tmp/sent"

# ROUTE: its keys in the list.
listed() { awk -F '\t' -v route="$1" 'NR > 1 && index(", " $1 ", ", ", " route ", ") { print $2 }' "$list" | sort -u; }
# The keys in a response, each once, as the list writes them; keys that are data (values of labels, reasons, statuses) are left out, and a part that has
# the keys of another part counts as that one.
keys() {
	jq -r 'paths | map(if type == "number" then "[]" else . end) | join(".")' |
		sed -E 's/\.\[\]/[]/g; s/\b(labels|losses|losses_ns|senders\[\]\.refused)\..*/\1/; s/(.)(\[\])+$/\1/
			s/^newer\./older./; s/^(callers|callees)\[\]/tree[]/; s/^others\.(count$|(.*))/\1/; s/^count$/others.count/
			s/^(labels|on_ns|off_ns|wait_ns|gpu_wait_ns|density|spans)$/lanes[].\1/
			s/^rows\[\]\.total\./rows[].self./; s/^whole\.(older|newer|change|low|high|growth_percent|certainty)$/rows[].self.\1/
			s/^(devices\[\]\.change)\..*/\1/; s/^(devices\[\])\.records\./\1./' | sort -u
}
known() { # ROUTE PATH [NAME=VALUE…]
	local route=$1
	shift
	get "$@" >"$tmp/response"
	check "$route"
}
check() { # ROUTE [STATUS]: the keys of $tmp/response
	keys <"$tmp/response" >"$tmp/keys"
	sed "s|^|$1 |" "$tmp/keys" >>"$tmp/sent"
	is "keys of $1" "$(cat "$tmp/code") $(comm -23 "$tmp/keys" <(listed "$1"))" "${2-200} "
}

"$BUILD/fixture/waits" "$tmp/waits.cresset"
serve "$tmp/waits.cresset"
for route in types labels series; do known "/api/v1/$route" "api/v1/$route"; done
known /api/v1/values api/v1/values name=comm
known /api/v1/range api/v1/range q=wall step=1s by=comm
known /api/v1/flame api/v1/flame q=wall
known /api/v1/top api/v1/top q=wall
known /api/v1/callers api/v1/callers q=wall f=main
known /api/v1/diff api/v1/diff a=wall ato=start+2s bfrom=start+1s
known /api/v1/heatmap api/v1/heatmap q=wall
known /api/v1/lanes api/v1/lanes q=wall lanes=1
# A pipe would last until the stream's next message.
exec {live}< <(exec curl -sSN -m 20 "${url}api/v1/live?q=wall" 2>/dev/null)
stream=$!
sed -n '/^data: / { s///p; q }' <&"$live" >"$tmp/response"
kill "$stream" 2>/dev/null
exec {live}<&-
check /api/v1/live
get api/v1/top >"$tmp/response"
check "all errors" 400
stop

# A difference (its values below zero are the older side), and two files.
report() {
	"$cresset" -q report --json "$@" >"$tmp/response"
	echo 200 >"$tmp/code"
	check "cresset report --json"
}
report tests/golden/reported/pprof-diff-base.pb.gz
report tests/golden/folded/simple.txt --diff tests/golden/folded/recursion.txt
report tests/golden/folded/simple.txt --diff tests/golden/folded/recursion.txt --tree
report "$tmp/waits.cresset" --callers main
report tests/golden/perf-data/dwarf.data.gz --by binary

heap_profiles "$tmp/heaps"
serve "$tmp/heaps"
known /api/v1/leaks api/v1/leaks q=inuse_space from=2026-11-30T10:00:00Z to=2026-11-30T10:10:00Z
stop

"$BUILD/fixture/gpu" "$tmp/gpu.cresset"
serve "$tmp/gpu.cresset"
known /api/v1/gpu-idle api/v1/gpu-idle q={}
stop

"$BUILD/fixture/gpu_store" "$tmp/gpu_store"
serve "$tmp/gpu_store"
known /api/v1/metrics api/v1/metrics q=hw_gpu_utilization from=start to=end by=host
stop

serve --data "$tmp/store"
post api/v1/profiles --data-binary @tests/golden/folded/simple.txt >/dev/null && cp "$tmp/body" "$tmp/response"
check "POST /api/v1/profiles"
post api/v1/sql -d 'SELECT type FROM samples' >/dev/null && cp "$tmp/body" "$tmp/response"
check "POST /api/v1/sql"
known /api/v1/status api/v1/status
known /debug/ingest debug/ingest
curl -sS -m 20 -X DELETE -G --data-urlencode 'match=samples' -w '%{http_code}' -o "$tmp/response" "${url}api/v1/series" >"$tmp/code"
check "DELETE /api/v1/series"
stop

# Listed, but in no response above. Some parts are only there with a collector, estimates, losses or data that is too old.
rare='^(/api/v1/status (collector|unread_files|(missing|truncated|kernel_memory)\[\])|PUT |POST /api/v1/profiles (points|rejected|expired)$'
rare+='|/api/v1/diff rows\[\]\.older_|cresset report --json (estimated|binaries\[\].*|top\[\]\.(self|total)_(low|high))$|.* meta\.comments$)'
unseen=$(awk -F '\t' 'NR > 1 { n = split($1, routes, ", "); for (i = 1; i <= n; i++) print routes[i] " " $2 }' "$list" | sort -u |
	comm -23 - <(sort -u "$tmp/sent") | grep -vE "$rare")
is "no other keys are listed" "$unseen" ""
finish
