#!/usr/bin/env bash
# What memory costs cresset up: with 20 programs that have the library and 100 sampled allocations a second each, against the same programs
# without --events alloc,inuse: CPU time of the collector and its BPF programs, and its memory. Each of the two takes BENCH_SECONDS (default 60).
. bench/lib.sh
seconds=${BENCH_SECONDS:-60} programs=20
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
chmod 755 "$tmp"
cp "$BUILD/bench/heap_load" "$tmp/heap_load"
for _ in $(seq $programs); do start "$tmp/heap_load" $((3 * seconds + 300)); done
# Its own memory (0), and its part of the memory shared with the programs (1).
pss() { awk -v of="$2" '/^[0-9a-f]+-/ { is = $6 == "/memfd:cresset-mem" } /^Pss:/ && is == of { n += $2 * 1024 } END { print n + 0 }' "/proc/$1/smaps"; }
# Sets own, bpf (shares of a CPU in percent), memory and shared: one NAME OPTION…
one() {
	local up collector t
	"$cresset" up -v --data "$tmp/data.$1" --listen none "${@:2}" 2>"$tmp/log" &
	up=$!
	pids+=("$up")
	for _ in $(seq 1200); do
		[ "$1" = without ] || grep -q "allocations of $programs programs" "$tmp/log" && break
		sleep 0.1
	done
	sleep 30
	collector=$(pgrep -P "$up" -x cresset-collect)
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	own=$(cpu_ns "$collector") bpf=$(bpf_ns "$collector") t=$EPOCHREALTIME
	sleep "$seconds"
	t=$(calc "$EPOCHREALTIME - $t")
	own=$(calc "($(cpu_ns "$collector") - $own) / $t / 1e7") bpf=$(calc "($(bpf_ns "$collector") - $bpf) / $t / 1e7")
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
	memory=$(pss "$collector" 0) shared=$(pss "$collector" 1)
	# The last interval is not stored yet.
	"$cresset" query --data "$tmp/data.$1" alloc-objects --from "now-${seconds}s" --to now-10s --json 2>/dev/null | jq '[.top[].self] | add // 0' >"$tmp/blocks.$1"
	kill "$up" && wait "$up"
}
one without --events cpu,off-cpu
read -r own0 bpf0 memory0 <<<"$own $bpf $memory"
one with --events cpu,off-cpu,alloc,inuse --mem-attach 'comm="heap_load"'
more=$(calc "$own + $bpf - $own0 - $bpf0")
row "memory in \`up\`: $programs programs with the library, 100 sampled allocations a second each" "≤ 0.2 % of a CPU more" \
	"$more % more (collector $own0 % and $own %, BPF $bpf0 % and $bpf %)" "$(met "$more <= 0.2")"
row "… its memory" "≤ 8 MB more" "$(calc "($memory - $memory0) / 1e6") MB more (Pss $(calc "$memory0 / 1e6") MB and $(calc "$memory / 1e6") MB; and $(calc "$shared / 1e6") MB of what it shares with the programs)" \
	"$(met "$memory - $memory0 <= 8e6")"
row "… blocks allocated in $((seconds - 10)) s" "$((programs * 2500 * (seconds - 10)))" "$(cat "$tmp/blocks.with")" -
