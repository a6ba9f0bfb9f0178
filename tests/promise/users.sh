#!/usr/bin/env bash
# tier: test
# A user who is not root records with the five capabilities that the documents name, and with no others. Without them nothing is recorded; what root
# records in its store stays unreadable.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
command -v setpriv >/dev/null || { echo "1..0 # SKIP no setpriv here"; exit 0; }
command -v curl >/dev/null || { echo "1..0 # SKIP no curl here"; exit 0; }

stranger=64001 # nobody on this machine
me=u$$
chmod 755 "$tmp"
cp "$cresset" "$progs/burn" "$tmp"
install -d -o $stranger "$tmp/home"
as() { setpriv --reuid $stranger --regid $stranger --clear-groups "$@"; }
five=+bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+syslog # docs/requirements.md

as --inh-caps $five --ambient-caps $five --bounding-set "-all,$five" "$tmp/cresset" record --no-progress -F 199 -o "$tmp/home/own.folded" -- \
	"$tmp/burn" "$me" 1 >/dev/null 2>"$tmp/err"
is "with five capabilities: a recording" $? 0
near "… has each sample" "$(folded_sum "^$me;" <"$tmp/home/own.folded")" 199 "$(awk 'BEGIN { print 5 * sqrt(199) }')"
holds "… with names" grep -q 'burn_outer;burn_loop' "$tmp/home/own.folded"
as "$tmp/cresset" record --no-progress -d 1 -o "$tmp/home/no.folded" 2>"$tmp/err"
is "without: refused" $? 3
holds "… with the reason" grep -q '^cresset: error: cannot ' "$tmp/err"

# In a private mount namespace a user can put any file in the place of its perf map.
cp "$progs/hostile" "$tmp/code$me"
as "$tmp/code$me" sparse 0 >"$tmp/code" &
for _ in $(seq 600); do
	[ -s "$tmp/code" ] && break
	sleep 0.05
done
code=$(cat "$tmp/code")
pids+=("$code")
at=$(awk '$2 == "rwxp" { sub("-.*", "", $1); print $1 }' "/proc/$code/maps")
map=/tmp/perf-$code.map
coded() { # MODE OWNER: samples with the name in such a file
	rm -f "$map"
	install -m "$1" -o "$2" /dev/null "$map"
	echo "$at 40 secret" >"$map"
	"$cresset" record -q -F 199 -p "$code" -d 0.5 -o "$tmp/coded.folded" 2>"$tmp/err"
	grep -c ';secret ' "$tmp/coded.folded"
}
is "a user's own names for its code" "$(coded 600 $stranger)" 1
is "… root's, which all may read" "$(coded 644 root)" 1
is "… not what only root may read" "$(coded 600 root)" 0
holds "… its samples are there" test "$(folded_sum "^code$me;" <"$tmp/coded.folded")" -gt 0
kill -9 "$code"
rm -f "$map"

begin_always up --data "$tmp/data" --listen 127.0.0.1:0
until_said "look at it"
url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | tail -1)
"$progs/burn" "$me-root" 1 >/dev/null
is "root has access" "$(curl -s -m 60 -o /dev/null -w '%{http_code}' "${url}api/v1/types")" 200
is "another user is not" "$(as curl -s -m 60 -o /dev/null -w '%{http_code}' "${url}api/v1/types")" 403
is "… nor reads a file of the store" "$(as find "$tmp/data" -type f 2>/dev/null)" ""
for half in collect store; do
	as kill -TERM "$(half cresset-$half)" 2>/dev/null
	holds "… nor ends the cresset-$half" kill -0 "$(half cresset-$half)"
done
end_always
is "up ends" "$status" 0
finish
