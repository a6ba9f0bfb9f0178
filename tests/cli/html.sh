#!/usr/bin/env bash
# tier: test
# report.html: what the file is made of, how large it is, and that names in it are text. What it shows is tests/web/report.test.js.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
. tests/cli/lib_page.sh
folded=tests/golden/folded pprof=tests/golden/pprof
dir=$tmp/dir
mkdir "$dir"

# Whether the hashes in the policy are those of what stands in the file.
hashes_fit() {
	local what script style
	script=$(tr -d '\0' <"$1" | sed -n '/^<script>/,/<\/script>/p' | sed '1s/^<script>//; s,</script>.*,,' | python3 -c 'import sys; sys.stdout.write(sys.stdin.read()[:-1])' | openssl dgst -sha256 -binary | base64)
	style=$(sed -n '/^<style>/,/<\/style>/p' "$1" | sed '1s/^<style>//; s,</style>.*,,' | python3 -c 'import sys; sys.stdout.write(sys.stdin.read()[:-1])' | openssl dgst -sha256 -binary | base64)
	for what in "$script" "$style"; do grep -qF "'sha256-$what'" "$1" || return 1; done
}

ends "a page" 0 flame $folded/simple.txt -o "$dir/a.html"
is "… nothing on standard output" "$out" ""
only_files "… and no .tmp is left" "$dir" a.html
is "… that is whole" "$(tail -1 "$dir/a.html")" "</html>"
holds "… and a policy with the hashes of its script and style" hashes_fit "$dir/a.html"
has "… and lets nothing else in" "default-src 'none'; script-src blob: 'sha256-" "$(cat "$dir/a.html")"
hasnt "… refers to nothing outside" "http://" "$(grep -v 'id="\(modules\|data\)"' "$dir/a.html" | sed 's,http://www.w3.org,,g')"
is "… the same again" "$("$cresset" flame $folded/simple.txt -o "$dir/b.html"; cmp "$dir/a.html" "$dir/b.html" && echo same)" same
ends "convert writes one" 0 convert $folded/simple.txt -o "$dir/b.html"
is "… of the same total" "$(field "$dir/b.html" 'h["types"][0]["total"]')" "$("$cresset" report $folded/simple.txt --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["total"])')"
ends "query as well" 0 query --data $folded/simple.txt '{}' -o "$dir/b.html"
ends "standard output" 0 convert $folded/simple.txt -o - --to html
has "… has it" "</html>" "$out"
ends "all types" 0 flame $pprof/parca-alloc_objects.pb.gz -o "$dir/b.html"
hasnt "… none is left out" "not shown" "$errs"
is "… and are there" "$(field "$dir/b.html" 'len(h["types"])')" "$("$cresset" report $pprof/parca-alloc_objects.pb.gz --json --type nothing 2>&1 | grep -o 'types here:.*' | tr ',' '\n' | wc -l)"
ends "one type" 0 flame $pprof/parca-alloc_objects.pb.gz --type inuse_space -o "$dir/b.html"
is "… alone" "$(field "$dir/b.html" '[t["sample_type"] for t in h["types"]]')" "['inuse_space']"
fails "a chart" 2 "timeline" flame $folded/simple.txt --flamechart -o "$dir/b.html"
fails "another ending" 2 ".svg or .html" flame $folded/simple.txt -o "$dir/b.xhtml"
fails "no such directory" 7 "cannot create" flame $folded/simple.txt -o "$tmp/no/x.html"
cp "$dir/a.html" "$tmp/kept.html"
fails "bad input" 6 "No such file" flame "$tmp/nothing" -o "$dir/a.html"
holds "… leaves the old page alone" cmp "$dir/a.html" "$tmp/kept.html"

# --- times
"$BUILD/fixture/waits" "$tmp/waits.cresset"
ends "a recording" 0 flame "$tmp/waits.cresset" -o "$dir/w.html"
is "… has its threads" "$(field "$dir/w.html" 'sorted(t["name"] for t in h["threads"] if t["name"])')" "['db', 'web', 'worker']"
is "… its samples in time" "$(field "$dir/w.html" 'h["types"][0]["timeline"]["rows"], h["types"][0]["timeline"]["window_ns"]')" "1496 0"
is "… and the known metadata" "$(field "$dir/w.html" 'h["meta"]["start"], h["meta"]["duration_ns"], h["meta"]["lost_samples"]')" "2023-11-14T22:13:20Z 10000000000 0"
# --- differences
ends "a difference" 0 flame $folded/simple.txt --diff $folded/recursion.txt -o "$dir/d.html"
has "… in the table as well" "change of self" "$(cat "$dir/d.html")"
ends "diff writes one" 0 diff $folded/recursion.txt $folded/simple.txt -o "$dir/e.html"
is "… of both totals" "$(field "$dir/e.html" 'h["types"][0]["total"] != h["types"][0]["older_total"]')" True

