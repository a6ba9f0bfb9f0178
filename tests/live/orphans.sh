#!/usr/bin/env bash
# tier: live
# kill -9 of the supervisor of cresset up and of cresset agent: the kernel ends its two processes with it, whatever they are doing, even when they are
# stopped. A process that answers does not report that all is well, and the next one takes the directory.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
is_gone() { case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z* | X*) return 0 ;; *) return 1 ;; esac }
# Waits until all of these have ended: sets gone_ms.
until_gone() {
	local from=${EPOCHREALTIME/./} pid
	for _ in $(seq 1000); do
		for pid; do is_gone "$pid" || break; done
		gone_ms=$(((${EPOCHREALTIME/./} - from) / 1000))
		is_gone "$pid" && return
		sleep 0.01
	done
	return 1
}
kill_supervisor() {
	kill -9 "$always"
	wait "$always" 2>/dev/null
}
# NAME PROCESS COMMAND ARG…
die_together() {
	local name=$1 process=$2 parts
	shift 2
	begin_always "$@"
	until_said "process runs"
	parts=("$(half cresset-collect)" "$(half "$process")")
	pids+=("${parts[@]}")
	is "$name: two processes, one of them of another user" "$(stat -c %u "/proc/${parts[0]}") $(($(stat -c %u "/proc/${parts[1]}") != 0))" "0 1"
	kill -STOP "${parts[@]}"
	kill_supervisor
	if until_gone "${parts[@]}"; then
		ok "$name: both are gone with the supervisor, stopped as they were (after $gone_ms ms; promised: 200)"
	else
		not_ok "$name: both are gone with the supervisor, stopped as they were" "$(ps -o pid,ppid,stat,comm "${parts[@]}")"
		kill -CONT "${parts[@]}" 2>/dev/null
		until_gone "${parts[@]}"
	fi
}

die_together up cresset-store up --data "$tmp/data" --listen 127.0.0.1:0
die_together agent cresset-send agent --server http://127.0.0.1:9 --spool "$tmp/spool"

begin_always up --data "$tmp/data" --listen 127.0.0.1:0
until_said "look at it"
url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | head -1)
parts=("$(half cresset-collect)" "$(half cresset-store)")
pids+=("${parts[@]}")
is "the next one takes the directory, and is ready" "$(curl -s -o "$tmp/ready" -w '%{http_code}' "${url}readyz")" 200
kill_supervisor
is "an orphan is not ready" "$(curl -s -m 5 -o "$tmp/ready" -w '%{http_code}' "${url}readyz")" 000
until_gone "${parts[@]}"
echo "# both are gone after $gone_ms ms (promised: 200)"
finish
