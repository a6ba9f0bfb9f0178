#!/usr/bin/env bash
# tier: kernels
# run: alone
# tests/kernels/pressure.sh: waits are recorded while the kernel has next to no memory left: it reclaims pages all the time, processes begin and
# end, and many threads switch. Nothing may be allocated at a switch, where the run queue is locked (src/bpf/task_map.h): a kernel that does
# hangs or says so, which tests/kernels/inside looks for.
#
# Prints TAP. For a machine of its own with little memory (tests/kernels/matrix): what has the memory is ended when the test is.
. tests/live/lib.sh
[ "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)" -lt 1500000 ] || { echo "1..0 # SKIP for a machine with less than 1.5 GB"; exit 0; }

# Leaves 32 MiB of what is available.
cat >"$tmp/hog.py" <<'END'
import time
available = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
pages = max(available - 32 * 1024, 4096) // 4
memory = bytearray(pages * 4096)
memory[::4096] = b"\1" * pages
time.sleep(1e6)
END
# Reading a hole takes a page of the cache for each of it, and no disk.
hole=$(mktemp /var/tmp/cresset-hole.XXXXXX)
truncate -s 8G "$hole"
churn="while :; do cat '$hole' >/dev/null; done"
# shellcheck disable=SC2016
forks='while :; do /bin/true & /bin/true & wait; done'

"$cresset" record --no-progress -a -e off-cpu --wakers -m 0 -o "$tmp/waits.cresset" 2>"$tmp/waits.err" &
recorder=$!
pids+=("$recorder")
for _ in $(seq 600); do
	grep -q recording "$tmp/waits.err" && break
	sleep 0.1
done
start "$progs/sleepers" 20 50 1000 </dev/zero >/dev/null
start python3 "$tmp/hog.py"
start sh -c "$churn"
start sh -c "$forks"
start sh -c "$forks"
"$progs/known" known 30 >"$tmp/truth"
is "a program ends while it runs" $? 0
scanned=$(awk '/^pgscan_kswapd|^pgscan_direct / { n += $2 } END { print n + 0 }' /proc/vmstat)
holds "the kernel looked for memory ($scanned pages)" test "$scanned" -gt 100000
kill "${pids[@]:1}" 2>/dev/null
kill -INT "$recorder"
wait "$recorder"
is "the recording ends" $? 0
"$cresset" convert -q --type off-cpu -o "$tmp/waits.folded" "$tmp/waits.cresset"
want=$(awk '$1 == "off" { print $3 }' "$tmp/truth") slack=$(awk '$1 == "slack" { print $3 }' "$tmp/truth")
# Reading what was reclaimed is a wait, too, in other functions.
got=$(awk '/^known-waiter;/ && /\[blocked: futex/ { n += $NF } END { print n + 0 }' "$tmp/waits.folded")
near "µs that the waiter is blocked" "$got" $((want + slack / 2)) $((want / 20 + slack / 2))
echo "# fact pressure: $(grep -m 1 done: "$tmp/waits.err"); $scanned pages looked at; $(grep lost "$tmp/waits.err" | tail -n 1)"
rm -f "$hole"
finish
