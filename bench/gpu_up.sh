#!/usr/bin/env bash
# What cresset up takes at its defaults, windows into GPU programs among them, while a program on the double of the driver, with the library inside,
# launches kernels some 100,000 times a second.
. bench/lib.sh
seconds=${BENCH_SECONDS:-30}
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
library=$PWD/$BUILD/libcresset-cuda.so
if ! [ -e "$BUILD/doubles/libcuda.so.1" ] || ! [ -e "$library" ]; then exit 1; fi
# 64 launches, then a pause of 480 µs.
printf 'device 0 name "First"\nwait none\nkernel gemm ns 1500\nkernel softmax ns 333\nplay threads 1\nplay launches 100000\nplay pace 480\n' >"$CRESSET_DOUBLE"
pss() { awk '/^Pss:/ { print $2 * 1024 }' "/proc/$1/smaps_rollup"; }
half() { pgrep -P "$up" -x "$1"; }

chmod 755 "$tmp" # the store process is not root
start "$cresset" up --data "$tmp/data" --listen none --memory 32M 2>"$tmp/log"
up=${pids[-1]}
for _ in $(seq 100); do
	[ -n "$(half cresset-store)" ] && break
	sleep 0.1
done
collector=$(half cresset-collect) store=$(half cresset-store)
if [ -z "$collector" ] || [ -z "$store" ]; then
	say "up did not start: $(cat "$tmp/log")"
	exit 1
fi
sleep 20 # what runs here has names by then
own_ns() { echo $(($(cpu_ns "$up") + $(cpu_ns "$collector") + $(cpu_ns "$store"))); }
share() { # SECONDS: of a CPU, of all three processes
	local before from
	before=$(own_ns) from=$EPOCHREALTIME
	sleep "$1"
	calc "($(own_ns) - $before) / 1e7 / ($EPOCHREALTIME - $from)"
}
idle=$(share "$seconds")
mkfifo "$tmp/in"
CUDA_INJECTION64_PATH=$library "$progs/gpu_play" <"$tmp/in" >"$tmp/out" &
pids+=("$!")
exec 3>"$tmp/in"
(while echo go; do sleep 0.2; done) >&3 2>/dev/null &
pids+=("$!")
sleep 10 # its ring is found, the governor has settled
launches=$(grep -c "done" "$tmp/out") from=$EPOCHREALTIME
busy=$(share "$seconds")
rate=$(calc "($(grep -c "done" "$tmp/out") - $launches) * 1e5 / ($EPOCHREALTIME - $from)")
collecting=$(pss "$collector")
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
echo 1 >/proc/sys/kernel/bpf_stats_enabled
bpf=$(bpf_ns "$collector") from=$EPOCHREALTIME
sleep "$((seconds / 2))"
bpf=$(calc "($(bpf_ns "$collector") - $bpf) / 1e7 / ($EPOCHREALTIME - $from)")
echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
[ "$(met "$rate > 10000")" = yes ] || { say "the program did not play: $rate launches a second"; exit 1; }
row "\`up\` beside a program of $rate launches a second, with the library inside: all processes" "≤ 1 % of a CPU" \
	"$busy % ($idle % without the program)" "$(met "$busy <= 1")"
row "… BPF programs, those at each launch included" "-" "$bpf % of a CPU" -
row "… the collector's memory (Pss)" "≤ 12 MB" "$(calc "$collecting / 1e6") MB" "$(met "$collecting <= 12e6")"
exec 3>&-
kill "$up" && wait "$up"
