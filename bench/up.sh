#!/usr/bin/env bash
# cresset up at its defaults on a busy machine: programs that compute, servers under load, a compiler that restarts all the time, many
# programs in Python. What all of its processes and its BPF programs take of a CPU, from the tenth second on; the memory of both processes;
# how long the flame graph of the last 15 minutes takes meanwhile. BENCH_SECONDS: of each load (default 200: 13 minutes together).
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-200}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; load_end; cleanup' EXIT
chmod 755 "$tmp"
base=http://127.0.0.1:$(free_port)

start "$cresset" up --data "$tmp/data" --listen "${base#http://}" --memory 32M 2>"$tmp/log"
up=${pids[-1]}
half() { pgrep -P "$up" -x "$1"; }
for _ in $(seq 100); do
	curl -sf "$base/readyz" >/dev/null && break
	sleep 0.1
done
sleep 30 # what runs here has names by then
collector=$(half cresset-collect) store=$(half cresset-store)
if [ -z "$collector" ] || [ -z "$store" ]; then
	say "up did not start: $(cat "$tmp/log")"
	exit 1
fi
pss() { awk '/^Pss:/ { print $2 * 1024 }' "/proc/$1/smaps_rollup"; }
maps_bytes() {
	cat "/proc/$collector"/fdinfo/* 2>/dev/null | awk '/^map_type:/ { m = 1 } /^memlock:/ && m { n += $2; m = 0 } END { print n + 0 }'
}
own_ns() { echo $(($(cpu_ns "$up") + $(cpu_ns "$collector") + $(cpu_ns "$store"))); }
# As the page asks, one a second, each of the last 15 minutes: seconds that it took.
ask() { # SECONDS
	for _ in $(seq "$1"); do
		curl -s -o /dev/null -w '%{time_total}\n' "$base/api/v1/flame?q=cpu&from=now-15m&px=1600" >>"$tmp/flame"
		sleep 1
	done
}
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat; }
switches() { awk '/^ctxt/ { c = $2 } /^processes/ { print c, $2 }' /proc/stat; }

under() { # WORDS LOAD…: the CPU time with those running
	local words=$1 name own_n=() b0 b1 i0 i1 c0 c1 f0 f1 own bpf collecting t
	shift
	for name in "$@"; do
		load_begin "$name" $((seconds + 30)) || say "$name: $load_missing"
		own_n+=("${load_own[@]}")
	done
	load_own=("${own_n[@]}")
	sleep 10
	# Counting costs BPF programs a tenth of their time: the second half only.
	own=$(own_ns) collecting=$(cpu_ns "$collector")
	read -r b0 i0 <<<"$(busy)"
	read -r c0 f0 <<<"$(switches)"
	t=$EPOCHREALTIME
	sleep $((seconds / 2))
	own=$(($(own_ns) - own)) collecting=$(($(cpu_ns "$collector") - collecting))
	read -r b1 i1 <<<"$(busy)"
	read -r c1 f1 <<<"$(switches)"
	t=$(calc "(${EPOCHREALTIME} - $t)")
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	bpf=$(bpf_ns "$collector")
	sleep $((seconds / 2))
	bpf=$(($(bpf_ns "$collector") - bpf))
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
	load_end
	all=$(calc "$own / $t / 1e7 + $bpf / ($seconds / 2) / 1e7")
	row "CPU of \`up\` and its BPF: $words" "≤ 1 % of a CPU" \
		"$all % (collector $(calc "$collecting / $t / 1e7") %, store and server $(calc "($own - $collecting) / $t / 1e7") %, BPF $(calc "$bpf / ($seconds / 2) / 1e7") %; CPUs $(calc "100 * ($b1 - $b0) / ($b1 - $b0 + $i1 - $i0)") % busy, $(calc "int(($c1 - $c0) / $t)") switches/s, $(calc "($f1 - $f0) / $t") new threads/s)" \
		"$(met "$all <= 1")"
	echo "$EPOCHSECONDS $(pss "$collector") $(pss "$store")" >>"$tmp/pss"
}
under "two programs that compute" sqlite openssl
under "servers under load (nginx, redis, PostgreSQL)" nginx redis postgres
under "a compiler that restarts all the time" cc1 cc1
under "20 programs in Python of 4 threads each, two of them busy" pythons

load_begin sqlite 60
ask 40
load_end
p99=$(sort -n "$tmp/flame" | awk '{ v[NR] = $1 } END { print v[int(NR * .99 + .5)] * 1000 }')
row "… flame graph of 15 minutes over HTTP, one CPU busy: p99" "≤ 50 ms" "$p99 ms" "$(met "$p99 <= 50")"
collector_pss=$(pss "$collector") store_pss=$(pss "$store")
row "… memory after that (Pss): the collector" "≤ 12 MB" "$(calc "$collector_pss / 1e6") MB; kernel maps $(calc "$(maps_bytes) / 1e6") MB" "$(met "$collector_pss <= 12e6")"
row "… both processes, with --memory 32M" "≤ 72 MB" "$(calc "($collector_pss + $store_pss) / 1e6") MB" "$(met "$collector_pss + $store_pss <= 72e6")"
