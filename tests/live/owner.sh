#!/usr/bin/env bash
# tier: live
# A store that cresset up made for its unprivileged user, used by root: it is served, queried, checked and added to, and stays that user's, so that up
# goes on with it.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
burnt() { "$cresset" sql --format csv --data "$data" "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')" | tail -n +2 | tr -d '\r'; }
foreign() { find "$data" ! -user "$owner" -printf '%P '; }
serve() { # OPTION…: sets server and url
	: >"$tmp/url"
	"$cresset" serve --listen 127.0.0.1:0 "$@" >"$tmp/url" 2>"$tmp/err" &
	server=$!
	pids+=("$server")
	for _ in $(seq 1200); do
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
owner=$(stat -c %u "$data")
holds "… with a separate user" store_user "$owner"
is "queried by root, everything still belongs to the owner" "$(foreign)" ""
"$cresset" query --data "$data" 'cpu{}' --csv >"$tmp/top.csv" 2>"$tmp/err"
is "… by a query as well" "$?:$(foreign)" "0:"
"$cresset" doctor --data "$data" >"$tmp/doctor" 2>&1
is "… and by doctor" "$?:$(foreign)" "0:"

serve --data "$data"
holds "root serves it" test -n "$url" -a ! -s "$tmp/err"
is "… as its owner" "$(ps -o uid= -p "$server" | tr -d ' ')" "$owner"
is "… without groups of root's" "$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$server/status" | tr -d ' ')" ""
is "… without a capability" "$(sed -n 's/^CapEff:\t//p' "/proc/$server/status")" 0000000000000000
printf 'main;sent_to_it 7\n' >"$tmp/sent.folded"
is "it accepts uploads" "$(curl -s -o "$tmp/answer" -w '%{http_code}' --data-binary @"$tmp/sent.folded" "${url%/}/api/v1/profiles?label=job=sent")" 200
unserve
is "… and its files belong to the owner" "$(foreign)" ""
serve "$data"
is "read-only, as the owner as well" "$(ps -o uid= -p "$server" | tr -d ' '):$(foreign)" "$owner:"
unserve

"$cresset" token create --tokens "$tmp/tokens" --scope read >"$tmp/token"
serve --data "$data" --tokens "$tmp/tokens"
wait "$server"
holds "tokens that the owner may not read are named" grep -q "cannot read $tmp/tokens as user $owner, whom $data belongs to" "$tmp/err"
holds "… with a remedy" grep -q "let that user read it" "$tmp/err"
chown "$owner" "$tmp/tokens"
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
is "… and new files belong to the owner" "$(foreign)" ""
is "… and is there" "$("$cresset" sql --format csv --data "$data" "SELECT sum(value) FROM samples WHERE series IN (SELECT series FROM labels WHERE key = 'job' AND value = 'old')" | tail -n +2 | tr -d '\r')" 5

# A store that an earlier version left to nobody, with files of others in it.
chown -R 65534:65534 "$data"
mkdir "$tmp/aside"
echo root >"$tmp/aside/file"
ln -s "$tmp/aside" "$data/link"
ln -s "$tmp/aside/file" "$data/p/link"
echo others >"$data/theirs"
chown 64001 "$data/theirs"
begin_always up --data "$data" --listen none
until_said "store process runs"
holds "files of user nobody are taken over, which is logged" grep -q "$data: owner changed from nobody to user .*, because" "$tmp/log"
holds "… by the user of stores" store_user "$(stat -c %u "$data")"
is "… all of it, and nothing else" "$(find "$data" -user 65534) $(stat -c %u "$tmp/aside" "$tmp/aside/file" "$data/theirs" | tr '\n' ' ')" " 0 0 64001 "
chown 65534 "$data"
chmod 711 "$data" # the writing user reaches its files as before
timeout "$most_s" "$cresset" up --data "$data" --listen none 2>"$tmp/third"
is "… not from a process that writes it" "$(stat -c %u "$data"):$(grep -c "still owned by nobody.*another process writes to it" "$tmp/third")" 65534:1
chown "$owner" "$data"
chmod 700 "$data"
rm "$data/theirs" "$data/link" "$data/p/link"
holds "up continues with all that" grep -q "store process runs" "$tmp/log"
end_always
is "… to its end" "$status" 0
is "… and has its data" "$(burnt "$$-burn")" "$before"
finish
