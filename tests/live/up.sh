#!/usr/bin/env bash
# tier: live
# run: first
# cresset up: running programs are soon in the store, with names. Each half may be killed at any moment, and nothing that was stored is lost or there
# twice. It stops within seconds. The data is there when it starts again.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

me=$$ # others on this machine may burn, too
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
up() { begin_always up --data "$data" --listen 127.0.0.1:0; }
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
# Samples of a program, by their function; burn_loop is where tests/live/prog/burn spends all its time.
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }

up
until_said "look at it"
is "it reports recording once both processes are ready, and then the address" \
	"$(sed -n 's/.*the collector runs.*/collector/p; s/.*the store process runs.*/store/p; s/.*recording this machine.*/records/p; s/.*look at it.*/where/p' "$tmp/log" | tr '\n' ' ' | sed 's/^store collector/collector store/')" "collector store records where "
holds "the store process has a separate user" store_user "$(stat -c %u "/proc/$(half cresset-store)")"
is "… and has no capability" "$(sed -n 's/^CapEff:\t//p' "/proc/$(half cresset-store)/status")" 0000000000000000
is "… nor gets any" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$(half cresset-store)/status")" 1
owner=$(stat -c %u "/proc/$(half cresset-store)")
is "the directory is the store process's alone" "$(stat -c %u:%a "$data")" "$owner:700"

"$progs/burn" "$me-burner" 3 >/dev/null
until_stored "$me-burner"
near "a program is in the store, sample by sample" "$(burnt "$me-burner")" 297 60
is "… each per thread, and not as a window sum" "$(ask "SELECT count(*) > 0, count(*) - count(tid), count(*) - count(cpu) FROM samples WHERE type = 'cpu'")" "1,0,0"
"$cresset" query --data "$data" 'cpu{comm="'"$me"'-burner"}' --csv >"$tmp/top.csv" 2>"$tmp/err"
holds "… with its functions' names" grep -q burn_loop "$tmp/top.csv"
"$cresset" query --data "$data" 'cpu{}' --csv >"$tmp/top.csv" 2>"$tmp/err"
holds "… and the kernel's" grep -q '\[kernel\]' "$tmp/top.csv"
host=$(uname -n)
is "every series has the host" "$(ask "SELECT count(*) FROM series WHERE id NOT IN (SELECT series FROM labels WHERE key = 'host' AND value = '$host')")" 0

# --- the host at the same time. A core burns; /proc's figures for that time are the truth.
metric() { # SELECTOR FROM TO [OPTION…]: one number
	local selector=$1 from=$2 to=$3
	shift 3
	"$cresset" query --data "$data" "$selector" --from "$from" --to "$to" --range "$((to - from))s" --csv "$@" 2>"$tmp/err" | sed -n '2s/.*,//p' | tr -d '\r'
}
host_busy() { awk '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8) / '"$(getconf CLK_TCK)"' }' /proc/stat; }
until_metric() { # UNIX-TIME: until there are later points
	for _ in $(seq 120); do
		[ "$(ask "SELECT coalesce(max(time), 0) > ${1}000000000 FROM metrics WHERE name = 'system_cpu_busy'")" = 1 ] && return
		sleep 0.5
	done
}
"$progs/burn" "$me-hot" 1000 >/dev/null &
hot=$!
pids+=("$hot")
# Its CPU time as the kernel has it, ten times a second: "NS_SINCE_1970 NS".
while read -r used _ <"/proc/$hot/schedstat" && echo "${EPOCHREALTIME/./}000 $used"; do command sleep 0.1; done >"$tmp/hot" 2>/dev/null &
watcher=$!
pids+=("$watcher")
sleep 1
from=$(date +%s) began=$EPOCHREALTIME busy=$(host_busy)
sleep 6
busy=$(awk "BEGIN { print 1000 * ($(host_busy) - $busy) / (${EPOCHREALTIME} - $began) }") to=$(date +%s)
kill "$watcher" $hot
until_metric $((to + 1))
near "CPU busy equals /proc/stat (in thousandths)" "$(metric 'system_cpu_busy{}' "$from" "$to" | awk '{ printf "%d", 1000 * $1 }')" "${busy%.*}" 250
is "the memory is that of /proc/meminfo" "$(ask "SELECT max(value) FROM metrics WHERE name = 'system_memory_limit'" | awk '{ printf "%d", $1 / 1024 }')" "$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)"
until_stored "$me-hot"
until_metric "$(date +%s)"
ask "SELECT time, CAST(1000000000 * value AS INT) FROM metrics WHERE name = 'process_cpu_time' AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$me-hot')
	ORDER BY time" | tr , ' ' >"$tmp/readings"
# A sum begins when the program is first seen. From then on each reading lies between what the kernel had before and after it, within 0.1 s.
holds "a program that burns is among the busiest ($(wc -l <"$tmp/readings") readings)" test "$(wc -l <"$tmp/readings")" -ge 4
is "… each with the CPU time that it had used" "$(awk '
	FILENAME ~ /hot$/ { at[++n] = $1; used[n] = $2; next }
	{
		for (i = 1; i < n && at[i + 1] < $1 - 200000000; i++);
		for (j = i; j < n && at[j] < $1 + 200000000; j++);
		least = used[i] - $2; most = used[j] - $2
		if (FNR == 1 || least > from) from = least
		if (FNR == 1 || most < to) to = most
	}
	END { if (from > to + 100000000) print "seen from", from / 1e6, "ms on by one reading, before", to / 1e6, "ms by another" }' "$tmp/hot" "$tmp/readings")" ""
