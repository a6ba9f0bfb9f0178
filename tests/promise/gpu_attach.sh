#!/usr/bin/env bash
# tier: test
# cresset gpu attach loads its library into a running program and changes nothing else of it: one that computes, one that waits, one that allocates all
# the time. What it is refused is said. Each program checks itself for any change.
. tests/live/lib.sh
. tests/live/lib_attach.sh
opens_map_files || { echo "1..0 # SKIP attaching to a process needs root"; exit 0; }

for mode in poll nanosleep cond spin; do
	begin "$mode"
	inject
	is "$mode: attached" "$status" 0
	is "$mode: it goes on as before" "$(asked)" "1 attached, ok"
	ended
	is "$mode: it ends well" $? 0
done
begin poll --malloc 2
for _ in $(seq 4); do inject; done
is "allocations in other threads: it continues as before" "$(asked)" "4 attached, ok"
ended
is "allocations in other threads: it ends well" $? 0

begin poll
printf 'no library' >"$tmp/text.so"
"$cresset" gpu attach "$target" --library "$tmp/text.so" --force young,no-library >"$tmp/out" 2>"$tmp/err"
is "an invalid library: refused" $? 6
holds "… in words" grep -q '^cresset: error: .*text.so' "$tmp/err"
is "… and nothing has changed" "$(asked)" "0 attached, ok"
"$cresset" gpu attach "$target" --force young >"$tmp/out" 2>"$tmp/err"
is "a program without a GPU: refused" $? 4
is "… and nothing has changed there, either" "$(asked)" "0 attached, ok"
ended
# Another user can neither hold a program's lock nor take a name that stands for it.
begin poll
if command -v python3 >/dev/null; then
	python3 -c '
import fcntl, os, socket, sys, time
pid = sys.argv[1]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name.bind("\0cresset-attach-" + pid)
kept = []
for file in os.listdir("/proc/" + pid):
    try:
        kept.append(open("/proc/" + pid + "/" + file))
        fcntl.flock(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
print(len(kept), flush=True)
time.sleep(3600)' "$target" >"$tmp/holder" &
	holder=$!
	for _ in $(seq 6000); do
		[ -s "$tmp/holder" ] && break
		command sleep 0.01
	done
	holds "another user opens and locks files of a program" [ -s "$tmp/holder" ]
	inject
	is "… which prevents no attach" "$status" 0
	is "… the program continues as before" "$(asked)" "1 attached, ok"
	kill -9 "$holder"
	wait "$holder" 2>/dev/null
else
	skip "another user opens and locks files of a program" "no python3 here"
fi
# A user with the right to trace may not open the first one.
for file in personality maps; do
	exec 9<"/proc/$target/$file"
	flock -n 9
	inject
	is "a second attach at the same time is refused ($file)" "$status $(field error)" "1 another process is attaching to process $target"
	exec 9<&-
done
ended
"$cresset" gpu attach 4194305 >"$tmp/out" 2>"$tmp/err"
holds "no such process: refused" test $? -ne 0
finish
