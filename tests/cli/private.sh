#!/usr/bin/env bash
# tier: test
# Whatever the mask and the directory are, a store has no file that others may read or write.
. tests/cli/lib.sh

for ((i = 0; i < 50; i++)); do echo "main;f$i 3"; done >"$tmp/in.folded"
make() { "$cresset" convert --data "$1" --at 2024-10-06T00:00:00Z "$tmp/in.folded" >"$tmp/made" 2>&1; }
open_files() { find "$1" -mindepth 1 -perm /027 \( -type f -o -perm /007 \); }

open=
for mask in 000 002 022 077; do
	for mode in 700 711 755 775 777; do
		mkdir "$tmp/store" && chmod $mode "$tmp/store"
		(umask $mask && make "$tmp/store") || open+=" no store with $mask $mode: $(cat "$tmp/made")"
		open+=$(open_files "$tmp/store")
		[ "$(find "$tmp/store" -name '*.db' | wc -l)" -ge 3 ] || open+=" nothing with $mask $mode"
		rm -r "$tmp/store"
	done
done
is "20 ways of making a store: no file is open to others" "$open" ""
umask 000
make "$tmp/new"
is "a new directory is closed" "$(stat -c %a "$tmp/new")" 750

# --- while it is open: the journals, too
mkdir "$tmp/served" && chmod 777 "$tmp/served"
"$cresset" serve --data "$tmp/served" --listen 127.0.0.1:0 >"$tmp/url" 2>"$tmp/log" &
server=$!
pids+=("$server")
for _ in $(seq 600); do
	[ -s "$tmp/url" ] && break
	kill -0 $server || break
	sleep 0.1
done
holds "a batch is sent" curl -sf --data-binary @"$tmp/in.folded" "$(cat "$tmp/url")api/v1/profiles?label=host=h"
is "a server's files, with their journals" "$(open_files "$tmp/served")" ""
holds "… which there are" test -e "$tmp/served/inbox.db-wal"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp"
	is "no other user reads one" "$(setpriv --reuid 65534 --regid 65534 --clear-groups find "$tmp/served" -type f -readable 2>/dev/null)" ""
fi
kill $server
wait $server
finish
