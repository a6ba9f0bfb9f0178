#!/usr/bin/env bash
# tier: test
# cresset up beside parts of it that are killed or stand still: who starts the readers is killed, and the collector begins again; a collector that is
# stopped does not keep up from its end, nor does one that the kernel does not end. A part that cannot be started is reported.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
up() {
	begin_always up --data "$data" --listen none
	until_said "collector runs"
}

# An ordinary user reaches no process of root. So this one runs it with the capabilities of docs/requirements.md, and attacks it with none.
user=64001
five=+bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+syslog
as() { "$@"; }
program=$cresset
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	as() { setpriv --reuid $user --regid $user --clear-groups --inh-caps -all --bounding-set -all "$@"; }
	install -d -o $user -g $user -m 700 "$tmp/home"
	cp "$program" "$tmp/cresset"
	cat >"$tmp/run" <<-END
		#!/bin/sh
		export CRESSET_CACHE=$tmp/home/cache
		exec setpriv --reuid $user --regid $user --clear-groups --inh-caps $five --ambient-caps $five --bounding-set -all,$five $tmp/cresset "\$@"
	END
	chmod 755 "$tmp/run"
	cresset=$tmp/run data=$tmp/home/data
fi

up
first=$(half cresset-collect)
as kill -9 "$(pgrep -P "$first" -x cresset-nursery)"
until_said "collector runs" 2
is "the death of who starts the readers is said" "$(grep -c 'cresset-nursery, which starts the reader processes, was killed' "$tmp/log")" 1
second=$(half cresset-collect)
holds "… the collector has begun again" [ -n "$second" -a "$second" != "$first" ]
for _ in $(seq 600); do
	[ -n "$(pgrep -P "$second" -x cresset-nursery)" ] && break
	sleep 0.05
done
holds "… with another one" test -n "$(pgrep -P "$second" -x cresset-nursery)"
is "… once" "$(grep -c 'collector has ended' "$tmp/log")" 1

as kill -STOP "$second"
end_always
is "it ends beside a collector that is stopped" "$status" 0
is "… and says whom it killed" "$(grep -c 'the collector did not end in time and is killed' "$tmp/log")" 1

cresset=$program data=$tmp/data
# Who traces a process keeps it from its end, as a lock of the kernel does.
up
if command -v prlimit >/dev/null; then
	prlimit --pid "$always" --nofile=3:
	kill -9 "$(half cresset-store)"
	until_said "cannot start the store process"
	is "a part that cannot be started is reported" \
		"$(grep -c 'cannot start the store process: Too many open files; it is tried again in 30 s' "$tmp/log")" 1
	prlimit --pid "$always" --nofile=1024:
	end_always
	is "… and it ends without it" "$status" 0
	up
else
	skip "a part that cannot be started is reported" "no prlimit here"
fi
if command -v python3 >/dev/null; then
	collector=$(half cresset-collect)
	python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
if libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), 0, 0):
    sys.exit(1)
print("traced", flush=True)
time.sleep(300)' "$collector" >"$tmp/tracer" 2>/dev/null &
	tracer=$!
	pids+=("$tracer")
	for _ in $(seq 600); do
		[ -s "$tmp/tracer" ] && break
		kill -0 "$tracer" 2>/dev/null || break
		sleep 0.05
	done
fi
# Without the collector and processes in uninterruptible sleep.
others() {
	local pid n=0
	for pid in $(pgrep -f "cresset up -v .*--data $data -"); do
		[ "$pid" = "$collector" ] || grep -q '^State:.D' "/proc/$pid/status" 2>/dev/null || [ ! -e "/proc/$pid" ] || n=$((n + 1))
	done
	echo "$n"
}
if [ -s "$tmp/tracer" ]; then
	kill -STOP "$collector"
	end_always
	is "it ends beside a collector that the kernel does not end" "$status" 0
	is "… and says whom it leaves" "$(grep -c "cannot stop the collector: process $collector" "$tmp/log")" 1
	for _ in $(seq 600); do
		[ "$(others)" = 0 ] && break
		sleep 0.05
	done
	is "… and nobody else is there" "$(others)" 0
	kill -9 "$tracer"
	wait "$tracer" 2>/dev/null
else
	skip "it ends beside a collector that the kernel does not end" "no process can be traced here"
	end_always
fi
finish
