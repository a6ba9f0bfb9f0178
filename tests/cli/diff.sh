#!/usr/bin/env bash
# tier: test
# cresset diff on files: what changed, by go tool pprof and by hand; what it writes; what makes it fail. And --diff elsewhere.
. tests/cli/lib.sh
series=tests/golden/pprof/series
first=$series/1644509272337470000.pb.gz last=$series/1644509299337903000.pb.gz
old=$tmp/old.folded new=$tmp/new.folded

# Column of the row of a function in CSV: column FUNCTION NAME
column() { awk -F, -v f="$2" -v n="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == n) c = i } $14 == f { print $c }' "$tmp/out"; }

# --- known answers: hot 100 → 400, steady 400 → 400, gone 100 → 0, fresh 0 → 100, of 600 and 900
printf '%s\n' 'main;hot 100' 'main;steady 400' 'main;gone 100' >"$old"
printf '%s\n' 'main;hot 400' 'main;steady 400' 'main;fresh 100' >"$new"
ends "shares" 0 diff "$old" "$new" --csv
near "… of hot before" "$(column self_old hot)" 16.6667 .001
near "… and now" "$(column self_new hot)" 44.4444 .001
near "… the change" "$(column self_change hot)" 27.7778 .001
# Newcombe's method 10 by an independent program: 100 of 600, 400 of 900
near "… its interval from" "$(column self_low hot)" 23.246572 .00001
near "… to" "$(column self_high hot)" 32.056802 .00001
is "… sure" "$(column self_certainty hot)" sure
is "… main is all of both" "$(column total_change main),$(column total_certainty main)" 0,chance
ends "values" 0 diff "$old" "$new" --csv --norm abs
is "… of hot" "$(column self_old hot),$(column self_new hot),$(column self_change hot)" 100,400,300
is "… steady" "$(column self_change steady),$(column self_certainty steady)" 0,chance
is "… gone" "$(column self_change gone)" -100
fails "a rate without a duration" 2 "has no duration" diff "$old" "$new" --norm rate
ends "text" 0 diff "$old" "$new"
has "… the greatest change" "+27.78 +23.25 … +32.06 *" "$out"
has "… reports removed functions" "   - -16.67" "$out"
has "… and new" "-    11.11" "$out"
has "… and sums it up" "2 functions grew and 2 shrank significantly, 4 of them with high confidence" "$out"
has "… with the whole" "All of samples: +50.0 % (+35.3 … +66.3)." "$out"
ends "few rows" 0 diff "$old" "$new" --top 1 --norm abs
has "… the rest is counted" "(+3 functions)" "$out"
ends "small changes left out" 0 diff "$old" "$new" --csv --min-change 20
is "… by points" "$(awk -F, 'NR > 1 { print $14 }' "$tmp/out" | sort | tr '\n' ' ')" "hot steady "
ends "JSON" 0 diff "$old" "$new" --json
holds "… has the same" jq -e '.format == "cresset.diff" and .norm == "share" and .compared == 10
	and .whole.norm == "abs" and .whole.change == 300 and (.rows[0] | .function == "hot" and .self.certainty == "sure"
	and .older_self == 100 and .newer_self == 400)' "$tmp/out"
LC_ALL=C "$cresset" diff "$old" "$new" >"$tmp/out"
is "for an ASCII terminal" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0
ends "nothing changed" 0 diff "$old" "$old"
has "… is reported" "0 functions grew and 0 shrank" "$out"
printf 'main;hot 105\nmain;steady 395\nmain;gone 100\n' >"$tmp/alike.folded"
ends "chance" 0 diff "$old" "$tmp/alike.folded" --csv
is "… is distinguished from change" "$(column self_certainty hot)" chance

# --- the confidence
ends "less confidence" 0 diff "$old" "$new" --csv --confidence 50
narrow=$(column self_low hot)
holds "… narrower intervals" awk -v n="$narrow" 'BEGIN { exit !(n > 23.3 && n < 27.7) }'
fails "all confidence" 2 "less than 100" diff "$old" "$new" --confidence 100

# --- two builds of one program
reported=tests/golden/reported
ends "a module's version and a directory in the path" 0 diff $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --fail-on 5 --csv
is "… change nothing" "$(awk -F, 'NR > 1 { print $3, $9, $NF }' "$tmp/out" | sort -u)" "0 0 loose"
ends "… in text" 0 diff $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz
has "… nothing grew" "0 functions grew and 0 shrank" "$out"
has "… the mark is explained" "≈ the same function of another build" "$out"
ends "… in JSON" 0 diff $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --json
holds "… has the data of the older side" jq -e '.rows[] | select(.function == "main.handle")
	| .match == "loose" and .file == "/tmp/build-222/src/main.go" and .older_file == "/tmp/build-111/src/main.go"' "$tmp/out"
ends "… strictly" 10 diff $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --fail-on 5 --strict
ends "… as a graph" 0 diff $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz -o "$tmp/builds.folded"
is "… one stack each" "$(cat "$tmp/builds.folded")" \
	"$(printf '%s\n' 'main.main;main.handle 40 40' 'main.main;main.handle;github.com/acme/json.Decode;github.com/acme/json.scan 60 60')"
ends "… with report --diff" 0 report $reported/pprof-deploy-v2.pb.gz --diff $reported/pprof-deploy-v1.pb.gz --csv
is "… has both sides in a row" "$(awk -F, '$6 == "main.handle" { print $3, $9 }' "$tmp/out")" "40 40"
ends "two builds in one report" 0 report $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --csv
is "… are one row" "$(awk -F, '$6 ~ /scan|handle/ { print $6, $3 }' "$tmp/out" | sort | tr '\n' ' ')" "github.com/acme/json.scan 120 main.handle 80 "
ends "… strictly" 0 report $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --csv --strict
is "… are two" "$(grep -c 'json.scan' "$tmp/out")" 2
ends "two builds in a store" 0 convert $reported/pprof-deploy-v1.pb.gz $reported/pprof-deploy-v2.pb.gz --data "$tmp/store" --at 2026-11-01T00:00:00Z
day=(--data "$tmp/store" --from 2026-10-31T00:00:00Z --to 2026-11-02T00:00:00Z --csv)
ends "… in one command" 0 query cpu "${day[@]}"
is "… have one row" "$(awk -F, '$6 ~ /scan|handle/ { print $6, $3 }' "$tmp/out" | sort | tr '\n' ' ')" "github.com/acme/json.scan 120 main.handle 80 "
ends "… strictly" 0 query cpu "${day[@]}" --strict
is "… have two" "$(grep -c 'json.scan' "$tmp/out")" 2
printf '%s\n' 'main;f.isra.0 50' 'main;g::h0123456789abcdef 30' 'main;h 20' >"$tmp/clone.old.folded"
printf '%s\n' 'main;f 50' 'main;g::hfedcba9876543210 30' 'main;h.cold 10' 'main;h 10' >"$tmp/clone.new.folded"
ends "clones and hashes" 0 diff "$tmp/clone.old.folded" "$tmp/clone.new.folded" --fail-on 1 --csv
is "… do not count as change" "$(awk -F, 'NR > 1 { print $3, $9 }' "$tmp/out" | sort -u)" "0 0"

# --- types
ends "several types" 0 diff $first $last --type alloc_space --norm abs --csv --top 0
has "… the others are named" "not shown: " "$errs"
if command -v go >/dev/null; then
	go tool pprof -top -unit=B -nodecount=1000 -nodefraction=0 -edgefraction=0 -sample_index=alloc_space -diff_base $first $last 2>/dev/null |
		awk 'f && ($1 + 0 || $4 + 0) { print $6, $1 + 0, $4 + 0 } /flat%/ { f = 1 }' | sort >"$tmp/go"
	awk -F, 'NR > 1 && ($3 != 0 || $9 != 0) { printf "%s %d %d\n", $14, $3, $9 }' "$tmp/out" | sort >"$tmp/ours"
	is "… all changes are those of go tool pprof -diff_base" "$(cat "$tmp/ours")" "$(cat "$tmp/go")"
else
	skip "… all changes are those of go tool pprof -diff_base" "no go"
fi
ends "values of unknown weight" 0 diff $first $last --type alloc_objects --csv
is "… have no interval" "$(awk -F, 'NR > 1 { print $4 $5 $6 }' "$tmp/out" | sort -u)" unknown
ends "… and no marks" 0 diff $first $last --type alloc_objects
has "… which is reported" "? unknown" "$out"
fails "a type that one lacks" 2 "no type 'cpu'" diff $first $last --type cpu
fails "bytes and samples" 2 "nothing to compare" diff "$old" $last
ends "samples of two kinds of file" 0 diff tests/golden/pprof/parca-fib.pb.gz "$new"

# --- filters are for both sides
ends "focus" 0 diff "$old" "$new" --csv --norm abs --focus hot
is "… on both" "$(column total_old main),$(column total_new main)" 100,400
ends "hide" 0 diff "$old" "$new" --csv --norm abs --hide '^(hot|fresh|gone)$'
is "… on both" "$(column self_old main),$(column self_new main)" 200,500

# --- --fail-on
ends "less than the limit" 0 diff "$old" "$new" --fail-on 30
ends "more" 10 diff "$old" "$new" --fail-on 20
has "… is reported" "error: hot grew by 27.78 points: --fail-on 20" "$errs"
ends "… of the whole older side" 10 diff "$old" "$new" --fail-on 45 --norm abs
has "… the function" "hot grew by 50.00 % of all before" "$errs"
has "… and the whole" "everything grew by 50.00 %" "$errs"
has "… and what calls it" "main grew by 50.00 % of all before including callees" "$errs"
awk 'BEGIN { s = "a"; for (i = 0; i < 50; i++) s = s ";f" i; print s, 1; print "b 1000" }' >"$tmp/deep.old.folded"
sed 's/ 1$/ 1000/' "$tmp/deep.old.folded" >"$tmp/deep.new.folded"
ends "many of them" 10 diff "$tmp/deep.old.folded" "$tmp/deep.new.folded" --fail-on 5
is "… are counted" "$(grep -c "error: " "$tmp/err"),$(grep -c "46 more grew" "$tmp/err")" 5,1
ends "not by chance" 0 diff "$old" "$tmp/alike.folded" --fail-on 0
ends "not if the significance is unknown" 0 diff $first $last --type alloc_objects --fail-on 0
ends "shrinking is none" 0 diff "$new" "$new" --fail-on 0

# --- a difference in a file
ends "report of a difference" 0 report $reported/pprof-diff-base.pb.gz --csv
is "… has both sides, of the older side" "$(grep f1 "$tmp/out")" "40.0000,40.0000,60,60,go,f1,,x.go,100,100"
ends "… in text" 0 report $reported/pprof-diff-base.pb.gz
has "… as go tool pprof has it" "66.67   40.00 ▼  -26.67       100        60 go   f1" "$out"
has "… reports negative values" "2 of 4 values are below zero, -150 samples" "$out"
hasnt "… which is something to show" "nothing to show" "$errs"
ends "… as JSON" 0 report $reported/pprof-diff-base.pb.gz --json
holds "… has the sums" jq -e '.negative == {"samples": 2, "sum": -150, "marked": true} and .percent_of == 150' "$tmp/out"
ends "a graph of it" 0 flame $reported/pprof-diff-base.pb.gz -o "$tmp/signed.svg"
has "… has the colours of a difference" "▼ 40.00 %" "$(cat "$tmp/signed.svg")"
ends "a page of it" 0 flame $reported/pprof-diff-base.pb.gz -o "$tmp/signed.html"
has "… is that of a difference" "change of self, points" "$(zcat -f "$tmp/signed.html" | tr -d '\0')"
for format in folded callgrind otlp pprof; do
	ends "convert to $format" 0 convert $reported/pprof-diff-base.pb.gz --to $format -o "$tmp/signed.$format"
	has "… reports negative values" "2 of 4 values of cpu are below zero, -150 samples" "$errs"
	hasnt "… which it has" "left out" "$errs"
done
is "… in folded stacks" "$(cat "$tmp/signed.folded")" "$(printf '%s\n' 'main;f1 -40' 'main;f2 40')"
ends "convert to a format without values below zero" 0 convert $reported/pprof-diff-base.pb.gz -o "$tmp/signed.speedscope.json"
has "… warns" "dropped, because speedscope has no values below zero" "$errs"
is "… and has the others" "$("$cresset" report "$tmp/signed.speedscope.json" --csv | awk -F, '{ print $3, $6 }' | grep f | sort | tr '\n' ' ')" \
	"600000000 f1 900000000 f2 self function "
ends "a difference of differences" 0 diff $reported/pprof-diff-base.pb.gz $reported/pprof-diff-base.pb.gz
has "… warns" "a difference already" "$errs"
ends "our own difference" 0 diff $first $last -o "$tmp/own.pb.gz"
ends "… is read back" 0 report "$tmp/own.pb.gz" --type inuse_space --csv --top 0
if command -v go >/dev/null; then
	go tool pprof -top -unit=B -nodecount=1000 -nodefraction=0 -edgefraction=0 -sample_index=inuse_space "$tmp/own.pb.gz" 2>/dev/null |
		awk 'f && $1 + 0 { printf "%s %.2f\n", $6, $2 } /flat%/ { f = 1 }' | sort >"$tmp/go"
	total=$("$cresset" report "$tmp/own.pb.gz" --type inuse_space --json 2>/dev/null | jq .percent_of)
	awk -F, -v t="$total" 'NR > 1 && $3 != $9 { d = 100 * ($3 - $9) / t; printf "%s %.2f\n", $6, d < 0 ? -d : d }' "$tmp/out" | sort >"$tmp/ours"
	is "… its shares equal those of go tool pprof, which has no signs there" "$(cat "$tmp/ours")" "$(cat "$tmp/go")"
else
	skip "… its shares equal those of go tool pprof, which has no signs there" "no go"
fi

# --- files
dir=$tmp/dir
mkdir "$dir"
ends "a graph" 0 diff "$old" "$new" -o "$dir/a.svg"
holds "… is XML" xmllint --noout "$dir/a.svg"
has "… with the summary" "2 functions grew" "$errs"
has "… with added functions" "· new<" "$(cat "$dir/a.svg")"
hasnt "… without removed functions" ">gone<" "$(cat "$dir/a.svg")"
ends "a graph with the widths of the older side" 0 diff "$old" "$new" -o "$dir/a.svg" --widths old
holds "… is XML" xmllint --noout "$dir/a.svg"
has "… has removed functions" ">gone<" "$(cat "$dir/a.svg")"
hasnt "… without added functions" ">fresh<" "$(cat "$dir/a.svg")"
ends "a graph of values" 0 diff "$old" "$new" -o "$dir/a.svg" --norm abs
has "… reports the amount" "▲ 300.00 %" "$(cat "$dir/a.svg")"
ends "folded stacks" 0 diff "$old" "$new" -o "$dir/a.folded"
is "… with both values" "$(cat "$dir/a.folded")" "$(printf '%s\n' 'main;fresh 0 100' 'main;gone 100 0' 'main;hot 100 400' 'main;steady 400 400')"
ends "pprof" 0 diff $first $last -o "$dir/a.pb.gz"
if command -v go >/dev/null; then
	top() { go tool pprof -top -unit=kB -nodecount=10 -nodefraction=0 -sample_index=alloc_space "$@" 2>/dev/null | awk 'f; /flat%/ { f = 1 }'; }
	is "… is that of go tool pprof -diff_base" "$(top "$dir/a.pb.gz")" "$(top -diff_base $first $last)"
else
	skip "… is that of go tool pprof -diff_base" "no go"
fi
fails "pprof has no filters" 2 "filters" diff $first $last -o "$dir/a.pb.gz" --focus x
for kind in json csv txt; do
	ends "$kind" 0 diff "$old" "$new" -o "$dir/a.$kind"
	is "… by its name" "$(head -c 4 "$dir/a.$kind")" "$(case $kind in json) echo '{"fo' ;; csv) echo self ;; txt) echo 'old ' ;; esac)"
done
fails "another ending" 2 "does not end in" diff "$old" "$new" -o "$dir/a.xhtml"
fails "a directory that is not there" 7 "$tmp/no" diff "$old" "$new" -o "$tmp/no/a.svg"
only_files "no .tmp is left" "$dir" a.csv a.folded a.json a.pb.gz a.svg a.txt

# --- input
"$cresset" diff - "$new" --csv <"$old" >"$tmp/out"
is "standard input" "$?,$(column self_change hot)" "0,27.77777778"
fails "… twice" 2 "only once" diff - -
fails "one file" 2 "missing" diff "$old"
fails "three files" 2 "unexpected argument" diff "$old" "$new" "$new"
fails "bad input" 6 "No such file" diff "$old" "$tmp/nothing"

# --- --diff of others
ends "report --diff" 0 report "$new" --diff "$old" --csv
is "… has both sides" "$(awk -F, '$6 == "hot" { print $3, $9 }' "$tmp/out")" "400 100"
ends "report --diff --tree" 0 report "$new" --diff "$old" --tree --json
holds "… has both sides" jq -e '.tree[] | select(.function == "gone") | .total == 0 and .old_total == 100' "$tmp/out"
ends "report --diff --callers" 0 report "$new" --diff "$old" --callers hot
fails "report, standard input twice" 2 "only once" report - --diff -
ends "flame --diff" 0 flame "$new" --diff "$old" -o "$dir/f.svg"
has "… is coloured by change" "more ▲" "$(cat "$dir/f.svg")"
ends "flame --diff as wide as before" 0 flame "$new" --diff "$old" -o "$dir/f.svg" --widths old --inverted --icicle
has "… has removed functions" ">gone<" "$(cat "$dir/f.svg")"
fails "flame, an older side that is not there" 6 "No such file" flame "$new" --diff "$tmp/nothing" -o "$dir/f.svg"
finish
