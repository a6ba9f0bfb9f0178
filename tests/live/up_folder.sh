#!/usr/bin/env bash
# tier: live
# Places where the data of cresset up and agent cannot be, or should not: the start reports which user cannot get there, at which directory of the path, and the
# remedy.
. tests/live/lib.sh
needs_recording

chmod 755 "$tmp"
mkdir -m 700 "$tmp/closed"
mkdir "$tmp/closed/below" "$tmp/locked"
holds_not() { # COMMAND ARG…: sets status
	timeout -s INT 60 "$cresset" "$@" >/dev/null 2>"$tmp/err"
	status=$?
}
says() { # NAME TEXT
	holds "$1" grep -qF "$2" "$tmp/err"
}
holds_not up --data "$tmp/closed/below/data" --listen none
is "a directory below one that does not let the store's user in" $status 7
says "… names both, and who" ", the user of the store process, cannot enter $tmp/closed: Permission denied"
says "… and what to do" "chmod o+x $tmp/closed"
(cd "$tmp/closed/below" && holds_not up --data other --listen none; exit $status)
is "… also by a relative path" $? 7
says "… which is logged completely" "$tmp/closed/below/other: user"
holds_not agent --server http://127.0.0.1:9 --spool "$tmp/closed/spool"
is "a spool" $status 7
says "… of the sending process" ", the user of the sending process, cannot enter $tmp/closed"
chown 64001:64001 "$tmp/locked"
chmod 500 "$tmp/locked"
holds_not up --data "$tmp/locked" --listen none
is "another user's directory" $status 7
says "… names who could read" "$tmp/locked: belongs to user 64001, who could read the profiles of all users"
says "… and the option" "data-force foreign"
holds_not agent --server http://127.0.0.1:9 --spool "$tmp/locked"
is "… for a spool" $status 7
says "… and its option" "spool-force foreign"
mkdir -m 755 "$tmp/open"
chown 65521:65521 "$tmp/open"
holds_not up --data "$tmp/open" --listen none
is "a directory that others may enter" $status 7
says "… names the mode" "$tmp/open: is open to other users (mode 0755)"
says "… and what to do" "chmod o= $tmp/open"
holds_not up --data "$tmp/open" --listen none --data-force foreign
is "… is independent of the owner" $status 7
holds_not up --data "$tmp/locked" --listen none --data-force foreign
is "a directory that its owner may not write to" $status 7
says "… logs this" "user 64001, the user of the store process, cannot write to $tmp/locked: Permission denied"
says "… and what to do" "chmod u+rwx $tmp/locked"
finish
