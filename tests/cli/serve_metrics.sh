#!/usr/bin/env bash
# tier: test
# /metrics of cresset serve: OpenMetrics to the letter, and each figure is what was sent.
# shellcheck disable=SC2119,SC2016,SC1003 # stop takes a signal, or none; expressions of sed
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in curl jq zstd; do
	command -v $program >/dev/null || { skip "metrics" "no $program"; finish; exit; }
done

# --- the checker itself: sound text passes, and each of these does not
check() { awk -f tests/cli/openmetrics.awk; }
sound='# TYPE a_bytes counter
# UNIT a_bytes bytes
# HELP a_bytes With \\ and \n.
a_bytes_total{x="1",y="\"\\\n"} 1
a_bytes_total{x="2"} 1.5e3
# TYPE h histogram
h_bucket{le="0.5"} 1
h_bucket{le="+Inf"} 2
h_count 2
h_sum 1
# TYPE g gauge
g -1
# EOF'
is "sound text" "$(check <<<"$sound")" ""
breaks() { # NAME SED-EXPRESSION
	if sed "$2" <<<"$sound" | check >"$tmp/faults"; then not_ok "refused: $1" "passes"; else ok "refused: $1"; fi
}
breaks "no end" '$d'
breaks "more after the end" '$a g 2'
breaks "a counter without _total" 's/^a_bytes_total{x="2"}/a_bytes{x="2"}/'
breaks "the same series twice" 's/x="2"/x="1",y="\\"\\\\\\n"/'
breaks "a label twice" 's/x="1",y=/x="1",x=/'
breaks "an escape that is none" 's/x="2"/x="\\q"/'
breaks "a quote that is not escaped" 's/x="2"/x="2"2"/'
breaks "a family twice" 's/TYPE g gauge/TYPE h gauge/'
breaks "another unit" 's/UNIT a_bytes bytes/UNIT a_bytes seconds/'
breaks "an unknown type" 's/ gauge/ guage/'
breaks "a sample of another family" 's/^g -1/b -1/'
breaks "a help after samples" '/^g -1/a # HELP g x'
breaks "a negative counter" 's/1.5e3/-1/'
breaks "no number" 's/^g -1/g one/'
breaks "a blank line" '5a\\'
breaks "buckets that shrink" 's/le="0.5"} 1/le="0.5"} 3/'
breaks "another count" 's/h_count 2/h_count 3/'
breaks "no last bucket" '/Inf/d'