# --- without scripts, and names that are not meant well
printf '%s\n' 'main;<img src=x onerror=alert(1)> 3' 'main;</noscript></script><script>alert(2)</script> 2' $'main;a\xe2\x80\xaeb\xe2\x80\xa8c 1' $'main;\x1b[31m\xff 1' >"$tmp/bad.folded"
ends "hostile names" 0 flame "$tmp/bad.folded" -o "$dir/h.html" --title '</title><script>alert(3)</script>'
text=$(sed 's,\(id="[a-z]*">\)[^<]*<,\1<,' "$dir/h.html")
is "… make no element" "$(grep -c '<img\|<script>alert\|</noscript></script>' <<<"$text")" 0
is "… scripts are as many as there are" "$(grep -o '<script' <<<"$text" | wc -l)" 3
has "… and are there as text" "&lt;img src=x onerror=alert(1)&gt;" "$text"
hasnt "… nothing turns text around" $'\xe2\x80\xae' "$text"
hasnt "… nothing controls a terminal" $'\x1b' "$text"
is "the table has 50 rows" "$(awk 'BEGIN { for (i = 0; i < 99; i++) print "main;f" i " " i + 1 }' | "$cresset" flame - -o "$dir/t.html"; sed -n '/<tbody>/,/<\/tbody>/p' "$dir/t.html" | grep -c '^<tr>')" 50

# --- sizes
code=$(($(wc -c <"$dir/a.html") - $(sed -n 's,.*id="data">\([^<]*\)<.*,\1,p' "$dir/a.html" | wc -c)))
holds "without its data a page is at most 160 kB: $code bytes" test "$code" -le 160000
# 200,000 nodes of 8,000 names, of heavy-tailed values
awk 'BEGIN { srand(7); for (i = 0; i < 60000; i++) { d = 3 + int(9 * rand() * rand() + 4 * rand()); s = "main"; k = 1; for (j = 0; j < d; j++) { k = (k * 31 + int(6 * rand() * rand() * rand() * 8)) % 8000; s = s ";function_" k }; print s " " int(1 / (rand() + 0.0001)) + 1 } }' >"$tmp/large.folded"
sed 's/main;/main;extra;/; n; n' "$tmp/large.folded" >"$tmp/larger.folded"
"$cresset" flame "$tmp/large.folded" -o "$dir/l.html" 2>/dev/null
nodes() { part "$1" data | grep -ao '"nodes":[0-9]*' | head -1 | tr -dc 0-9; }
bytes() { sed -n 's,.*id="data">\([^<]*\)<.*,\1,p' "$1" | tr -d '\n' | wc -c; }
holds "a tree takes at most 5 bytes a node, names and base64 included: $(bytes "$dir/l.html") for $(nodes "$dir/l.html")" test "$(bytes "$dir/l.html")" -le $(($(nodes "$dir/l.html") * 5))
"$cresset" flame "$tmp/large.folded" --diff "$tmp/larger.folded" -o "$dir/l.html" 2>/dev/null
holds "a difference at most 6: $(bytes "$dir/l.html") for $(nodes "$dir/l.html")" test "$(bytes "$dir/l.html")" -le $(($(nodes "$dir/l.html") * 6))

