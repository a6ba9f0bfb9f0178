#!/usr/bin/env bash
# The whole machine at 19 Hz, steady: twenty programs of many libraries run, with little to do, so that the recorder has the tables of
# all of them; after ten seconds the CPU time of its process and the run time of its BPF programs over half a minute, its memory, and
# what the kernel holds.
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-30}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; load_end; cleanup' EXIT
echo 1 >/proc/sys/kernel/bpf_stats_enabled

"$cresset" record -a -q -F 19 -d 1000 --json -o "$tmp/c.cresset" >"$tmp/c.json" &
recorder=$!
pids+=("$recorder")
sleep 1
# Programs that wait for input that never comes, or for time; those that are missing are left out.
waiting=0
mkfifo "$tmp/never"
exec 9<>"$tmp/never"
idle() {
	command -v "$1" >/dev/null || return
	"$@" <&9 >/dev/null 2>&1 &
	pids+=($!)
	waiting=$((waiting + 1))
}
idle python3 -c 'import time, ssl, sqlite3, decimal, lzma, bz2, ctypes
while 1: time.sleep(0.2); sum(range(20000))'
idle perl -e 'use POSIX; while (1) { select(undef, undef, undef, 0.2) }'
idle node -e 'setInterval(() => JSON.stringify([...Array(1000).keys()]), 200)'
idle sqlite3 :memory:
idle bash
idle zsh -f -s
idle fish --no-config
idle jq .
idle gdb -q -nx
idle openssl
idle cat
idle xz -c
idle zstd -q -c
idle gzip -c
idle sha256sum
idle sort
idle bc -q
idle m4
idle awk '{ print }'
idle xmllint --shell /dev/null
idle psql --help
idle git hash-object --stdin
idle gcc -x c -S -o /dev/null -
idle clang-14 -x c -S -o /dev/null -
servers=()
for name in redis nginx; do
	load_begin $name 1 && waiting=$((waiting + 1))
	servers+=("${load_own[@]}")
done
load_own=("${servers[@]}")
sleep 10
# The thread that builds tables is idle on a machine where no new program begins: said apart.
main_ns() { awk '{ print $1 }' "/proc/$recorder/task/$recorder/schedstat"; }
begun() { awk '/^processes/ { print $2 }' /proc/stat; }
cpu0=$(cpu_ns $recorder) main0=$(main_ns) bpf0=$(bpf_ns $recorder) begun0=$(begun)
for _ in $(seq "$seconds"); do
	sleep 1
	awk '/^Pss:/ { print $2 * 1024 }' "/proc/$recorder/smaps_rollup" >>"$tmp/pss"
done
own=$(($(cpu_ns $recorder) - cpu0)) main=$(($(main_ns) - main0)) bpf=$(($(bpf_ns $recorder) - bpf0)) new=$(($(begun) - begun0))
pss=$(sort -n "$tmp/pss" | sed -n "$((seconds / 2 + 1))p")
processes=$(find /proc -maxdepth 1 -name '[0-9]*' | wc -l)
files=$(cat /proc/[0-9]*/maps 2>/dev/null | awk '$2 ~ /x/ && $6 ~ /^\// && !(($4, $5) in seen) { seen[$4, $5] = 1; n++ } END { print n }')
load=$(cut -d' ' -f1 /proc/loadavg)
kill -INT $recorder
wait $recorder 2>/dev/null
json() { jq -r ".$1" "$tmp/c.json"; }
tables=$(json unwind_tables) table_bytes=$(json unwind_table_bytes) map_bytes=$(json kernel_map_bytes)
say "$waiting programs started; $(json samples) samples; $(json unwind_tables_evicted) tables evicted; $(json walked_in_user_space) walked in user space"
row "whole machine at 19 Hz after 10 s, the collector" "≤ 0.1 % of a CPU" \
	"$(calc "$own / $seconds / 1e7") %, $(calc "($own - $main) / $seconds / 1e7") % of it for tables of new programs; $(calc "$bpf / $seconds / 1e7") % in its BPF programs (load $load, $processes processes, $new new)" \
	"$(met "$own / $seconds / 1e7 <= 0.1")"
row "… its memory (Pss), with rings and tables" "≤ 12 MB" \
	"$(calc "$pss / 1e6") MB; $tables tables, $files files are mapped as code" "$(met "$pss <= 12e6")"
row "… kernel memory of the tables; of all maps" "≤ 32 MiB" \
	"$(calc "$table_bytes / 1048576") MiB; $(calc "$map_bytes / 1048576") MiB" "$(met "$table_bytes <= 32 * 1048576")"