# --- what was sent
agent=0f8fad5b-d9cb-469f-a165-70867728950e
folded() { printf 'main;work %d\n' "$1"; }
push() { # SEQ FILE [CURL-ARG…]
	local seq=$1 file=$2
	shift 2
	post api/v1/profiles -H "X-Cresset-Agent: $agent" -H "X-Cresset-Seq: $seq" --data-binary "@$file" "$@" >/dev/null
}
value() { sed -n "s/^$1 //p" "$tmp/metrics"; }
ingest() { value "cresset_ingest_$1{tenant=\"\"${2-}}"; }
scrape() {
	get metrics >"$tmp/metrics"
	is "OpenMetrics: $1" "$(check <"$tmp/metrics")" ""
}
serve --data "$tmp/data"
scrape "before anything came"
is "nothing came" "$(ingest batches_total) $(ingest bytes_total) $(value 'cresset_query_duration_seconds_count')" "0 0 0"
folded 3 >"$tmp/a"
folded 40 >"$tmp/b"
push 1 "$tmp/a"
push 2 "$tmp/b"
push 2 "$tmp/b"
push 6 "$tmp/a"
zstd -q -1 "$tmp/a" -o "$tmp/a.zst"
push 7 "$tmp/a.zst" -H 'Content-Encoding: zstd' -H 'X-Cresset-Base: 1'
printf '\001\002\003' >"$tmp/noise"
push 8 "$tmp/noise"
push 8 "$tmp/noise"
is "no base batch is stored" "$(ls -A "$tmp/data/keys")" ""
push 3 "$tmp/a.zst" -H 'Content-Encoding: zstd'
for _ in 1 2 3; do get api/v1/types >/dev/null; done
scrape "after some came"
bytes=$(($(wc -c <"$tmp/a") * 2 + $(wc -c <"$tmp/b") * 2 + $(wc -c <"$tmp/a.zst") * 2 + 6))
is "batches, duplicates, samples" "$(ingest batches_total) $(ingest duplicates_total) $(ingest samples_total)" "4 1 4"
is "bytes, refused ones too" "$(ingest bytes_total)" "$bytes"
is "numbers that are missing" "$(ingest missing_batches) $(ingest senders)" "2 1"
is "refused, by status" "$(ingest refused_total ',code="412"') $(ingest refused_total ',code="400"')" "1 2"
is "the store has them" "$(value 'cresset_store_batches_total{tenant=""}')" 4
is "… with unchanged rows" "$(value 'cresset_store_hot_rows_total{tenant=""}')" "$(value 'cresset_store_rows_total{tenant=""}')"
holds "… and there are some" [ "$(value 'cresset_store_hot_rows_total{tenant=""}')" -gt 0 ]
is "a base batch for later ones" "$(ingest key_bytes) $(ls "$tmp/data/keys")" "$(wc -c <"$tmp/a.zst") ${agent//-/}"
holds "… on the disk and in memory" [ "$(value 'cresset_store_disk_bytes{tenant=""}')" -gt 1000 ]
holds "… and in memory" [ "$(value 'cresset_store_memory_bytes{tenant=""}')" -gt 0 ]
is "nothing is damaged" "$(value 'cresset_store_bad_rows_total{tenant=""}') $(value 'cresset_store_bad_blocks_total{tenant=""}')" "0 0"
is "queries" "$(value cresset_query_duration_seconds_count)" 3
holds "… and how long they took" [ "$(value cresset_query_duration_seconds_sum)" != 0 ]
has "the build" "cresset_build_info{version=\"$("$cresset" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+[^ ]*' | head -1)" "$(cat "$tmp/metrics")"
is "no body is left" "$(value cresset_http_bodies_bytes)" 0
is "bodies may have a quarter of half of 256M" "$(value cresset_http_bodies_limit_bytes)" $((32 << 20))
curl -sS -N -m 20 "${url}api/v1/live?q=samples" -o "$tmp/live" &
live=$!
pids+=("$live")
until [ -s "$tmp/live" ]; do sleep 0.05; done
scrape "with a stream"
is "a live stream" "$(value cresset_http_live_streams)" 1
kill $live
stop

# --- tenants: each its own, and nobody those of others
token() { "$cresset" token create --tokens "$tmp/tokens" --scope admin "$@" | grep -o 'cresset_[^ ]*' | head -1; }
none=$(token --name none) blue=$(token --name blue --tenant blue)
serve --data "$tmp/data" --tokens "$tmp/tokens"
post api/v1/profiles -H "Authorization: Bearer $blue" --data-binary "@$tmp/b" >/dev/null
is "a tenant sends" "$(cat "$tmp/code")" 200
post api/v1/profiles -H "Authorization: Bearer $blue" --data-binary "@$tmp/noise" >/dev/null
as() { curl -sS -m 20 -H "Authorization: Bearer $1" "${url}metrics" >"$tmp/metrics"; }
as "$none"
is "OpenMetrics: without tenants" "$(check <"$tmp/metrics")" ""
is "… which has its own figures" "$(ingest batches_total)" 0
is "… and no word of the other" "$(grep -c blue "$tmp/metrics")" 0
as "$blue"
is "OpenMetrics: with tenants" "$(check <"$tmp/metrics")" ""
is "… each sees only its own data" "$(grep -c 'tenant=""' "$tmp/metrics") $(value 'cresset_ingest_batches_total{tenant="blue"}')" "0 1"
is "… and refusals" "$(value 'cresset_ingest_refused_total{tenant="blue",code="400"}')" 1
stop
finish
