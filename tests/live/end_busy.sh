#!/usr/bin/env bash
# tier: live
# run: alone
# cresset up with the lowest priority, on a machine on which others want all CPUs: SIGINT ends it within 2 s, with the last samples in the store.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root: others cannot raise a priority"; exit 0; }

chmod 755 "$tmp" # the store process is not root
# Of all threads: a start with that priority would take minutes.
lower() { # PID…
	local pid
	for pid; do find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | xargs renice -n 19 >/dev/null; done
}
for round in 1 2 3; do
	begin_always up --data "$tmp/data" --listen none
	mapfile -t parts < <(descendants "$always")
	lower "$always" "${parts[@]}"
	is "the priority is low ($round)" "$(ps -o ni= -p "$always" | tr -d ' ')" 19
	hogs=()
	for _ in $(seq $((4 * $(nproc)))); do
		(while :; do :; done) &
		hogs+=($!)
		pids+=($!)
	done
	end_always INT
	kill "${hogs[@]}"
	is "it ends ($round)" "$status" 0
	is "… no process is killed" "$(grep -c 'did not end in time' "$tmp/log")" 0
	holds "… within 2 s (${stop_ms} ms)" [ "$stop_ms" -le 2000 ]
done
finish
