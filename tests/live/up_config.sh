#!/usr/bin/env bash
# tier: live
# cresset up --config: rules change and drop series before they are stored; SIGHUP brings other rules and another rate into force while it runs, and
# nothing when the file has a mistake; systemd is told when it is ready.
. tests/live/lib.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
conf=$tmp/cresset.yaml
socket=$tmp/notify
said() { # TEXT: waits until it is in the log
	for _ in $(seq 1200); do
		grep -q -- "$1" "$tmp/log" && return
		kill -0 "$up" 2>/dev/null || break
		sleep 0.05
	done
	return 1
}
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
values() { ask "SELECT DISTINCT value FROM labels WHERE key = '$1' ORDER BY 1"; }
samples_of() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = '$1' AND value = '$2')"; }
until_stored() { # KEY VALUE
	for _ in $(seq 120); do
		[ "$(samples_of "$1" "$2")" -gt "${3-0}" ] && return
		sleep 0.5
	done
	return 1
}
rules() { # DROPPED-COMM ROLE
	cat >"$conf" <<-END
		data: $data
		listen: 127.0.0.1:0
		interval: 1s
		freq: ${3-97}
		relabel:
		  - {action: drop, source_labels: [comm], regex: $1}
		  - {source_labels: [comm], regex: '$$_(.*)', target_label: role, replacement: '$2-\$1'}
	END
}

# What systemd would hear.
python3 - "$socket" >"$tmp/notified" <<-'END' &
	import socket, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind(sys.argv[1])
	while True:
	    print(s.recv(4096).decode(), flush=True)
END
pids+=($!)
for _ in $(seq 1200); do [ -S "$socket" ] && break; sleep 0.05; done

rules "$$_dropped|unwanted" first
NOTIFY_SOCKET=$socket "$cresset" up -v --config "$conf" 2>"$tmp/log" &
up=$!
pids+=("$up")
holds "it runs by the file" said "collector runs"
holds "it logs the address" said "look at it:  http://127.0.0.1:"
for _ in $(seq 1200); do grep -q READY=1 "$tmp/notified" && break; sleep 0.05; done
is "the init system is notified once that it is ready" "$(cat "$tmp/notified")" "READY=1"

"$progs/burn" $$_dropped 3 >/dev/null &
"$progs/burn" $$_one 3 >/dev/null
wait $!
holds "a program is stored, with a label that a rule made" until_stored role first-one 100
is "dropped series are absent" "$(samples_of comm $$_dropped)" 0
holds "… and the log has the number of dropped samples" said "excluded by --only, --exclude or relabel rules: [0-9]"

rules "$$_dropped|(" broken
kill -HUP "$up"
holds "an error is logged" said "$conf:6"
holds "… and changes nothing" said "keeping the previous configuration"
rules "$$_two" second 47
kill -HUP "$up"
holds "changes are logged" said "relabel changed: restarting the collector"
for _ in $(seq 1200); do [ "$(grep -c 'collector runs' "$tmp/log")" = 2 ] && break; sleep 0.05; done
keeper=$(pgrep -P "$up" -x cresset-store)
"$progs/burn" $$_two 2 >/dev/null &
"$progs/burn" $$_three 3 >/dev/null
wait $!
holds "the new rules are in force" until_stored role second-three 50
is "… also the one that drops" "$(samples_of comm $$_two)" 0
near "… and the new rate" "$(samples_of role second-three)" 141 50
is "the store process continued" "$(pgrep -P "$up" -x cresset-store)" "$keeper"
is "nothing was killed" "$(grep -cE 'killed|has ended' "$tmp/log")" 0

echo 'retention: 2d' >>"$conf"
kill -HUP "$up"
holds "a key of the store process" said "retention changed: restarting the store process"
for _ in $(seq 1200); do [ "$(grep -c 'store process runs' "$tmp/log")" = 2 ] && break; sleep 0.05; done
"$progs/burn" $$_four 2 >/dev/null
holds "it continues with the recorded data" until_stored role second-four 30
# Samples that a busy machine keeps the collector from taking in time are not lost on the way.
is "nothing was lost on the way" "$(grep lost "$tmp/log" | grep -vc 'ring buffer full')" 0
kill -TERM "$up"
wait "$up"
is "it ends" $? 0
has_stopping=$(grep -c STOPPING=1 "$tmp/notified")
is "… and logs this" "$has_stopping" 1
finish
