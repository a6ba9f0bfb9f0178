#!/usr/bin/env bash
# tier: live
# run: first
# cresset agent: running programs are soon in a server's store, with names, over TLS with a token. Server and agent may be killed at any moment, and
# the server may be unreachable: each sample is there once, and no number is missing. Another OTLP server gets data that it can read.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/cli/lib_serve.sh
needs_recording
for program in openssl curl jq; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done

me=$$ # others on this machine may burn, too
chmod 755 "$tmp" # the sending process is not root
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }
hold_port
server_url=https://127.0.0.1:$port
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
write=$("$cresset" token create --tokens "$tmp/tokens" --scope write)
read=$("$cresset" token create --tokens "$tmp/tokens")
(umask 077; echo "$write" >"$tmp/token")

begin_server() {
	serve --data "$tmp/data" --tokens "$tmp/tokens" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem" --listen "127.0.0.1:$port"
}
agent() { begin_always agent --spool "$tmp/spool" "$@"; } # ARG…
to_server() { agent --server "$server_url" --token-file "$tmp/token" --ca-file "$tmp/cert.pem" --label env=test; }
ask() { curl -sS -m 20 --cacert "$tmp/cert.pem" -H "Authorization: Bearer $read" "$server_url/$1" "${@:2}"; }
sql() { ask 'api/v1/sql?fmt=csv' --data "$1" | tail -n +2 | tr -d '\r'; }
burnt() { sql "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }

# --- to a cresset
begin_server
to_server
holds "the sending process has a separate user" store_user "$(stat -c %u "/proc/$(half cresset-send)")"
is "… and has no capability" "$(sed -n 's/^CapEff:\t//p' "/proc/$(half cresset-send)/status")" 0000000000000000
is "… which has the token all the same" "$(stat -c %U:%a "$tmp/token")" root:600
is "the spool is its own" "$(stat -c %u:%a "$tmp/spool")" "$(stat -c %u "/proc/$(half cresset-send)"):700"

"$progs/burn" "$me-burner" 3 >/dev/null
until_stored "$me-burner"
near "a program is in the store, sample by sample" "$(burnt "$me-burner")" 297 60
ask 'api/v1/flame?fmt=folded&q=cpu%7Bcomm%3D%22'"$me"'-burner%22%7D' >"$tmp/folded"
holds "… with its functions' names" grep -q 'burn_outer;burn_loop' "$tmp/folded"
is "every series has host, kernel, architecture and --label, including host metrics" \
	"$(sql "SELECT count(*) FROM series WHERE (SELECT count(*) FROM labels WHERE series = id AND ((key = 'host' AND value = '$(uname -n)') OR \
		(key = 'kernel' AND value = '$(uname -r)') OR (key = 'arch' AND value = '$(uname -m)') OR (key = 'env' AND value = 'test'))) <> 4")" 0
is "… and there are some of each" "$(sql "SELECT sum(type = 'cpu') > 0, sum(type LIKE 'system_cpu%') > 0 FROM series")" "1,1"
sender() { ask debug/ingest | jq -c ".senders[0] | $1"; }
is "numbers have no gap" "$(sender '[.missing, .duplicates, .rejected]')" "[0,0,0]"
# Packing against an earlier batch is tried for each; a batch with mostly new stacks, as when many programs start, is sent whole. One program runs on
# throughout.
"$progs/burn" "$me-steady" 120 >/dev/null &
steady=$!
for _ in $(seq 240); do
	[ "$(sender '.key_sequence < .last_sequence')" = true ] && break
	sleep 0.5
done
kill $steady
wait $steady 2>/dev/null
holds "batches are compressed against an earlier one" [ "$(sender '.key_sequence < .last_sequence')" = true ]

# --- the server dies
before=$(burnt "$me-burner")
kill -9 "$server"
wait "$server" 2>/dev/null
until_said "batches in the spool"
"$progs/burn" "$me-second" 2 >/dev/null
begin_server
until_said "accepts batches again"
until_stored "$me-second"
near "data from the time without the server is there" "$(burnt "$me-second")" 198 40
is "… and nothing twice" "$(burnt "$me-burner")" "$before"
is "the server's absence is logged once" "$(grep -c 'batches in the spool' "$tmp/log")" 1

# --- halves of the agent die
kill -9 "$(half cresset-send)"
until_said "sending process runs" 2
"$progs/burn" "$me-third" 2 >/dev/null &
sleep 0.5
kill -9 "$(half cresset-send)"
wait $!
until_stored "$me-third"
near "a sending process that dies loses nothing" "$(burnt "$me-third")" 198 40
is "… and gives nothing twice" "$(burnt "$me-burner")" "$before"

# --- the whole agent dies while the server is away
kill -9 "$server"
wait "$server" 2>/dev/null
until_said "batches in the spool"
"$progs/burn" "$me-fourth" 2 >/dev/null
sleep 2.5
kill -9 "$always" "$(half cresset-collect)" "$(half cresset-send)"
wait "$always" 2>/dev/null
begin_server
to_server
until_stored "$me-fourth"
near "the spool is sent at the next start" "$(burnt "$me-fourth")" 198 40
is "no number is missing" "$(sender .missing)" 0
is "… and nothing is there twice" "$(burnt "$me-burner")" "$before"

# --- tokens
other=$("$cresset" token create --tokens "$tmp/tokens" --scope write)
"$cresset" token revoke --tokens "$tmp/tokens" "$("$cresset" token list --tokens "$tmp/tokens" --json | jq -r '.[0].id')" >/dev/null
kill -HUP "$server"
until_said "status 401"
holds "an unknown token is logged" grep -q "status 401" "$tmp/log"
echo "$other" >"$tmp/token"
kill -HUP "$always"
until_said "accepts batches again"
holds "a new one is read on SIGHUP" grep -q "accepts batches again" "$tmp/log"

# How much longer a second of CPU time takes here is how much longer the end may take.
from=${EPOCHREALTIME/./}
"$progs/burn" "$me-last" 1 >/dev/null
second_ms=$(((${EPOCHREALTIME/./} - from) / 1000))
end_always
is "it ends" $status 0
holds "… within 5 s of this machine (${stop_ms} ms)" [ "$stop_ms" -lt $((5 * (second_ms > 1000 ? second_ms : 1000))) ]
# A busy machine may not send all of it within the second that is left for that: the rest is in the spool, for the next start.
if [ "$second_ms" -gt 2000 ]; then
	to_server
	for _ in $(seq 300); do
		[ "$(burnt "$me-last")" -lt 74 ] || break
		sleep 0.2
	done
	end_always
fi
near "… with the last recorded data" "$(burnt "$me-last")" 99 25
holds "no half is left" test -z "$(pgrep -f "cresset agent -v --spool $tmp/spool")"

# --- a certificate that is not trusted
agent --server "$server_url" --token-file "$tmp/token"
until_said "batches in the spool"
holds "an untrusted certificate is logged" grep -qi "certificate\|SSL" "$tmp/log"
end_always
is "it ends as well" $status 0
stop

# --- to another OTLP server
mkdir "$tmp/otlp"
coproc double { exec python3 tests/live/otlp_double.py "$tmp/otlp"; }
# shellcheck disable=SC2154 # of coproc
pids+=("$double_PID")
read -r other_port <&"${double[0]}"
agent --server "http://127.0.0.1:$other_port"
"$progs/burn" "$me-fifth" 3 >/dev/null
sleep 3
end_always
is "it ends as well" $status 0
holds "a server that takes gzip only gets gzip" grep -q '^200 /v1development/profiles gzip None' "$tmp/otlp/log"
is "… after it has refused zstd once" "$(grep -c ^415 "$tmp/otlp/log")" 1
is "… and no batch has a base" "$(awk '$4 != "None"' "$tmp/otlp/log" | wc -l)" 0
if command -v protoc >/dev/null; then
	for f in "$tmp"/otlp/*.otlp; do
		protoc -Itests/golden/otlp --decode=otlp.ProfilesData otlp.proto <"$f" >"$f.txt" || echo "$f" >>"$tmp/bad"
	done
	for f in "$tmp"/otlp/*.metrics; do
		protoc -Itests/golden/otlp --decode="$(sed -n 's/^package \(.*\);/\1/p' tests/golden/otlp/metrics.proto).MetricsData" metrics.proto <"$f" >"$f.txt" || echo "$f" >>"$tmp/bad"
	done
	holds "protoc reads all of them" test ! -e "$tmp/bad"
	is "… without a field that it does not know" "$(grep -hcE '^ *[0-9]+:' "$tmp"/otlp/*.txt | awk '{ n += $1 } END { print n + 0 }')" 0
	holds "… with names in each that has the program" grep -q burn_loop "$tmp"/otlp/*.txt
else
	skip "protoc reads all of them" "no protoc here"
fi
"$cresset" convert "$tmp"/otlp/*.otlp -o "$tmp/all.folded" --type cpu -q
near "each sample is there once" "$(awk -v me="$me-fifth;" 'index($0, me) == 1 { n += $NF } END { print n + 0 }' "$tmp/all.folded")" 297 60
finish
