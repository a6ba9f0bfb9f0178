#!/usr/bin/env bash
# What servers lose while the whole machine is recorded with cpu and off-cpu at 19 Hz, always on: nginx, PostgreSQL and Redis, each kept busy by
# its own load generator all the time. In each round, by turns and in changing order, the requests served in a second and a bit are counted
# with no recorder and with one by each way to take stacks of waits, which has had time to read what the machine runs; the loss is that
# against the same round's count without.
. bench/lib.sh
. bench/lib_loads.sh
rounds=${BENCH_ROUNDS:-30} seconds=${BENCH_SECONDS:-1.2} settle=1.5

begin_none() { recorder=; }
begin_hook() { start_cresset -F 19 -e cpu,off-cpu --wait-hook "$1"; } # sched_exit|sys_exit
stop() { [ -z "$recorder" ] || stop_cresset; }

# Requests served so far. No process is started for it: a recorder would read that one's files within the time that is measured.
count_redis() {
	local line
	exec {to}<>"/dev/tcp/127.0.0.1/$load_port"
	printf 'INFO stats\r\n' >&"$to"
	while read -r -t 5 -u "$to" line && [[ $line != total_commands_processed:* ]]; do :; done
	exec {to}>&-
	line=${line%$'\r'} count=${line#*:}
}
count_nginx() {
	local line
	exec {to}<>"/dev/tcp/127.0.0.1/$load_port"
	printf 'GET /status HTTP/1.0\r\n\r\n' >&"$to"
	while read -r -t 5 -u "$to" line && [[ $line != 'server accepts'* ]]; do :; done
	read -r -t 5 -u "$to" _ _ count _
	exec {to}>&-
}
count_postgres() {
	echo 'select pg_current_xact_id();' >&"${psql[1]}"
	read -r -t 5 -u "${psql[0]}" count
}
# Requests a second, between two counts with the time of each: rate NAME
rate() {
	local a b from to count=0
	"count_$1" && a=$count from=$EPOCHREALTIME
	sleep "$seconds"
	"count_$1" && b=$count to=$EPOCHREALTIME
	served=$(awk "BEGIN { printf \"%.1f\", ($b - $a) / ($to - $from) }")
}
busy_redis() {
	serve_redis && own redis-benchmark -p "$load_port" -c 20 -n 2000000000 -r 10000 -q -t get
}
busy_nginx() {
	serve_nginx || return 1
	if command -v wrk >/dev/null; then
		own wrk -t 1 -c 20 -d 3600 "http://127.0.0.1:$load_port/conf"
	else
		own ab -q -k -c 20 -t 3600 -n 100000000 "http://127.0.0.1:$load_port/conf"
	fi
}
# Every transaction writes, so that it has a number; nobody waits for the disk.
busy_postgres() {
	serve_postgres -c synchronous_commit=off &&
		own "${load_as[@]}" "$load_bin/pgbench" -n -N -c 4 -T 3600 -h 127.0.0.1 -p "$load_port" -U "$load_user" postgres || return 1
	coproc psql { exec "${load_as[@]}" "$load_bin/psql" -AtX -h 127.0.0.1 -p "$load_port" -U "$load_user" postgres; }
	load_own+=("$psql_PID") pids+=("$psql_PID")
}

# Median of the losses in percent and its 95 % interval by order statistics: the ranks n/2 -+ 0.98 √n.
loss() { # NAME VARIANT
	join "$tmp/$1.none" "$tmp/$1.$2" 2>/dev/null | awk '{ print (1 - $3 / $2) * 100 }' | sort -n | awk '
		{ v[NR] = $1 }
		END {
			if (!NR) exit
			low = int(NR / 2 - .98 * sqrt(NR)); if (low < 1) low = 1
			printf "%.2f %.2f %.2f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[low], v[NR + 1 - low]
		}'
}
losses() { # NAME TITLE
	local name=$1 v limit median low high begin
	load_own=() load_pids='' load_missing=''
	if ! "busy_$name"; then
		row "$2" "≤ 1 %" "${load_missing:-$name did not start}" -
		return
	fi
	sleep 2
	for round in $(seq -w "$rounds"); do
		for v in $(echo none sched_exit sys_exit | tr ' ' '\n' | shuf); do
			begin="begin_hook $v"
			[ "$v" != none ] || begin=begin_none
			$begin || { say "$v does not run here: $(tail -2 "$tmp/begin.err")"; continue; }
			[ "$v" = none ] || sleep "$settle"
			rate "$name"
			echo "$round $served" >>"$tmp/$name.$v"
			stop
		done
		say "$name $round: $(for v in none sched_exit sys_exit; do printf '%s %s  ' $v "$(awk -v r="$round" '$1 == r { print $2 }' "$tmp/$name.$v" 2>/dev/null)"; done)"
	done
	load_end
	for v in sched_exit sys_exit; do
		limit=1
		[ $v = sched_exit ] || limit=5
		read -r median low high <<<"$(loss "$name" $v)"
		if [ -n "${median-}" ]; then
			row "$2: requests lost with off-cpu, $v" "≤ $limit %" \
				"$median % ($low to $high)" "$(met "$median <= $limit")"
		else
			row "$2, by $v" "≤ $limit %" "this kernel has it not" -
		fi
	done
}
losses nginx "nginx under $(command -v wrk >/dev/null && echo wrk || echo ab)"
losses postgres "PostgreSQL under pgbench"
losses redis "Redis under redis-benchmark"