is "the rest of the host is there" "$(ask "SELECT count(DISTINCT name) >= 10 FROM metrics")" 1
if [ -e /proc/pressure/cpu ]; then
	is "pressure as well" "$(ask "SELECT count(DISTINCT series) >= 2 FROM metrics WHERE name = 'system_pressure'")" 1
else
	skip "pressure as well" "this kernel has none"
fi

"$cresset" up --data "$data" --listen none 2>"$tmp/second"
is "a second one does not start" $? 1
holds "… and logs why" grep -q "another process writes this store" "$tmp/second"

url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | head -1)
if command -v curl >/dev/null; then
	is "the page responds" "$(curl -s -o "$tmp/page" -w '%{http_code}' "$url")" 200
	holds "… and the API, while it is written" curl -sf -o "$tmp/folded" "${url}api/v1/flame?q=cpu&fmt=folded"
	holds "… with the recorded data" grep -q burn_loop "$tmp/folded"
else
	skip "the page responds" "no curl here"
fi

before=$(burnt "$me-burner")
kill -9 "$(half cresset-store)"
until_said "store process runs" 2
is "the death of the store process is logged" "$(grep -c 'store process was killed by signal 9' "$tmp/log")" 1
is "… and nothing that was stored is lost or there twice" "$(burnt "$me-burner")" "$before"
"$progs/burn" "$me-second" 2 >/dev/null &
sleep 1
kill -9 "$(half cresset-store)"
wait $!
until_stored "$me-second"
near "data recorded meanwhile arrives later" "$(burnt "$me-second")" 198 40
kill -9 "$(half cresset-collect)"
until_said "collector runs" 2
"$progs/burn" "$me-third" 2 >/dev/null
until_stored "$me-third"
near "a collector that was killed is back" "$(burnt "$me-third")" 198 40
is "… and nothing is there twice" "$(burnt "$me-burner")" "$before"

# Kills in quick succession; data that was seen in the store stays.
"$progs/burn" "$me-fourth" 6 >/dev/null &
seen=0
for _ in 1 2 3; do
	sleep 1
	kill -9 "$(half cresset-store)" 2>/dev/null
	now=$(burnt "$me-fourth")
	[ "$now" -ge "$seen" ] || not_ok "what was stored was lost" "$now after $seen"
	seen=$now
done
wait $!

# Each kill doubles the pause before the next start.
for _ in $(seq 1200); do
	[ -z "$(half cresset-store)" ] || break
	sleep 0.05
done
"$progs/burn" "$me-last" 1 >/dev/null
end_always
is "it ends" $status 0
holds "… within 5 s (${stop_ms} ms)" [ "$stop_ms" -lt 5000 ]
near "… with the last recorded data" "$(burnt "$me-last")" 99 25
near "nothing is there more often than it was" "$(burnt "$me-fourth")" 594 120
is "… no point of a metric either" "$(ask "SELECT count(*) FROM (SELECT 1 FROM metrics GROUP BY series, time HAVING count(*) > 1)")" 0
holds "no half is left" test -z "$(pgrep -f "cresset up -v --data $data")"

sum=$(burnt "$me-burner")
up
is "after the next start the data is still there" "$(burnt "$me-burner")" "$sum"
kill -HUP "$always"
sleep 0.2
holds "SIGHUP does not end it" kill -0 "$always"
end_always INT
is "Ctrl-C ends it as well" $status 0

chown -R root "$data"
"$cresset" up --data "$data" --listen none 2>"$tmp/err"
is "a directory of root's with something in it is not taken" $? 7
holds "… and it suggests a remedy" grep -Eq "chown -R [0-9]+:[0-9]+ $data" "$tmp/err"
if command -v setpriv >/dev/null; then
	setpriv --reuid 65534 --clear-groups "$cresset" up --data "$tmp/other" 2>"$tmp/err"
	is "without root it ends" $? 3
	holds "… and lists missing capabilities" grep -q "missing: CAP_BPF CAP_PERFMON" "$tmp/err"
else
	skip "without root it ends" "no setpriv here"
fi

# --- a full disk: it waits
if mkdir "$tmp/disk" && mount -t tmpfs -o size=16m tmpfs "$tmp/disk" 2>/dev/null; then
	trap 'kill -9 "$always" 2>/dev/null; wait "$always" 2>/dev/null; umount -l "$tmp/disk" 2>/dev/null; cleanup' EXIT
	head -c 32M /dev/zero >"$tmp/disk/filler" 2>/dev/null
	data=$tmp/disk/data
	"$cresset" up -v --data "$data" --interval 1s --freq 99 --listen 127.0.0.1:0 2>"$tmp/log" &
	always=$!
	pids+=("$always")
	until_said "started again in 2 s"
	holds "a full disk is logged" grep -q "No space left on device" "$tmp/log"
	rm "$tmp/disk/filler"
	until_said "recording this machine"
	"$progs/burn" "$me-roomy" 2 >/dev/null
	until_stored "$me-roomy"
	near "… and with free space it records" "$(burnt "$me-roomy")" 198 60
	end_always
	is "it ends well" $status 0
else
	skip "a full disk is logged" "mounting one is refused here"
fi
finish