# --- of a store: a timeline where times are exact, with what ran on GPUs and what their driver said: tests/fixture/gpu_store.c
"$BUILD/fixture/gpu_store" "$tmp/store"
range=(--from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:40Z)
rows='[[t["name"], t["total"], (t.get("timeline") or {}).get("rows")] for t in h["types"]]'
ends "from a store" 0 query --data "$tmp/store" "${range[@]}" 'wall{host="exact"}' -o "$dir/s.html"
is "… has each sample at its time, and what ran on GPUs" "$(field "$dir/s.html" "$rows")" "[['wall', 100000000000, 1000], ['gpu-time', 60000000000, 100]]"
is "… its threads" "$(field "$dir/s.html" '{(t["pid"], t["name"]) for t in h["threads"] if t["tid"]}')" "{(700, 'serve')}"
is "… the readings of that host's GPUs" "$(field "$dir/s.html" '[[m["metric"], [[g["labels"]["gpu"], max(g["values"])] for g in m["groups"]]] for m in h["gpu"]["metrics"]]')" "[['hw_gpu_utilization', [['0', 0.6]]]]"
is "… on its clock" "$(field "$dir/s.html" 'h["gpu"]["start_ns"]')" 1795255200000000000
ends "a part of it" 0 query --data "$tmp/store" --from 2026-11-21T10:00:10Z --to 2026-11-21T10:00:20Z 'wall{host="exact"}' --focus work -o "$dir/p.html"
is "… is that part" "$(field "$dir/p.html" "$rows")" "[['wall', 6000000000, 60], ['gpu-time', 6000000000, 10]]"
ends "with other outputs" 0 query --data "$tmp/store" "${range[@]}" 'wall{host="exact"}' -o "$dir/s.html" -o "$dir/s.folded"
is "… it has sums, as they have" "$(field "$dir/s.html" "$rows")" "[['wall', 100000000000, None]]"
ends "with a trace" 0 query --data "$tmp/store" "${range[@]}" 'wall{host="exact"}' -o "$dir/s.html" -o "$dir/s.trace.json"
is "… both have times" "$(field "$dir/s.html" "$rows") $(jq .otherData.gpu_slices "$dir/s.trace.json")" "[['wall', 100000000000, 1000], ['gpu-time', 60000000000, 100]] 100"
"$BUILD/fixture/gpu" "$tmp/gpu.cresset" 0 1763719200 more
"$cresset" -q convert "$tmp/gpu.cresset" --data "$tmp/old"
ends "where exact times are gone" 0 query --data "$tmp/old" --from start --to end wall -o "$dir/o.html"
has "… it is reported" "exact times exist for the last hours only: the page has no timeline" "$errs"
is "… and it has the sums" "$(field "$dir/o.html" "$rows")" "[['wall', 30000000000, None]]"
ends "… nor ids of processes" 0 query --data "$tmp/old" --from start --to end 'wall{pid="700"}' -o "$dir/o.html"
has "… which is reported" "only sums of 10 s: without pid, tid" "$errs"
"$BUILD/fixture/gpu_trace" "$tmp/many.cresset" 1200000 >/dev/null
"$cresset" -q convert "$tmp/many.cresset" --data "$tmp/many" --at now-5m
total=$("$cresset" query --data "$tmp/many" gpu-time --from start --to end --json | jq .total)
above() { # LIMIT OPTION…: its query has more rows
	ends "above the $1" 0 query --data "$tmp/many" gpu-time --from start --to end -o "$dir/m.html" "${@:2}"
	has "… it is reported" "$1: the page has no timeline" "$errs"
	is "… and it has the sums" "$(field "$dir/m.html" "$rows")" "[['gpu-time', $total, None]]"
}
above "limit of 2,097,152 rows"
has "… and the reason" "the result is larger than the limit of 2,097,152 rows: the page has no timeline; select a shorter range, or fewer series" "$(notes "$dir/m.html")"
above "more memory than 52.4 MB" --max-memory 50M
is "… and the reason, also for the missing idle times" "$(notes "$dir/m.html")" "$(printf 'the result needs more memory than 52.4 MB: the page %s; select a shorter range, or fewer series\n' "has no timeline" "does not show why GPUs were idle")"
ends "from a recording" 0 query --data "$tmp/gpu.cresset" wall -o "$dir/r.html"
is "… the same" "$(field "$dir/r.html" "$rows") $(field "$dir/r.html" 'len(h["gpu"]["metrics"])')" "[['wall', 30000000000, 1900], ['gpu-time', 10000000000, 202], ['gpu-queue', 6890000000, 199]] 3"

# --- from a server
serve "$tmp/waits.cresset"
get api/v1/flame q=wall fmt=html >"$tmp/s.html"
is "fmt=html" "$(cat "$tmp/code")" 200
is "… is the same page" "$(field "$tmp/s.html" 'h["types"][0]["total"]')" "$(field "$dir/w.html" 'h["types"][0]["total"]')"
has "… under its policy, in a sandbox" "sandbox allow-scripts allow-downloads" "$(curl -sS -o /dev/null -D - "${url}api/v1/flame?q=wall&fmt=html")"
get api/v1/diff a=wall afrom=2023-11-14T22:13:20Z ato=2023-11-14T22:13:24Z bfrom=2023-11-14T22:13:24Z bto=2023-11-14T22:13:28Z fmt=html >"$tmp/s.html"
is "… and of a difference" "$(cat "$tmp/code") $(field "$tmp/s.html" 'h["types"][0]["older_total"] > 0')" "200 True"
for file in "$tmp/waits.cresset" $folded/simple.txt $pprof/parca-fgprof.pb.gz tests/golden/speedscope/simple.speedscope.json tests/golden/chrome/simple.json tests/golden/perf-data/dwarf.data.gz; do
	post api/v1/open --data-binary "@$file" >/dev/null
	is "open ${file##*/}" "$(cat "$tmp/code") $(gunzip <"$tmp/body" | head -c 4)" "200 CRC1"
