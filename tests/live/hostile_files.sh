#!/usr/bin/env bash
# tier: live
# Attempts of a user without privileges to blind or slow cresset up: a perf map of 60 GB that takes no disk space, one with many entries, a process
# that maps and unmaps endlessly, one that starts others endlessly. In the meantime, another program's samples are stored, with names, and cresset up
# ends when it is told to.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is nobody
data=$tmp/data
cp "$progs/hostile" "$tmp/hostile" # nobody may not read the build directory
chmod 755 "$tmp/hostile"
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/sql.err" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
lost() { ask "SELECT CAST(coalesce(max(value), 0) AS INT) FROM metrics WHERE name = 'cresset_lost' AND series IN (SELECT series FROM labels WHERE key = 'reason' AND value = '$1')"; }
as_nobody() { # NAME WHAT [ARG]: a program of that name
	cp "$tmp/hostile" "$tmp/$1"
	setpriv --reuid 65534 --clear-groups "$tmp/$1" "${@:2}" >/dev/null &
	pids+=("$!")
}
until_counted() { # COMMAND…: until it prints more than 0
	for _ in $(seq 120); do
		[ "$("$@")" -gt 0 ] 2>/dev/null && return
		sleep 0.5
	done
}
end_program() { # its children, too, by their parent
	pkill -9 -P "$1"
	kill -9 "$1"
	wait "$1"
} 2>/dev/null

begin_always up --data "$data" --listen none
as_nobody "$$-sparse" sparse 60000000000
sparse=${pids[-1]}
as_nobody "$$-large" entries 300000
large=${pids[-1]}
"$progs/burn" "$$-beside" 2 >/dev/null
until_stored "$$-beside"
holds "with a perf map of 60 GB another program is stored" test "$(burnt "$$-beside")" -gt 100
until_counted burnt "$$-sparse"
holds "… and that program itself" test "$(burnt "$$-sparse")" -gt 0
until_counted lost code_unread
holds "its names that were given up are counted" test "$(lost code_unread)" -gt 0
until_counted burnt "$$-large"
"$cresset" query --data "$data" "cpu{comm=\"$$-large\"}" >"$tmp/large" 2>&1
holds "one of 300,000 entries has names" grep -q 'LazyCompile:hostile_code' "$tmp/large"
holds "nothing of the other's is missing for it" test "$(lost ring_full)" -eq 0
reader=$(worker cresset-code)
holds "it is read by another process" test -n "$reader"
holds "… that keeps little of it, KiB: $(awk '/^Private_Dirty:/ { print $2 }' "/proc/$reader/smaps_rollup")" test "$(awk '/^Private_Dirty:/ { print $2 }' "/proc/$reader/smaps_rollup")" -lt 8192
end_program "$sparse"
end_program "$large"
rm -f "/tmp/perf-$sparse.map" "/tmp/perf-$large.map"

# What a storm of mappings costs the collector once the time that it had saved is gone, the waking included.
ticks() { awk '{ print $14 + $15 }' "/proc/$(half cresset-collect)/stat"; }
over() { # SECONDS: ticks meanwhile
	local from
	from=$(ticks)
	sleep "$1"
	echo $(($(ticks) - from))
}
calm=$(over 20)
as_nobody "$$-maps" maps
maps=${pids[-1]}
sleep 35
storm=$(over 20)
echo "# ticks of 20 s: $calm without, $storm beside a storm of mappings"
holds "a storm of mappings costs the collector 5 % of a CPU at most" test $((storm - calm)) -le $(($(getconf CLK_TCK) * 20 * 5 / 100))
as_nobody "$$-short" short
short=${pids[-1]}
until_counted lost side_band
holds "in storms of mappings and processes records are dropped, and counted" test "$(lost side_band)" -gt 0
"$progs/burn" "$$-amid" 2 >/dev/null
until_stored "$$-amid"
holds "… and another program's samples are stored" test "$(burnt "$$-amid")" -gt 100
"$cresset" query --data "$data" "cpu{comm=\"$$-amid\"}" >"$tmp/amid" 2>&1
holds "… with names" grep -Eq 'native +(burn|main)' "$tmp/amid"
end_program "$maps"
end_program "$short"

end_always
is "it ends on request" "$status" 0
holds "… on its own" test "$(grep -c 'is killed' "$tmp/log")" -eq 0
finish
