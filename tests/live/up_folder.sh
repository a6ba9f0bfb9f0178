#!/usr/bin/env bash
# tier: live
# Places where the data of cresset up and agent cannot be: the start reports which user cannot get there, at which directory of the path, and the
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
says "… names both, and who" ", as whom the store process runs, cannot enter $tmp/closed: Permission denied"
says "… and what to do" "chmod o+x $tmp/closed"
(cd "$tmp/closed/below" && holds_not up --data other --listen none; exit $status)
is "… also by a relative path" $? 7
says "… which is said whole" "$tmp/closed/below/other: user"
holds_not agent --server http://127.0.0.1:9 --spool "$tmp/closed/spool"
is "a spool" $status 7
says "… of the sending process" ", as whom the sending process runs, cannot enter $tmp/closed"
chown 64001:64001 "$tmp/locked"
chmod 500 "$tmp/locked"
holds_not up --data "$tmp/locked" --listen none
is "a directory that its owner may not write to" $status 7
says "… says so" "user 64001, as whom the store process runs, cannot write to $tmp/locked: Permission denied"
says "… and what to do" "chmod u+rwx $tmp/locked"
finish
