#!/usr/bin/env bash
# tier: live
# run: alone
# The same seconds recorded by perf record: the same number of samples, the same functions, the same kernel functions.
. tests/live/lib.sh
needs_recording

begin "$tmp/ours.folded" -a -F 199 -o "$tmp/ours.pb.gz"
mkfifo "$tmp/control" "$tmp/ack"
perf record -q -a -g -e cpu-clock -F 199 -D -1 --control "fifo:$tmp/control,$tmp/ack" -o "$tmp/perf.data" 2>/dev/null &
perf=$!
pids+=("$perf")
echo enable >"$tmp/control"
read -r _ <"$tmp/ack"
begun=$EPOCHREALTIME
"$progs/burn" peer-burn 2 >"$tmp/cpu_ns"
ended=$EPOCHREALTIME
dd if=/dev/zero of=/dev/null bs=64k count=200000 2>/dev/null
kill -INT $perf
wait $perf
end
perf script -i "$tmp/perf.data" -F comm,ip,sym 2>/dev/null >"$tmp/perf.txt"

# Both counts are random where the program shares its CPU.
of_both() { awk "BEGIN { alone = $(sigma "$1" .05 4); both = $(sampled_sigma $((2 * $1)) 0 4 2 "$begun" "$ended"); print (alone > both ? alone : both) }"; }
# Counts per comm, and per leaf function of one comm, from perf's text (a sample is a block whose first frame is the leaf).
perf_leaf() { awk -v c="$1" '/^[^ \t]/ { on = $1 == c; leaf = 1; next } NF && leaf { leaf = 0; if (on) n[$2]++ } END { for (f in n) print n[f], f }' "$tmp/perf.txt" | sort -rn | head -1; }
our_leaf() { awk -v c="^$1;" '$0 ~ c { v = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";"); n[f[k]] += v } END { for (x in n) print n[x], x }' "$tmp/ours.folded" | sort -rn | head -1; }

theirs=$(grep -c '^peer-burn' "$tmp/perf.txt")
ours=$(folded_sum '^peer-burn;' <"$tmp/ours.folded")
near "as many samples of a busy program" "$ours" "$theirs" "$(of_both "$theirs")"
read -r n name <<<"$(our_leaf peer-burn)"
read -r their_n their_name <<<"$(perf_leaf peer-burn)"
is "the same hottest function" "$name" "$their_name"
near "… as hot" "$n" "$their_n" "$(of_both "$theirs")"
read -r _ name <<<"$(our_leaf dd)"
read -r _ their_name <<<"$(perf_leaf dd)"
is "the same hottest kernel function" "$name" "$their_name"

go tool pprof -symbolize=none -top "$tmp/ours.pb.gz" >"$tmp/top" 2>&1
is "go tool pprof reads it" $? 0
near "… with the same total" "$(go tool pprof -symbolize=none -sample_index=samples -raw "$tmp/ours.pb.gz" 2>/dev/null |
	awk '/^Samples:/ { on = 1; next } /^Locations/ { on = 0 } on && $1 ~ /^[0-9]+$/ { n += $1 } END { print n }')" "$(folded_sum <"$tmp/ours.folded")" 0
holds "… and the program's function" grep -q burn_loop "$tmp/top"
finish
