#!/usr/bin/env bash
# tier: test
# Whatever the mask and the directory are, a store has no file that others may read or write. A directory that is open to others, or another user's, is
# refused by all commands that write one, unless an option names the risk.
. tests/cli/lib.sh

for ((i = 0; i < 50; i++)); do echo "main;f$i 3"; done >"$tmp/in.folded"
make() { "$cresset" convert --data "$1" --data-force open --at 2024-10-06T00:00:00Z "$tmp/in.folded" >"$tmp/made" 2>&1; }
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

# --- refused
refused() { # NAME TEXT ARG…: within a minute, with nothing written
	timeout -k 5 60 "$cresset" "${@:3}" >"$tmp/out" 2>"$tmp/err"
	is "$1" $? 7
	has "… says so" "$2" "$(cat "$tmp/err")"
	is "… and writes nothing" "$(ls -A "$tmp/bare")" ""
}
for mode in 701 704 707 755 1777; do
	mkdir "$tmp/bare" && chmod $mode "$tmp/bare"
	refused "convert into a directory of mode $mode" "is open to other users" convert --data "$tmp/bare" --at 2024-10-06T00:00:00Z "$tmp/in.folded"
	refused "serve of one" "is open to other users" serve --data "$tmp/bare" --listen 127.0.0.1:0
	has "… and what to do" "chmod o= $tmp/bare" "$(cat "$tmp/err")"
	has "… and the option" "data-force open" "$(cat "$tmp/err")"
	rmdir "$tmp/bare"
done
mkdir -m 770 "$tmp/bare"
ends "one for a group is none" 0 convert --data "$tmp/bare" --at 2024-10-06T00:00:00Z "$tmp/in.folded"
rm -r "$tmp/bare"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$tmp/bare" && chown 64001 "$tmp/bare"
	refused "convert into another user's" "belongs to user 64001" convert --data "$tmp/bare" --at 2024-10-06T00:00:00Z "$tmp/in.folded"
	refused "serve of one" "belongs to user 64001" serve --data "$tmp/bare" --listen 127.0.0.1:0
	has "… and the option" "data-force foreign" "$(cat "$tmp/err")"
	refused "… which is not that of open ones" "belongs to user 64001" serve --data "$tmp/bare" --listen 127.0.0.1:0 --data-force open
	SUDO_UID=64001 ends "it may be the caller's of sudo" 0 convert --data "$tmp/bare" --at 2024-10-06T00:00:00Z "$tmp/in.folded"
	chown -R 64002 "$tmp/bare"
	ends "… or be accepted" 0 convert --data "$tmp/bare" --data-force foreign --at 2024-10-06T00:00:00Z "$tmp/in.folded"
	is "… and stays whose it is" "$(find "$tmp/bare" ! -user 64002)" ""
fi

# --- while it is open: the journals, too
mkdir "$tmp/served" && chmod 777 "$tmp/served"
"$cresset" serve --data "$tmp/served" --data-force open --listen 127.0.0.1:0 >"$tmp/url" 2>"$tmp/log" &
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
