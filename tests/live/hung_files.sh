#!/usr/bin/env bash
# tier: live
# The file of a program of a user without rights is on a file system that no longer responds, as with NFS and FUSE: record and up still show another program's samples, and end
# when they are told to; a program on one that answers has its names.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP mounting needs root"; exit 0; }

chmod 755 "$tmp"
data=$tmp/data
mkdir "$tmp/mount"
unmount() { umount -l "$tmp/mount" 2>/dev/null; }
trap 'for p in "${pids[@]}"; do kill -9 "$p"; done 2>/dev/null; unmount; cleanup' EXIT
begin_fs() { # sets fs
	"$progs/hung_fs" "$tmp/mount" "$progs/burn" >"$tmp/mounted" 2>"$tmp/mount.err" &
	fs=$!
	pids+=("$fs")
	for _ in $(seq 1200); do
		[ -s "$tmp/mounted" ] && return
		kill -0 "$fs" 2>/dev/null || return
		sleep 0.05
	done
}
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/sql.err" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }

begin_fs
[ -s "$tmp/mounted" ] || { echo "1..0 # SKIP no file system can be mounted: $(cat "$tmp/mount.err")"; exit 0; }

# One that answers: its frames have names, though only a copy of the file was read here.
"$cresset" record -q -F 499 -o "$tmp/far.folded" -- "$tmp/mount/program" far 0.5 >"$tmp/far.out" 2>"$tmp/far.err"
holds "a program of another's file system has names" grep -q 'burn_outer;burn_loop' "$tmp/far.folded"

setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/mount/program" "$$-hung" 60 >/dev/null &
hung=$!
pids+=("$hung")
until_comm "$hung" "$$-hung"
kill -USR1 "$fs"
"$progs/burn" "$$-near" 6 >/dev/null &
near=$!
pids+=("$near")
timeout -k 5 25 "$cresset" record -a -q -F 99 -d 2 -o "$tmp/hung.folded" 2>"$tmp/hung.err"
is "record ends despite a hanging file system" $? 0
holds "… with another program's samples and names" grep -q "burn_outer;burn_loop" "$tmp/hung.folded"
holds "… and those of the hanging one" grep -q "$$-hung" "$tmp/hung.folded"

begin_always up --data "$data" --listen none
wait "$near"
"$progs/burn" "$$-beside" 1 >/dev/null
until_stored "$$-beside"
holds "up has another program's" test "$(burnt "$$-beside")" -gt 50
holds "… and its own" test "$(burnt "$$-hung")" -gt 0
"$cresset" query --data "$data" "cpu{comm=\"$$-beside\"}" >"$tmp/beside" 2>&1
holds "… with names" grep -q burn_loop "$tmp/beside"
end_always
is "… and ends on request" "$status" 0
holds "… on its own" test "$(grep -c 'is killed' "$tmp/log")" -eq 0
kill -9 "$fs" "$hung"
wait "$fs" "$hung" 2>/dev/null
unmount
finish
