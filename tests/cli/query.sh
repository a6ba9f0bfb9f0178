#!/usr/bin/env bash
# tier: test
# cresset query on files: what it shows is what report shows of the same part, sums are those of the rows, and what cannot be asked is said.
. tests/cli/lib.sh
folded=tests/golden/folded/simple.txt pprof=tests/golden/pprof script=tests/golden/perf-script
"$BUILD/fixture/waits" "$tmp/waits.cresset" || exit 1
waits=$tmp/waits.cresset
query() { "$cresset" query --data "$@"; }
same() { # NAME: what the last two commands wrote is the same
	if cmp -s "$tmp/a" "$tmp/b"; then ok "$1"; else not_ok "$1" "$(diff "$tmp/a" "$tmp/b" | head -5)"; fi
}

# --- the same part, two ways
while read -r file selector match; do
	for view in --csv "--csv --tree" --json "--json --tree" "--csv --focus ^.*a --hide ^b"; do
		# shellcheck disable=SC2086 # several words
		query "$file" "$selector" --top 0 $view >"$tmp/a" 2>"$tmp/err"
		# shellcheck disable=SC2086
		"$cresset" report "$file" --top 0 --match "$match" $view >"$tmp/b" 2>/dev/null
		same "$(basename "$file") $selector $view is report's"
	done
done <<EOF_CASES
$folded samples samples
$pprof/parca-fib.pb.gz {} {}
$pprof/parca-alloc_objects.pb.gz inuse_space inuse_space
$pprof/parca-labels.pb.gz {} {}
$script/perf-numa-stacks-01.txt {comm="bash"} {comm="bash"}
$script/perf-java-stacks-01.txt {comm=~"j.*"} {comm=~"j.*"}
$waits wall{comm!="db"} wall{comm!="db"}
$waits wall{pid="100"} wall{pid="100"}
EOF_CASES
for by in comm process,comm cpu; do
	query "$waits" wall --csv --tree --by $by >"$tmp/a"
	"$cresset" report "$waits" --csv --tree --by $by >"$tmp/b"
	same "root frames by $by are report's"
done
query "$waits" wall --csv --from start+2.5s --to start+4.25s >"$tmp/a"
"$cresset" report "$waits" --csv --time 2.5s-4.25s >"$tmp/b"
same "a range is report's --time"
query "$waits" wall --callers work --json >"$tmp/a"
"$cresset" report "$waits" --callers work --json >"$tmp/b"
same "callers are report's"

# --- base and part
ends "a filter" 0 query --data $folded samples --json --focus '^d$'
is "… retains the base" "$(jq -c '[.total, .unfiltered_total]' "$tmp/out")" "[4,14]"
ends "… as text" 0 query --data $folded samples --focus '^d$'
has "… too" "28.6 % of all after filters" "$out"

# --- totals over time
ends "steps" 0 query --data "$waits" wall --range 700ms --by comm --csv
is "… add up to the whole" "$(awk -F, 'NR > 1 { n += $3 } END { printf "%.0f\n", n }' "$tmp/out")" \
	"$(query "$waits" wall --json | jq .total)"
is "… of each name" "$(awk -F, '$2 == "worker" { n += $3 } END { printf "%.0f\n", n }' "$tmp/out")" \
	"$(query "$waits" 'wall{comm="worker"}' --json | jq .total)"
ends "a second at a time" 0 query --data "$waits" wall --range 1s --from start --to start+3s --json
is "… as JSON" "$(jq -c '[.type, .unit, .step_ns, .steps, .groups[0].values]' "$tmp/out")" \
	"[\"wall\",\"nanoseconds\",1000000000,3,[$(for s in 0 1 2; do
		query "$waits" wall --from start+${s}s --to start+$((s + 1))s --json | jq .total
	done | paste -sd,)]]"
ends "samples" 0 query --data $script/perf-funcab-cmd-01.txt cpu --range 10s --csv --by tid
is "… are counted" "$(awk -F, 'NR > 1 { n += $3 } END { printf "%.0f\n", n }' "$tmp/out")" 169
ends "as text" 0 query --data "$waits" wall --range 5s --by comm
is "… a line a step" "$(wc -l <"$tmp/out")" 4
has "… with its time" "2023-11-14T22:13:24Z" "$out"
"$cresset" convert "$waits" -o "$tmp/wall.perf.txt" 2>/dev/null

# --- files
ends "folded stacks" 0 query --data "$waits" 'wall{comm="db"}' --format folded
is "… to standard output" "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$tmp/out")" 2000000
for ending in pb.gz otlp svg folded cresset speedscope.json; do
	ends "into .$ending" 0 query --data "$waits" 'wall{comm="web"}' --from start+1s --to start+2s -o "$tmp/web.$ending"
done
is "… pprof has the part" "$("$cresset" report --json "$tmp/web.pb.gz" | jq .total)" \
	"$(query "$waits" 'wall{comm="web"}' --from start+1s --to start+2s --json | jq .total)"
