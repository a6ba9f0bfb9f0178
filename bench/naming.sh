#!/usr/bin/env bash
# What names cost cresset up at its defaults, and whether they are there: eight programs that compute, and others that come one after the other
# with functions and ways into the kernel that were not seen before, while the page asks. BENCH_SECONDS: how long (default 300).
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-300}
chmod 755 "$tmp"
base=http://127.0.0.1:$(free_port)

start "$cresset" up -v --data "$tmp/data" --listen "${base#http://}" 2>"$tmp/log"
up=${pids[-1]}
for _ in $(seq 300); do
	curl -sf "$base/readyz" >/dev/null && break
	sleep 0.1
done
collector=$(pgrep -P "$up" -x cresset-collect) store=$(pgrep -P "$up" -x cresset-store)
[ -n "$collector" ] && [ -n "$store" ] || { say "up did not start: $(cat "$tmp/log")"; exit 1; }
for i in $(seq 8); do start "$progs/burn" "busy-$i" "$seconds" >/dev/null; done
work() { # for ever: programs of many kinds, each with code of its own
	while :; do
		find /usr -name '*.h' -exec grep -c static {} + | sort | tail -1
		tar cf - /usr/include | gzip -1 | wc -c
		python3 -c 'import json, re, hashlib; [json.dumps(sorted(re.findall("[a-z]+", hashlib.sha256(str(i).encode()).hexdigest()))) for i in range(20000)]'
		awk 'BEGIN { for (i = 0; i < 300000; i++) { s = sprintf("%s%d", substr(s, 1, 40), i); gsub(/[0-4]/, "x", s) } }'
	done
}
start work >/dev/null 2>&1
from=$EPOCHREALTIME own=$(($(cpu_ns "$collector") + $(cpu_ns "$store")))
for _ in $(seq $((seconds / 5))); do
	curl -s -o /dev/null "$base/api/v1/flame?q=cpu&from=now-5m&px=1600"
	sleep 5
done
own=$(($(cpu_ns "$collector") + $(cpu_ns "$store") - own)) took=$(calc "$EPOCHREALTIME - $from")
pss() { awk '/^Pss:/ { print $2 * 1024 }' "/proc/$1/smaps_rollup"; }
collector_pss=$(pss "$collector") store_pss=$(pss "$store")
"$cresset" query --server "$base" cpu --from now-15m --format folded -o "$tmp/folded" 2>/dev/null
frames=$(tr ';' '\n' <"$tmp/folded" | sed 's/ [0-9]*$//' | sort -u)
nameless=$(grep -c '^\[kernel\]+0x' <<<"$frames")
kill -TERM "$up"
wait "$up"
kernel_ms=$(sed -n 's/.*kernel symbols took \([0-9]*\) ms.*/\1/p' "$tmp/log") reads=$(sed -n 's/.*CPU time and were read \([0-9]*\) times.*/\1/p' "$tmp/log")
files_ms=$(sed -n 's/.*symbolization took \([0-9]*\) ms.*/\1/p' "$tmp/log") files=$(sed -n 's/.*files were read \([0-9]*\) times.*/\1/p' "$tmp/log")
share=$(calc "($kernel_ms + $files_ms) / $took / 10")
row "names, \`up\` beside 8 busy programs and others that come and go, asked every 5 s: CPU time of all naming" "≤ 1 % of a CPU" \
	"$share % (kernel $kernel_ms ms, its symbols read ${reads}x; files $files_ms ms, read ${files}x, in $took s; both processes took $(calc "$own / $took / 1e7") %)" "$(met "$share <= 1")"
row "… kernel frames without a name, of $(wc -l <<<"$frames") frames that it has" "0" "$nameless" "$(met "$nameless == 0")"
row "… the collector's memory (Pss); the store process's" "≤ 12 MB; stated" "$(calc "$collector_pss / 1e6") MB; $(calc "$store_pss / 1e6") MB" "$(met "$collector_pss <= 12e6")"
