#!/usr/bin/env bash
# tier: live
# run: alone
# A file of perf record has the same content for us as for perf script: samples and sums of every event, samples of every thread name, the hottest
# function. As a file, compressed, through a pipe, with stacks still to be unwound, and killed. Where perf itself fails (6.1 does at times, with
# "stack smashing detected"), there is nothing to compare with.
. tests/live/lib.sh
needs_recording

work() {
	"$progs/burn" data-burn 0.4 >/dev/null &
	for _ in $(seq 20); do "$progs/short" & done
	dd if=/dev/zero of=/dev/null bs=64k count=20000 2>/dev/null
	for _ in $(seq 30); do (true); /bin/true; done
	wait
}
export -f work
export progs

record() { # FILE ARG…: everything that work does
	local file=$1
	shift
	perf record -q -g -F 999 -o "$file" "$@" -- bash -c work 2>"$tmp/perf.err"
}
perf_says() { perf script -i "$1" -F event,comm,period >"$tmp/perf.txt" 2>"$tmp/perf.err"; }
# Number of samples and sum of the periods of an event.
perf_event() { awk -v e="$1" '{ for (i = 2; i <= NF; i++) if (index($i, e) == 1) { n++; sum += $(i - 1) } } END { printf "%d %.0f\n", n, sum }' "$tmp/perf.txt"; }
perf_comms() { awk '/cpu-clock/ { sub(/ +[0-9]+ +cpu-clock.*/, ""); gsub(/^ +| +$/, ""); gsub(/ /, "_"); sub(/^:-1$/, "?"); n[$0]++ } END { for (c in n) print n[c], c }' "$tmp/perf.txt" | sort; }
perf_leaf() { # FILE COMM: samples and name of the most frequent leaf function
	perf script -i "$1" --no-inline -F comm,event,ip,sym 2>/dev/null |
		awk -v c="$2" '/^[^ \t]/ { on = $1 == c && /cpu-clock/; leaf = 1; next } NF && leaf { leaf = 0; if (on) n[$2]++ } END { for (f in n) print n[f], f }' | sort -rn | head -1
}
dwarf() { # FILE COMMAND…: perf 6.1 fails now and then
	local file=$1
	shift
	for _ in 1 2 3 4 5; do
		perf record -q -N -F 499 --call-graph dwarf,8192 -e cpu-clock:u -o "$file" -- "$@" >/dev/null 2>"$tmp/perf.err" && return
	done
	return 1
}
our() { "$cresset" report -q "$1" --json --top 0 "${@:3}" | jq -r "$2"; }

