#!/usr/bin/env bash
# tier: live
# A collector of cresset up that stands still is reported: in the log, by /readyz, /api/v1/status and /metrics. up ends within 2 s of SIGTERM beside
# one that is stopped, and beside one that the kernel does not let go: its tracer does not take its end.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }
command -v curl >/dev/null && command -v jq >/dev/null || { echo "1..0 # SKIP no curl, or no jq here"; exit 0; }

chmod 755 "$tmp" # the store process is not root
up() {
	begin_always up --data "$tmp/data" --listen 127.0.0.1:0
	until_said "look at it"
	url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | head -1)
}
ready() { curl -s -m 20 -o "$tmp/ready" -w '%{http_code}' "${url}readyz"; }
since() { curl -s -m 20 "${url}api/v1/status" | jq -r .collector.silent_since; }
gauge() { curl -s -m 20 "${url}metrics" | sed -n 's/^cresset_collector_silent_seconds //p'; }
is_after() { [ "$(date -d "$1" +%s%N)" -ge "$2" ]; }

up
for _ in $(seq 600); do
	[ "$(curl -s -m 20 "${url}api/v1/status" | jq -r .data.from)" != null ] && break
	sleep 0.1
done
is "it is ready" "$(ready)" 200
is "… and its collector is not silent" "$(since) $(gauge)" "null 0"
kill -STOP "$(half cresset-collect)"
from=$(date +%s%N)
until_said "not recording for"
holds "a stalled collector is logged, with its state" grep -Eq 'the collector, process [0-9]+, does not respond; it is stopped' "$tmp/log"
is "… is not ready" "$(ready)" 503
holds "… with the time since then" grep -q 'not recording since 20..-..-..T' "$tmp/ready"
holds "… as does the status" is_after "$(since)" $((from - 2000000000))
holds "… and the metrics" awk "BEGIN { exit !($(gauge) >= 5) }"
kill -CONT "$(half cresset-collect)"
until_said "recording again"
is "it is ready when the collector responds" "$(ready)" 200
is "… and the status knows" "$(since)" null

kill -STOP "$(half cresset-collect)"
end_always
is "it ends despite a stopped collector" "$status" 0
holds "… within 2 s (${stop_ms} ms)" [ "$stop_ms" -le 2000 ]
holds "… and logs the killed process" grep -q 'the collector did not end in time and is killed' "$tmp/log"

up
collector=$(half cresset-collect)
python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
if libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), 0, 0):
    sys.exit(1)
print("traced", flush=True)
time.sleep(300)' "$collector" >"$tmp/tracer" &
tracer=$!
pids+=("$tracer")
for _ in $(seq 600); do
	[ -s "$tmp/tracer" ] && break
	kill -0 "$tracer" 2>/dev/null || break
	sleep 0.05
done
if [ -s "$tmp/tracer" ]; then
	kill -STOP "$collector"
	end_always
	is "it ends despite an unkillable collector" "$status" 0
	holds "… within 2 s (${stop_ms} ms)" [ "$stop_ms" -le 2000 ]
	holds "… and logs this" grep -q "cannot stop the collector: process $collector" "$tmp/log"
	is "… and the store process has ended" "$(pgrep -f "cresset up -v --data $tmp/data -" | grep -cv "^$collector$")" 0
else
	skip "it ends despite an unkillable collector" "no process can be traced here"
fi
finish
