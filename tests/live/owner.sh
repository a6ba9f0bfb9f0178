#!/usr/bin/env bash
# A store that cresset up made for its unprivileged user, in root's hands: it is served, asked, checked and added to, and stays that user's, so that
# up goes on with it.
# run: alongside
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }

chmod 755 "$tmp" # the store process is nobody
data=$tmp/data
burnt() { "$cresset" sql --format csv --data "$data" "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')" | tail -n +2 | tr -d '\r'; }
foreign() { find "$data" ! -user nobody -printf '%P '; }
serve() { # OPTION…: sets server and url
	: >"$tmp/url"
	"$cresset" serve --listen 127.0.0.1:0 "$@" >"$tmp/url" 2>"$tmp/err" &
	server=$!
	pids+=("$server")
	for _ in $(seq 100); do
		[ -s "$tmp/url" ] && break
		kill -0 $server 2>/dev/null || break
		sleep 0.05
	done
	url=$(cat "$tmp/url")
}
unserve() { kill "$server" && wait "$server"; }

begin_always up --data "$data" --listen none
"$progs/burn" "$$-burn" 2 >/dev/null
until_stored "$$-burn"
end_always
before=$(burnt "$$-burn")
holds "up leaves samples" test "${before:-0}" -gt 0
is "asked by root, all stays the owner's" "$(foreign)" ""
"$cresset" query --data "$data" 'cpu{}' --csv >"$tmp/top.csv" 2>"$tmp/err"
is "… by a query, too" "$?:$(foreign)" "0:"
"$cresset" doctor --data "$data" >"$tmp/doctor" 2>&1
is "… and by doctor" "$?:$(foreign)" "0:"

serve --data "$data"
holds "root serves it" test -n "$url" -a ! -s "$tmp/err"
is "… as its owner" "$(ps -o user= -p "$server" | tr -d ' ')" nobody
is "… without groups of root's" "$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$server/status" | tr -d ' ')" ""
is "… without a capability" "$(sed -n 's/^CapEff:\t//p' "/proc/$server/status")" 0000000000000000
printf 'main;sent_to_it 7\n' >"$tmp/sent.folded"
is "it takes what is sent" "$(curl -s -o "$tmp/answer" -w '%{http_code}' --data-binary @"$tmp/sent.folded" "${url%/}/api/v1/profiles?label=job=sent")" 200
unserve
is "… and what it writes is the owner's" "$(foreign)" ""
serve "$data"
is "to be read only, as the owner, too" "$(ps -o user= -p "$server" | tr -d ' '):$(foreign)" "nobody:"
unserve

"$cresset" token create --tokens "$tmp/tokens" --scope read >"$tmp/token"
serve --data "$data" --tokens "$tmp/tokens"
wait "$server"
holds "tokens that the owner may not read are named" grep -q "cannot read $tmp/tokens as user $(id -u nobody), whom $data belongs to" "$tmp/err"
holds "… with a remedy" grep -q "let that user read it" "$tmp/err"
chown nobody "$tmp/tokens"
serve --data "$data" --tokens "$tmp/tokens"
holds "… which helps" test -n "$url"
unserve

at=$(($(date +%s) - 2 * 86400))
# Root's file, which the owner cannot read.
mkdir -m 700 "$tmp/secret"
printf 'main;imported_function 5\n' >"$tmp/secret/old.folded"
chmod 600 "$tmp/secret/old.folded"
"$cresset" convert "$tmp/secret/old.folded" --data "$data" --at $at --label job=old 2>"$tmp/err"
is "root imports what only root can read" "$?" 0
is "… and what comes of it is the owner's" "$(foreign)" ""
is "… and is there" "$("$cresset" sql --format csv --data "$data" "SELECT sum(value) FROM samples WHERE series IN (SELECT series FROM labels WHERE key = 'job' AND value = 'old')" | tail -n +2 | tr -d '\r')" 5

begin_always up --data "$data" --listen none
until_said "store process runs"
holds "up goes on with all that" grep -q "store process runs" "$tmp/log"
end_always
is "… to its end" "$status" 0
is "… and has what it had" "$(burnt "$$-burn")" "$before"
finish
