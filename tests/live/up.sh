#!/usr/bin/env bash
# cresset up: what runs is in the store soon, with names; each half may be killed at any moment, and nothing that was stored is lost or there
# twice; it stops within seconds; the data is there when it starts again.
# run: alone
. tests/live/lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }

chmod 755 "$tmp" # the store process is nobody
data=$tmp/data
up() {
	"$cresset" up -v --data "$data" --interval 1s --freq 99 --listen 127.0.0.1:0 2>"$tmp/log" &
	up=$!
	pids+=("$up")
	until_said "collector runs"
}
until_said() { # TEXT [TIMES]
	for _ in $(seq 300); do
		[ "$(grep -c "$1" "$tmp/log")" -ge "${2-1}" ] && return
		kill -0 $up 2>/dev/null || return
		sleep 0.05
	done
}
half() { pgrep -P "$up" -x "$1"; }
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
# Samples of a program, by their function; burn_loop is what tests/live/prog/burn does all the time.
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
# Until all of a program that has ended is there.
until_stored() { # COMM
	local last=-1 now
	for _ in $(seq 40); do
		now=$(burnt "$1")
		[ "$now" -gt 0 ] && [ "$now" = "$last" ] && return
		last=$now
		sleep 1.5
	done
}
stop() {
	local from=$EPOCHREALTIME
	kill -"${1-TERM}" "$up"
	wait "$up"
	status=$?
	stop_ms=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
}

up
is "the store process is not root" "$(ps -o user= -p "$(half cresset-store)" | tr -d ' ')" nobody
is "… and has no capability" "$(sed -n 's/^CapEff:\t//p' "/proc/$(half cresset-store)/status")" 0000000000000000
is "… nor gets any" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$(half cresset-store)/status")" 1
is "the folder is the store process's alone" "$(stat -c %U:%a "$data")" nobody:700

"$progs/burn" burner 3 >/dev/null
until_stored burner
near "a program is in the store, sample by sample" "$(burnt burner)" 297 60
"$cresset" query --data "$data" 'cpu{comm="burner"}' --csv >"$tmp/top.csv" 2>"$tmp/err"
holds "… with its functions' names" grep -q burn_loop "$tmp/top.csv"
"$cresset" query --data "$data" 'cpu{}' --csv >"$tmp/top.csv" 2>"$tmp/err"
holds "… and the kernel's" grep -q '\[kernel\]' "$tmp/top.csv"
host=$(uname -n)
is "every series says the host" "$(ask "SELECT count(*) FROM series WHERE id NOT IN (SELECT series FROM labels WHERE key = 'host' AND value = '$host')")" 0

"$cresset" up --data "$data" --listen none 2>"$tmp/second"
is "a second one does not start" $? 1
holds "… and says why" grep -q "another process writes this store" "$tmp/second"

url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | head -1)
if command -v curl >/dev/null; then
	is "the page answers" "$(curl -s -o "$tmp/page" -w '%{http_code}' "$url")" 200
	holds "… and the API, while it is written" curl -sf -o "$tmp/folded" "${url}api/v1/flame?q=cpu&fmt=folded"
	holds "… with what was recorded" grep -q burn_loop "$tmp/folded"
else
	skip "the page answers" "no curl here"
fi

before=$(burnt burner)
kill -9 "$(half cresset-store)"
until_said "store process runs" 2
is "the death of the store process is said" "$(grep -c 'store process was killed by signal 9' "$tmp/log")" 1
is "… and nothing that was stored is lost or there twice" "$(burnt burner)" "$before"
"$progs/burn" second 2 >/dev/null &
sleep 1
kill -9 "$(half cresset-store)"
wait $!
until_stored second
near "what comes while it is away comes later" "$(burnt second)" 198 40
kill -9 "$(half cresset-collect)"
until_said "collector runs" 2
"$progs/burn" third 2 >/dev/null
until_stored third
near "a collector that was killed is back" "$(burnt third)" 198 40
is "… and nothing is there twice" "$(burnt burner)" "$before"

# Kills in quick succession; what was seen in the store stays.
"$progs/burn" fourth 6 >/dev/null &
seen=0
for _ in 1 2 3; do
	sleep 1
	kill -9 "$(half cresset-store)" 2>/dev/null
	now=$(burnt fourth)
	[ "$now" -ge "$seen" ] || not_ok "what was stored was lost" "$now after $seen"
	seen=$now
done
wait $!

"$progs/burn" last 1 >/dev/null
stop
is "it ends" $status 0
holds "… within 5 s (${stop_ms} ms)" [ "$stop_ms" -lt 5000 ]
near "… with the last of what was recorded" "$(burnt last)" 99 25
near "nothing is there more often than it was" "$(burnt fourth)" 594 120
holds "no half is left" test -z "$(pgrep -f "cresset up -v --data $data")"

sum=$(burnt burner)
up
is "after the next start the data is still there" "$(burnt burner)" "$sum"
kill -HUP "$up"
sleep 0.2
holds "SIGHUP is no reason to end" kill -0 "$up"
stop INT
is "Ctrl-C ends it, too" $status 0

chown -R root "$data"
"$cresset" up --data "$data" --listen none 2>"$tmp/err"
is "a folder of root's with something in it is not taken" $? 7
holds "… and it says what to do" grep -q "chown -R nobody" "$tmp/err"
if command -v setpriv >/dev/null; then
	setpriv --reuid 65534 --clear-groups "$cresset" up --data "$tmp/other" 2>"$tmp/err"
	is "without root it ends" $? 3
	holds "… and says what is missing" grep -q "missing: CAP_BPF CAP_PERFMON" "$tmp/err"
else
	skip "without root it ends" "no setpriv here"
fi
finish
