#!/usr/bin/env bash
# tier: test
# cresset sql: what it answers, in which formats, what it refuses; and every question of docs/sql.md.
. tests/cli/lib.sh

a=$tmp/a.folded
printf '%s\n' 'main;parse;read 30' 'main;parse;malloc 20' 'main;sort 50' >"$a"
rec=$tmp/a.cresset
"$cresset" convert "$a" -o "$rec"
sql() { ends "$1" 0 sql --data "$rec" "${@:2}"; }

# --- known answers
sql "totals" "SELECT function, sum(value) AS total FROM samples JOIN frames USING (stack) GROUP BY 1 ORDER BY 2 DESC, 1"
is "… as a table" "$out" "$(printf '%s\n' 'function  total' 'main        100' 'parse        50' 'sort         50' 'read         30' 'malloc       20')"
sql "CSV" "SELECT stack_text(stack), value, NULL, x'0aff', 0.1, '=a,\"b\"' FROM samples ORDER BY 2" --format csv
is "… has all rows" "$(sed 1d "$tmp/out")" "$(printf '%s\n' '"main;parse;malloc",20,,0aff,0.1,"'\''=a,""b"""' '"main;parse;read",30,,0aff,0.1,"'\''=a,""b"""' '"main;sort",50,,0aff,0.1,"'\''=a,""b"""')"
sql "JSON" "SELECT 'a' || char(10) || 'b' AS t, 9007199254740993 AS i, 0.5 AS r, NULL AS n, x'00' AS b, 9e999 AS inf" --json
is "… is JSON" "$(jq -c '[.format, .version, .columns, .rows[0][0], .rows[0][2:]]' "$tmp/out")" \
	'["cresset.sql",1,["t","i","r","n","b","inf"],"a\nb",[0.5,null,"00",null]]'
has "… with whole numbers" 9007199254740993 "$out"
sql "no rows" "SELECT value FROM samples WHERE type = 'nothing'" --format json
is "… in JSON" "$(jq -c .rows "$tmp/out")" "[]"
sql "… as a table" "SELECT value FROM samples WHERE 0"
is "… its head" "$out" value
sql "control characters" "SELECT char(27) || '[31m' || char(0) || char(10) || 'x' AS a, 1 AS b"
holds "… do not reach a terminal" test -z "$(tail -1 "$tmp/out" | LC_ALL=C grep -P '[\x00-\x1f]')"
has "… and stay on one line" "[31m" "$(tail -1 "$tmp/out")"
for format in csv json; do
	sql "a file by its ending" "SELECT 1 AS one" -o "$tmp/x.$format"
	is "… prints nothing" "$out" ""
done
is "… CSV" "$(cat "$tmp/x.csv")" "$(printf 'one\n1')"
is "… JSON" "$(jq -c .rows "$tmp/x.json")" "[[1]]"
ends "a pprof file" 0 sql --data tests/golden/pprof/parca-fib.pb.gz "SELECT sum(value) FROM samples WHERE sample_type = 'samples'" --format csv
is "… has report's total" "$(sed -n 2p "$tmp/out")" "$("$cresset" report --json tests/golden/pprof/parca-fib.pb.gz --type samples | jq .total)"

# --- refused, and failed
fails "no data" 2 "--data PATH is missing" sql "SELECT 1"
fails "no statement" 2 "'SELECT ...' is missing" sql --data "$rec"
fails "an empty one" 2 "empty statement" sql --data "$rec" " -- nothing"
fails "a column that is not there" 2 "column 8: no such column: val" sql --data "$rec" "SELECT val FROM samples"
has "… with a mark under it" $'\n         ^' "$errs"
for text in "DELETE FROM samples" "ATTACH '$tmp/new.db' AS x" "PRAGMA page_size" "VACUUM INTO '$tmp/new.db'" "CREATE TEMP TABLE t(a)"; do
	fails "$text" 2 "only SELECT" sql --data "$rec" "$text"
done
fails "a function that reads files" 2 "no such function" sql --data "$rec" "SELECT readfile('/etc/passwd')"
fails "an extension" 2 "'load_extension' is not available" sql --data "$rec" "SELECT load_extension('x')"
fails "two statements" 2 "one statement at a time" sql --data "$rec" "SELECT 1; SELECT 2"
fails "time" 1 "took longer than" sql --data "$rec" --timeout 200ms "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
fails "rows" 1 "limit of 2 rows" sql --data "$rec" --max-rows 2 "SELECT 1 FROM samples"
fails "memory" 1 "more memory" sql --data "$rec" --memory 8M "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT count(*) FROM n"
fails "two formats" 2 "choose one of --json and --format" sql --data "$rec" --json --format csv "SELECT 1"
fails "no such file" 6 "" sql --data "$tmp/none" "SELECT 1"
printf 'old' >"$tmp/kept.csv"
fails "a failed statement" 2 "no such" sql --data "$rec" -o "$tmp/kept.csv" "SELECT x"
is "… leaves the file unchanged" "$(cat "$tmp/kept.csv")" old
fails "a directory that is not there" 7 "" sql --data "$rec" -o "$tmp/no/x.csv" "SELECT 1"
if full=$(full_device); then
	"$cresset" sql --data "$rec" "SELECT 1" >"$full" 2>"$tmp/err"
	is "to a full disk" $? 7
else
	skip "to a full disk" "no /dev/full, and not root"
fi
holds "no file was made" [ ! -e "$tmp/new.db" ]

# --- docs/sql.md: every question of it, and its columns
awk -v dir="$tmp" '/^```sql/ { n++; on = 1; next } /^```/ { on = 0 } on { print >(dir "/question" n) }' docs/sql.md
set -- "$tmp"/question*
is "docs/sql.md has ten queries" $# 10
for question; do
	sql "$(head -1 "$question")" "$(cat "$question")" --format csv
	ends "… of perf script" 0 sql --data tests/golden/perf-script/perf-cycles-instructions-01.txt "$(cat "$question")"
done
for table in samples stacks frames functions series labels metrics; do
	sql "columns of $table" "SELECT * FROM $table LIMIT 1" --json
	is "… equal those of docs/sql.md" "$(jq -r '.columns | join(" ")' "$tmp/out")" \
		"$(awk -F'|' -v t="$table" '$2 ~ "`" t "`" { sub(/;.*/, "", $3); gsub(/[`,]/, "", $3); $1 = $1; print $3; exit }' docs/sql.md | xargs)"
	has "… and of the help" "$(jq -r '.columns | join(" ")' "$tmp/out")" "$("$cresset" help --man sql | tr -s '\n' ' ' | sed 's/\\//g')"
done
finish
