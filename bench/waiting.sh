#!/usr/bin/env bash
# cresset up at its defaults beside thousands of processes and threads that wait: each interval tells of all of them. What its processes take of
# a CPU (the program over threads runs in their system calls), from the second interval on, over half a minute, and the collector's memory.
. bench/lib.sh
. bench/lib_loads.sh
chmod 755 "$tmp"

beside() { # WORDS PROCESSES THREADS US
	local base up collector store used t fd
	mkfifo "$tmp/stay"
	"$progs/sleepers" "$2" "$3" "$4" <"$tmp/stay" >"$tmp/there" &
	pids+=($!)
	exec {fd}>"$tmp/stay"
	for _ in $(seq 300); do
		[ -s "$tmp/there" ] && break
		sleep 0.1
	done
	base=127.0.0.1:$(free_port)
	"$cresset" up --gpu=off --data "$tmp/data" --listen "$base" 2>"$tmp/log" {fd}>&- &
	up=$!
	pids+=("$up")
	for _ in $(seq 100); do
		curl -sf "http://$base/readyz" >/dev/null && break
		sleep 0.1
	done
	sleep 15
	collector=$(pgrep -P "$up" -x cresset-collect) store=$(pgrep -P "$up" -x cresset-store)
	used=$(($(cpu_ns "$collector") + $(cpu_ns "$store")))
	t=$EPOCHREALTIME
	sleep 30
	used=$(($(cpu_ns "$collector") + $(cpu_ns "$store") - used))
	t=$(calc "$EPOCHREALTIME - $t")
	row "CPU of \`up\` beside others: $1" "stated" \
		"$(calc "$used / $t / 1e7") % of a CPU; the collector's Pss $(awk '/^Pss:/ { printf "%.1f", $2 * 1024 / 1e6 }' "/proc/$collector/smaps_rollup") MB" -
	kill "$up"
	wait "$up"
	exec {fd}>&-
	rm -rf "$tmp/stay" "$tmp/there" "$tmp/data"
}
beside "300 processes and 300 threads that wait all the time" 300 300 1000000000
beside "3000 processes and 3000 threads that wait all the time" 3000 3000 1000000000
beside "3000 processes that wait and 3000 threads that wake twice a second" 3000 3000 500000
