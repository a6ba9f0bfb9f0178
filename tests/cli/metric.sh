#!/usr/bin/env bash
# tier: test
# Metrics in a store: what questions and SQL say of them, on a store whose truth tests/fixture/metrics.c says.
. tests/cli/lib.sh
store=$tmp/store
"$BUILD/fixture/metrics" "$store" || exit 1
hour=(--from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z)
ask() { ends "$1" 0 query --data "$store" "${hour[@]}" "${@:2}"; }
values() { jq -c '[.groups[] | [.labels.host, (.values | unique)]]' "$tmp/out"; }

# --- what there is
ends "types" 0 query --data "$store" --types
has "… a gauge" "cpu_busy:gauge 3 series, metric in percent" "$out"
has "… a counter" "requests:counter 3 series, metric" "$out"
ends "series" 0 query --data "$store" --series
has "… as selectors" 'cpu_busy{host="h1"}' "$out"
is "hosts" "$("$cresset" query --data "$store" --values host requests | xargs)" "h0 h1 h2"
is "labels" "$("$cresset" query --data "$store" --labels)" host
ends "JSON" 0 query --data "$store" --types --json
is "… kinds" "$(jq -c '[.[].aggregation] | sort' "$tmp/out")" '["counter","gauge","sum"]'

# --- gauges
ask "by host" cpu_busy --range 60s --by host --json
is "… two values each" "$(values)" '[["h0",[0,1]],["h1",[10,11]],["h2",[20,21]]]'
is "… in turn" "$(jq -c '.groups[1].values[:4]' "$tmp/out")" '[10,11,10,11]'
is "… for an hour" "$(jq -c '[.from_ns, .step_ns, .steps, .reduce, .unit]' "$tmp/out")" '[1795255200000000000,60000000000,60,"avg","percent"]'
ask "summed up" cpu_busy --range 1m --json
is "… over hosts" "$(jq -c '.groups[0].values[:3]' "$tmp/out")" '[30,33,30]'
ask "one host" 'cpu_busy{host="h2"}' --range 10m --json --reduce max
is "… greatest" "$(jq -c '.groups[0].values' "$tmp/out")" '[21,21,21,21,21,21]'
ask "least" '{__name__="cpu_busy",host=~"h[12]"}' --range 1h --csv --reduce min --by host
is "… as CSV" "$out" $'time_ns,host,value\n1795255200000000000,h1,10\n1795255200000000000,h2,20'
ask "slope" 'cpu_busy{host="h0"}' --range 1m --reduce rate --json
holds "… up and down" jq -e '.groups[0].values | (.[0] - 1/60 | fabs) < 1e-12 and (.[1] + 1/60 | fabs) < 1e-12' "$tmp/out"
ask "as a table" cpu_busy --range 30m --by host
is "… a line for each step" "$out" "$(printf '%-24s %12s %12s %12s\n' cpu_busy h0 h1 h2 2026-11-21T10:00:00Z 0.5 10.5 20.5 2026-11-21T10:30:00Z 0.5 10.5 20.5)"
ask "without --range" cpu_busy --json
is "… it is one step" "$(jq -c '[.steps, .groups[0].values]' "$tmp/out")" '[1,[31.5]]'

# --- counters
ends "rate" 0 query --data "$store" requests --from 2026-11-21T10:00:00Z --to 2026-11-21T11:59:00Z --range 1m --by host --json
is "… of a counter" "$(jq -c '[.groups[] | [.labels.host, (.values[:59] + .values[60:] | map(. * 1e9 | round / 1e9) | unique)]]' "$tmp/out")" \
	'[["h0",[5]],["h1",[10]],["h2",[15]]]'
is "… and where it starts again" "$(jq -c '[.groups[].values[59] * 6 | round]' "$tmp/out")" '[25,50,75]'
is "… equals the reported value" "$(jq -r .reduce "$tmp/out")" rate

# --- profiles beside them
ends "cpu" 0 query --data "$store" cpu "${hour[@]}"
has "… is a profile" "7 samples" "$out"
fails "a tree of a metric" 2 "'cpu_busy' is a metric without stacks" query --data "$store" cpu_busy "${hour[@]}" --tree
fails "a file of a metric" 2 "is a metric without stacks" query --data "$store" cpu_busy "${hour[@]}" -o "$tmp/x.folded"
fails "--reduce of a profile" 2 "this is not a metric" query --data "$store" cpu "${hour[@]}" --range 1m --reduce max
fails "steps without end" 1 "more than 100000 steps" query --data "$store" cpu_busy "${hour[@]}" --range 1us
ends "a step of all time" 2 query --data "$store" cpu_busy --from 1700-01-01 --to 2262-01-01 --range 100000d
ends "no step of all time" 0 query --data "$store" cpu_busy --from 1970-01-01 --to 2100-01-01
ends "nothing there" 0 query --data "$store" cpu_busy --from 2026-11-20 --to 2026-11-21 --range 1h
has "… is reported" "nothing to show" "$errs"

# --- SQL
sql() { "$cresset" -q sql --format csv --data "$store" "$1" | tail -n +2; }
is "all points" "$(sql "SELECT name, count(*), min(time), max(time) FROM metrics GROUP BY 1 ORDER BY 1")" \
	$'cpu_busy,2160,1795255200000000000,1795262390000000000\nrequests,2160,1795255200000000000,1795262390000000000'
is "by label" "$(sql "SELECT labels.value, sum(metrics.value) FROM metrics JOIN labels USING (series) WHERE name = 'cpu_busy' GROUP BY 1 ORDER BY 1")" \
	$'h0,360\nh1,7560\nh2,14760'
is "a moment" "$(sql "SELECT value FROM metrics WHERE name = 'requests' AND time = 1795255260000000000 ORDER BY 1" | xargs)" "300 600 900"
is "a range" "$(sql "SELECT count(*) FROM metrics WHERE time >= 1795255200000000000 AND time < 1795255260000000000")" 36
is "a series" "$(sql "SELECT count(*) FROM metrics WHERE series = (SELECT id FROM series WHERE type = 'requests' LIMIT 1)")" 720
is "no such" "$(sql "SELECT count(*) FROM metrics WHERE name = 'none' OR series = 1000 OR time > 1795262390000000000")" 0
is "kinds" "$(sql "SELECT DISTINCT type, aggregation FROM series ORDER BY 1" | xargs)" "cpu,sum cpu_busy,gauge requests,counter"
finish