query "$tmp/web.cresset" wall --json --tree | jq -S 'del(.meta)' >"$tmp/a"
query "$waits" 'wall{comm="web"}' --from start+1s --to start+2s --json --tree | jq -S 'del(.meta)' >"$tmp/b"
same "… and a recording is the same again"
ends "filters count" 0 query --data "$waits" wall --focus poll -o - --format folded --by none
is "… in files" "$out" "main;poll;[blocked: poll/epoll]_[o] 5000000"
ends "a heatmap" 0 query --data "$waits" wall --heatmap --json
is "… all cells are the total" "$(jq '([.cells[][] // 0] | add) + .outside == .total' "$tmp/out")" true

# --- differences
ends "two ranges" 0 query --data "$waits" wall --from start+5s --diff-from start --diff-to start+5s --json
is "… each side is its range" "$(jq -c '[.older.total, .newer.total]' "$tmp/out")" \
	"[$(query "$waits" wall --from start --to start+5s --json | jq .total),$(query "$waits" wall --from start+5s --json | jq .total)]"
ends "two selectors" 0 query --data "$waits" 'wall{comm="web"}' --diff 'wall{comm="db"}' --norm abs --json
is "… have intervals" "$(jq -c '[.rows[] | select(.function == "fsync") | .older_total, .newer_total, (.total.low | type)]' "$tmp/out")" \
	'[2000000000,0,"number"]'

# --- what there is
ends "types" 0 query --data $pprof/parca-alloc_objects.pb.gz --types
is "… four of them" "$(wc -l <"$tmp/out")" 4
ends "… as JSON" 0 query --data "$waits" --types --json
is "… with units" "$(jq -c '.[0] | [.type, .unit, .aggregation, .series]' "$tmp/out")" '["wall","nanoseconds","sum",3]'
ends "labels" 0 query --data "$waits" --labels
is "… of all series" "$out" comm
ends "values" 0 query --data "$waits" --values comm 'wall{comm!="db"}'
is "… of those selected" "$out" "web
worker"
ends "series" 0 query --data "$waits" --series
is "… each selects itself" "$(while read -r s; do query "$waits" "$s" --json | jq .total; done <"$tmp/out" | awk '{ n += $1 } END { printf "%.0f\n", n }')" \
	"$(query "$waits" wall --json | jq .total)"
fails "no such label" 2 "did you mean 'comm'?" query --data "$waits" --values com

# --- nothing, and why
ends "a label that is not there" 0 query --data "$waits" 'wall{com="x"}'
has "… is reported" "did you mean 'comm'?" "$errs"
ends "a value that is not there" 0 query --data "$waits" 'wall{comm="x"}'
has "… is reported as well" "no series is selected" "$errs"
ends "a time when nothing was" 0 query --data "$waits" wall --from now-1s
has "… as well" "no data in this time range" "$errs"
ends "samples without times" 0 query --data $folded samples
is "… are all there" "$errs" ""

# --- what cannot be asked
fails "no selector" 2 "SELECTOR is missing" query --data "$waits"
fails "no data" 2 "--data PATH is missing" query wall
fails "no such file" 6 "cannot open" query --data "$tmp/nothing" wall
mkdir "$tmp/empty"
fails "a directory without a store" 6 "$tmp/empty: not a store: inbox.db is missing" query --data "$tmp/empty" wall
fails "no such type" 2 "types here: wall" query --data "$waits" cpu
fails "a bad selector" 2 "column 6: the name of a label is missing" query --data "$waits" 'wall{=}'
fails "a bad time" 2 "option --from, column 5:" query --data "$waits" wall --from now-x
has "… with a mark" "
      ^" "$errs"
fails "the end first" 2 "--to is not later than option --from" query --data "$waits" wall --from start+2s --to start+1s
fails "times without timestamps" 2 "have no times" query --data $folded samples --range 1s
fails "two views" 2 "choose one of --range and --tree" query --data "$waits" wall --range 1s --tree
fails "a view into a file" 2 "not the result of --tree" query --data "$waits" wall --tree -o "$tmp/x.svg"
fails "too many steps" 1 "more than 100000 steps" query --data "$waits" wall --range 1us
fails "too little memory" 1 "more memory than 1.02 kB" query --data "$waits" wall --max-memory 1K
fails "a label as root frame of a file" 2 "not 'host'" query --data "$waits" wall --by host -o "$tmp/x.folded"
fails "a bad expression" 2 "bad regular expression" query --data "$waits" wall --focus '('

# --- the examples of docs/query.md, as they stand
docs=$PWD/docs/query.md
mkdir "$tmp/examples" && "$BUILD/fixture/host" "$tmp/examples/DIR" && "$BUILD/fixture/metrics" "$tmp/examples/DIR" && "$BUILD/fixture/gpu_store" "$tmp/examples/DIR" && cd "$tmp/examples" || exit
"$cresset" convert "$OLDPWD/$script/perf-funcab-cmd-01.txt" -o cpu.cresset 2>/dev/null
n=0
while read -r line; do
	n=$((n + 1))
	PATH=$(dirname "$cresset"):$PATH bash -c "${line%%  *}" >out 2>err
	is "${line%%  *}" "$?" 0
done < <(awk '/^```/ { on = !on } on && /^cresset query/' "$docs")
holds "there are examples" [ $n -gt 4 ]
finish