done
gzip -c "$tmp/waits.cresset" >"$tmp/waits.gz"
post api/v1/open --data-binary "@$tmp/waits.gz" >/dev/null
is "… compressed as well" "$(cat "$tmp/code")" 200
is "… nothing is stored: the types are unchanged" "$(get api/v1/types | grep -o '"type":"[^"]*"' | sort -u)" '"type":"wall"'
post api/v1/open --data-binary nothing >/dev/null
is "not a profile" "$(cat "$tmp/code")" 415
post api/v1/open -X POST >/dev/null
is "nothing at all" "$(cat "$tmp/code")" 400
head -c 3000 "$tmp/waits.cresset" >"$tmp/cut.cresset"
post api/v1/open --data-binary "@$tmp/cut.cresset" >/dev/null
is "a recording that is cut off" "$(cat "$tmp/code")" 400
head -c 70000000 /dev/zero >"$tmp/zeros"
post api/v1/open --data-binary "@$tmp/zeros" >/dev/null
is "more than bodies may be" "$(cat "$tmp/code")" 413
gzip -c "$tmp/zeros" >"$tmp/bomb.gz"
post api/v1/open --data-binary "@$tmp/bomb.gz" >/dev/null
holds "… compressed: too large, or more than the memory limit" grep -qx '413\|503' "$tmp/code"
gzip -c "$tmp/bomb.gz" >"$tmp/bombs.gz"
post api/v1/open --data-binary "@$tmp/bombs.gz" >/dev/null
is "… compressed twice: not a profile" "$(cat "$tmp/code" | cut -c1)" 4
is "… and the server is well" "$(get healthz >/dev/null; cat "$tmp/code")" 200
post api/v1/open -H 'Content-Encoding: br' --data-binary x >/dev/null
is "an unknown encoding" "$(cat "$tmp/code")" 415
stop
serve "$tmp/store"
get api/v1/flame q='wall{host="exact"}' from=2026-11-21T10:00:10Z to=2026-11-21T10:00:20Z focus=work fmt=html >"$tmp/s.html"
is "fmt=html of a store has what a file of the command line has" "$(header "$tmp/s.html")" "$(header "$dir/p.html")"
stop
serve "$tmp/old"
get api/v1/flame q=wall from=start to=end fmt=html >"$tmp/s.html"
is "… after exact times were deleted as well" "$(field "$tmp/s.html" "$rows")" "[['wall', 30000000000, None]]"
stop
is "the server ends well" "$status" 0

# --- a file may take no more of the server than a question
awk 'BEGIN { srand(3); for (i = 0; i < 300000; i++) printf "main;%x;%x;%x %d\n", rand() * 4e9, rand() * 4e9, rand() * 4e9, i + 1 }' >"$tmp/many.folded"
serve "$tmp/waits.cresset" --memory 64M
post api/v1/open --data-binary "@$tmp/many.folded" >"$tmp/said"
is "a file that needs more memory than a query may" "$(cat "$tmp/code")" 413
has "… is reported, with a remedy" "cresset flame FILE -o report.html" "$(cat "$tmp/said")"
stop
serve "$tmp/waits.cresset" --query-timeout 1ms
post api/v1/open --data-binary "@$tmp/many.folded" >"$tmp/said"
is "one that takes longer" "$(cat "$tmp/code")" 413
has "… is reported" "took longer than 1.00 ms" "$(cat "$tmp/said")"
stop
# The last --max-rate counts: after what a sender may ask for at once it is told to wait.
serve "$tmp/waits.cresset" --max-rate 1
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
	curl -sS -m 20 -o /dev/null -D "$tmp/head" -w '%{http_code}\n' --data-binary @$folded/simple.txt "${url}api/v1/open"
done >"$tmp/codes"
has "too many requests: 429" 429 "$(cat "$tmp/codes")"
has "… after some responses" 200 "$(head -1 "$tmp/codes")"
has "… with when to come again" "Retry-After" "$(cat "$tmp/head")"
stop
finish
