#!/usr/bin/env bash
# tier: test
# cresset agent brings what it records to a server, with names, over TLS with a token; what is recorded while the server is away waits in the spool, and
# each sample arrives once.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/cli/lib_serve.sh
needs_recording
for program in openssl curl jq python3; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done

me=a$$
chmod 755 "$tmp" # the sending process is not root
hold_port
server_url=https://127.0.0.1:$port
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
read=$("$cresset" token create --tokens "$tmp/tokens")
(umask 077; "$cresset" token create --tokens "$tmp/tokens" --scope write >"$tmp/token")
begin_server() {
	serve --data "$tmp/data" --tokens "$tmp/tokens" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem" --listen "127.0.0.1:$port"
}
ask() { curl -sS -m 60 --cacert "$tmp/cert.pem" -H "Authorization: Bearer $read" "$server_url/$1" "${@:2}"; }
burnt() { ask 'api/v1/sql?fmt=csv' --data "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN
	(SELECT series FROM labels WHERE key = 'comm' AND value = '$1')" | tail -n +2 | tr -d '\r'; }
# A program has used a second of CPU time: as many samples as that has ticks. They come by chance, as it shares its CPU.
hz=199
is_burnt() { # NAME COMM
	near "$1" "$(burnt "$2")" $hz "$(awk "BEGIN { print 5 * sqrt($hz) }")"
}

# Until all samples of a program that has ended are there: the next batches change nothing.
sequence() { ask debug/ingest | jq '.senders[0].last_sequence // 0'; }
until_stored() { # COMM
	local before next
	for _ in $(seq 60); do
		before=$(burnt "$1") next=$(($(sequence) + 3))
		for _ in $(seq 600); do
			[ "$(sequence)" -ge $next ] && break
			sleep 0.2
		done
		[ "$before" -gt 0 ] && [ "$(burnt "$1")" = "$before" ] && return
	done
}

begin_server
begin_always agent --spool "$tmp/spool" --server "$server_url" --token-file "$tmp/token" --ca-file "$tmp/cert.pem" --label env=test --freq $hz
"$progs/burn" "$me-first" 1 >/dev/null
until_stored "$me-first"
is_burnt "the server has each sample of a program" "$me-first"
ask "api/v1/flame?fmt=folded&q=cpu%7Bcomm%3D%22$me-first%22%7D" >"$tmp/folded"
holds "… with the names of its functions" grep -q 'burn_outer;burn_loop' "$tmp/folded"
before=$(burnt "$me-first")

kill -9 "$server"
wait "$server" 2>/dev/null
until_said "batches in the spool"
"$progs/burn" "$me-second" 1 >/dev/null
begin_server
until_said "accepts batches again"
until_stored "$me-second"
is_burnt "data recorded without the server arrives" "$me-second"
is "… and nothing arrives twice" "$(burnt "$me-first")" "$before"
is "… nor is a batch missing" "$(ask debug/ingest | jq -c '.senders[0] | [.missing, .rejected]')" "[0,0]"
end_always
is "the agent ends" "$status" 0
stop
is "the server ends" "$status" 0
finish
