#!/usr/bin/env bash
# Memory of a recorder on an idle machine after a minute: proportional set size with all rings, the peak while loading (the
# kernel's type information is parsed then) and what the kernel holds in maps.
. bench/lib.sh
"$cresset" record -a -q -d 1000 -o "$tmp/c.cresset" &
recorder=$!
pids+=("$recorder")
sleep "${BENCH_SECONDS:-60}"
pss=$(awk '/^Pss:/ { print $2 }' "/proc/$recorder/smaps_rollup")
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$recorder/status")
peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$recorder/status")
maps=0
for fd in /proc/"$recorder"/fdinfo/*; do
	maps=$((maps + $(awk '/^map_type:/ { m = 1 } /^memlock:/ { n = $2 } END { print m ? n : 0 }' "$fd" 2>/dev/null || echo 0)))
done
kill -INT $recorder
wait $recorder 2>/dev/null
row "user-space memory after a minute on an idle machine (Pss, rings included)" "≤ 8 MB" "$(calc "$pss * 1024 / 1e6") MB (RSS $(calc "$rss * 1024 / 1e6") MB)" "$(met "$pss * 1024 <= 8e6")"
row "peak while loading (the kernel's BTF is parsed)" "stated" "$(calc "$peak * 1024 / 1e6") MB" -
row "kernel map memory" "stated" "$(calc "$maps / 1e6") MB" -
