#!/usr/bin/env bash
# tier: live
# cresset up with a store process that was taken over: whatever it sends to the collector and to the supervisor, and however often, it cannot use up
# the machine's CPU, and both go on.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
python3 -c 'import ctypes, os, sys
p = ctypes.CDLL(None).syscall(434, os.getpid(), 0)
sys.exit(ctypes.CDLL(None).syscall(438, p, 0, 0) < 0)' || { echo "1..0 # SKIP no pidfd_getfd"; exit 0; }
# In hundredths of a second.
cpu() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
talk() { python3 tests/live/hostile_store.py "$(half cresset-store)" "$@"; }

begin_always up --data "$tmp/data" --listen none
until_said "store process runs"
sleep 2 # it has named what is there

# Its own files are opened for it as often as allowed, and no more; the rest of the time the collector waits as before.
collector=$(half cresset-collect)
# Ticks of the collector in 4 s. Measured before and after, since other programs on this machine give it more or less work.
quiet() {
	local from
	from=$(cpu "$collector")
	sleep 4
	echo $(($(cpu "$collector") - from))
}
before=$(quiet)
from=$(cpu "$collector") began=$EPOCHREALTIME
said=$(talk stream 4)
asked=$(($(cpu "$collector") - from)) ended=$EPOCHREALTIME
after=$(quiet)
holds "a store process can request files from the collector" test "${said:-0}" -gt 100
is "… which lives" "$(half cresset-collect)" "$collector"
holds "… and asking for ever keeps a tenth of a CPU busy at most ($asked ticks in $(awk "BEGIN { print $ended - $began }") s; in 4 s before and after $before and $after)" \
	awk "BEGIN { exit !($asked <= ($ended - $began) * (10 + ($before > $after ? $before : $after) / 4)) }"

# The supervisor is told once that a process is ready.
store=$(half cresset-store)
talk control 2 >"$tmp/said"
until_said "store process runs" 2
holds "a process with too many control messages is killed, and this is logged" grep -q "the store process sends too many control messages, killing it" "$tmp/log"
holds "… and a new one starts" test "$(half cresset-store)" != "$store" -a -n "$(half cresset-store)"
is "the collector is the same" "$(half cresset-collect)" "$collector"
end_always
is "it ends as ever" "$status" 0
finish