# same NAME FILE TYPE:EVENT… : the sum of a clock is its samples times their period. Perf reads $for_perf where that is set.
same() {
	local name=$1 file=$2 pair n function
	shift 2
	if ! perf_says "${for_perf:-$file}"; then
		skip "$name" "perf fails: $(tail -1 "$tmp/perf.err")"
		return
	fi
	for pair in "$@"; do
		is "$name: ${pair#*:}" "$(our "$file" '"\(.samples) \(if .scale == null then .total else (.total * .scale | round) end)"' --type "${pair%%:*}")" \
			"$(perf_event "${pair#*:}")"
	done
	is "$name: thread names" "$(our "$file" '.top[] | select(.kind == "marker" and .binary == null) | "\(.total) \(.function)"' --by comm --type cpu | grep -v truncated | sort)" "$(perf_comms)"
	read -r n function <<<"$(perf_leaf "${for_perf:-$file}" data-burn)"
	is "$name: hottest function of a program" "$function" burn_loop
	near "$name: … as hot" "$(our "$file" '.top[] | select(.function == "burn_loop") | .self')" "$n" 5
}

record "$tmp/a" -e cpu-clock,page-faults,context-switches
same "a file" "$tmp/a" cpu:cpu-clock page-faults:page-faults context-switches:context-switches
is "the kernel's functions have names" "$(our "$tmp/a" '.top[] | select(.function == "do_syscall_64") | .kind')" kernel
is "compressed: the same" "$(gzip <"$tmp/a" | "$cresset" report -q - --csv)" "$("$cresset" report -q "$tmp/a" --csv)"
record "$tmp/z" -z -e cpu-clock
same "compressed" "$tmp/z" cpu:cpu-clock
record - -e cpu-clock >"$tmp/p"
same "through a pipe" "$tmp/p" cpu:cpu-clock

# Stacks that perf left to be unwound, of a program without frame pointers: walked as perf walks them.
spin() { for ((i = 0; i < 30000; i++)); do x=${x//a/b}$((i * i)) && x=${x:0:50}; done; }
export -f spin
# A line for each sample: its addresses, leaf first. Where there is debug information, we also name the functions inlined there.
addresses() { awk '/^#/ { next } /^[ \t]/ && !/truncated|\(inlined\)$/ { s = s " " $1 } !NF && s { print s; s = "" } END { if (s) print s }' | sort; }
# Those that reach the most common outermost frame: where perf gives up, at the address -1 or silently, there is nothing to compare.
whole() { awk '{ line[NR] = $0; root[NR] = $NF; n[$NF]++ } END { for (r in n) if (n[r] > n[most]) most = r; for (i = 1; i <= NR; i++) if (root[i] == most) print line[i] }'; }
if dwarf "$tmp/d" bash -c spin && perf script -i "$tmp/d" --no-inline 2>/dev/null | addresses | whole >"$tmp/d.perf"; then
	"$cresset" convert "$tmp/d" -o "$tmp/d.perf.txt" 2>"$tmp/d.err"
	n=$(wc -l <"$tmp/d.perf")
	holds "stacks left to unwind: there are some" test "$n" -gt 30
	is "… every one the same as perf's" "$(addresses <"$tmp/d.perf.txt" | comm -13 - "$tmp/d.perf")" ""
	holds "… which reach _start" test "$(our "$tmp/d" .truncated)" -le $((1 + n / 50))
else
	skip "stacks left to unwind" "perf fails"
fi

# Stacks through files that no longer exist are not walked.
cp "$progs/burn" "$tmp/gone"
if dwarf "$tmp/g" "$tmp/gone" data-burn 0.3; then
	rm "$tmp/gone"
	is "without the file: the root has the reason" "$(HOME=/ our "$tmp/g" '.truncated == .total and .total > 30')" true
	holds "… and counted" grep -q "user stacks not walked: through a file that is not on this machine: $tmp/gone" <(HOME=/ "$cresset" report "$tmp/g" 2>&1)
else
	skip "stacks of a file that is gone" "perf fails"
fi

# When killed, perf leaves a header without the size of the data, which perf cannot read, and possibly half a record at the end. It reads a copy whose
# header has the size of the complete records and says that nothing follows them.
start "$progs/burn" data-burn 60 >/dev/null
perf record -q -g -F 999 -m 16 -e cpu-clock -o "$tmp/k" -p "${pids[-1]}" 2>/dev/null &
perf=$!
pids+=("$perf")
for _ in $(seq 600); do
	[ "$(stat -c %s "$tmp/k" 2>/dev/null || echo 0)" -gt 20000 ] && break
	sleep 0.1
done
kill -9 $perf
wait $perf 2>/dev/null
truncate -s -5 "$tmp/k"
holds "killed: it ends within a record" python3 - "$tmp/k" "$tmp/k.whole" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, size = struct.unpack_from("<QQ", data, 40)
assert size == 0, "perf had finished"
end = start
while end + 8 <= len(data):
    record, = struct.unpack_from("<H", data, end + 6)
    if record < 8 or end + record > len(data):
        break
    end += record
assert start < end < len(data), "it ends with a whole record"
struct.pack_into("<Q", data, 48, end - start)
data[72:104] = bytes(32)
open(sys.argv[2], "wb").write(data[:end])
PY
for_perf=$tmp/k.whole same "killed: read as far as it goes" "$tmp/k" cpu:cpu-clock
finish
