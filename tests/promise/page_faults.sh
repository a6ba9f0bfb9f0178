#!/usr/bin/env bash
# tier: test
# Page faults by stack: each function of a program has as many as the kernel counted in it, whether it touched memory itself or in a system call.
. tests/live/lib.sh
needs_recording

rounds=5
"$cresset" record --no-progress -e page-fault -o "$tmp/f.cresset" -- "$progs/faults" $rounds >"$tmp/truth" 2>"$tmp/err"
is "the recording" $? 0
folded "$tmp/f.cresset" page-fault >"$tmp/folded"
# A fault is recorded with the probability 1/16 and stands for 16: the variance of n faults is 15 n. In a burst above the limit fewer are recorded.
pages() { awk -v f="$1" '$0 ~ ";" f "(;| )" { n += $NF } END { printf "%d", n / 4096 }' "$tmp/folded"; }
all=0 want_all=0
while read -r function want; do
	got=$(pages "$function")
	near "faults in $function" "$got" "$want" "$(awk "BEGIN { printf \"%d\", 5 * sqrt(15 * $want) }")"
	all=$((all + got)) want_all=$((want_all + want))
done <"$tmp/truth"
is "five functions" "$(wc -l <"$tmp/truth")" 5
holds "… with $((rounds * 2000)) faults each" awk -v n=$((rounds * 2000)) '$2 < n { exit 1 }' "$tmp/truth"
near "faults in all of them" $all $want_all "$(awk "BEGIN { printf \"%d\", 5 * sqrt(15 * $want_all) }")"
is "stacks reach the first frame of a program or thread" "$(awk '/;touch_/ && !/^[^;]*;(_start|clone3?|__clone3?);/' "$tmp/folded" | head -n 3)" ""
holds "the system call's caller is known" grep -q ';touch_by_read;.*read ' "$tmp/folded"
holds "nothing is lost" grep -q " 0 lost" "$tmp/err"

# Other processes are not recorded.
is "only the program and its children" "$(grep -vc '^faults;' "$tmp/folded" || true)" 0

# A Python function that makes a large object.
if command -v python3 >/dev/null; then
	cat >"$tmp/grow.py" <<'END'
import time
def grow():
    return [b"x" * (1 << 20) for _ in range(60)]
# Time of the CPU: on a busy machine the recorder gets as much in the meantime, to find the interpreter.
while time.process_time() < 2:
    pass
kept = grow()
END
	"$cresset" record --no-progress -e page-fault -o "$tmp/p.cresset" -- python3 "$tmp/grow.py" 2>"$tmp/err"
	folded "$tmp/p.cresset" page-fault >"$tmp/python"
	near "MiB touched below a Python function" "$(awk '/;grow[; ]/ { n += $NF } END { printf "%d", n / 1048576 }' "$tmp/python")" 60 9
fi
finish
