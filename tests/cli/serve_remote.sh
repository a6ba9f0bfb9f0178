#!/usr/bin/env bash
# tier: test
# cresset query and cresset sql with --server: byte for byte what they print with --data.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
"$BUILD/fixture/waits" "$tmp/waits.cresset" || exit 1
"$BUILD/fixture/metrics" "$tmp/metrics" >/dev/null 2>&1
"$cresset" token create --tokens "$tmp/tokens" >"$tmp/token"
serve "$tmp/waits.cresset" --tokens "$tmp/tokens"
unset CRESSET_TOKEN
same() { # NAME COMMAND ARG…
	local name=$1 command=$2
	shift 2
	"$cresset" "$command" --data "$tmp/waits.cresset" "$@" >"$tmp/a" 2>/dev/null
	"$cresset" "$command" --server "$url" --token-file "$tmp/token" "$@" >"$tmp/b" 2>"$tmp/err"
	if [ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b"; then ok "$name"; else not_ok "$name" "$(cat "$tmp/err"; diff "$tmp/a" "$tmp/b" | head -5)"; fi
}
for format in --json --csv ''; do
	same "functions $format" query wall $format
	same "… of a part $format" query 'wall{comm!="db"}' --from start+1s --to start+3s --top 5 --no-kernel --by comm $format
	same "callers $format" query wall --callers work $format
	same "changes $format" query wall --from start+5s --to end --diff-from start --diff-to start+5s --norm abs $format
done
same "types" query --types --json
same "labels" query --labels --json
same "values" query --values comm --json
same "series" query --series --json 'wall{comm="db"}'
same "over time" query wall --range 700ms --by comm --json
same "the tree" query wall --tree --json --focus poll
same "a heatmap" query wall --heatmap --csv
same "… as JSON" query wall --heatmap --json
for format in folded pprof svg speedscope; do
	same "as $format" query wall --format $format
done
sql='SELECT type, series, count(*), sum(value) FROM samples GROUP BY 1, 2 ORDER BY 2'
for format in table csv json; do
	same "SQL as $format" sql "$sql" --format $format
done
for file in o.folded o.svg o.pb.gz; do
	"$cresset" query --data "$tmp/waits.cresset" wall -o "$tmp/data.$file" 2>/dev/null
	ends "-o $file" 0 query --server "$url" --token-file "$tmp/token" wall -o "$tmp/server.$file"
	holds "… is the same" cmp "$tmp/data.$file" "$tmp/server.$file"
done
ends "SQL into a file" 0 sql --server "$url" --token-file "$tmp/token" "$sql" -o "$tmp/rows.csv"
is "… is CSV" "$(head -1 "$tmp/rows.csv")" "type,series,count(*),sum(value)"
CRESSET_TOKEN=$(cat "$tmp/token") ends "the token of the environment" 0 query --server "$url" wall

# --- what cannot be had
fails "no token" 3 "a token is required" query --server "$url" wall
fails "a wrong one" 3 "unknown token" query --server "$url" --token-file /proc/version wall
fails "no such file" 1 "cannot read" query --server "$url" --token-file "$tmp/none" wall
fails "two of them" 2 "choose one of --data and --server" query --server "$url" --data "$tmp/waits.cresset" wall
fails "a bad selector" 2 "selector, column 6" query --server "$url" --token-file "$tmp/token" 'wall{=}'
fails "SQL that is none" 2 "" sql --server "$url" --token-file "$tmp/token" 'SELEC 1'
fails "results in JSON only" 2 "add --json" query --server "$url" wall --range 1s
stop
fails "no server" 1 "" query --server "$url" wall

# --- metrics
if [ -d "$tmp/metrics" ]; then
	name=$("$cresset" query --data "$tmp/metrics" --types --json | jq -r '[.[] | select(.aggregation == "gauge")][0].type')
	from=$("$cresset" sql --data "$tmp/metrics" 'SELECT min(time) FROM metrics' --format csv | tail -1)
	ask=("$name" --from "$from" --to "$((from + 600000000000))" --range 60s --reduce avg --by host --json)
	want=$("$cresset" query --data "$tmp/metrics" "${ask[@]}")
	serve --data "$tmp/metrics" --retention 36500d
	is "a metric" "$("$cresset" query --server "$url" "${ask[@]}")" "$want"
	holds "… is one" [ "$(jq -r .format <<<"$want")" = cresset.metric ]
	stop
fi
finish
