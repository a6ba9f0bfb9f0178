#!/usr/bin/env bash
# tier: live
# cresset agent --symbols=server: messages have no names; the server gets one table for each build id and names what it has stored; a server that
# takes no tables gets names. The sending process is in the sandbox, and finds a server by its name.
. tests/live/lib.sh
. tests/cli/lib_serve.sh
needs_recording
for program in curl jq readelf python3; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done
me=$$
chmod 755 "$tmp" # the sending process is not root
name=$(uname -n)
getent hosts "$name" | grep -q '^127\.\|^::1' || name=localhost

agent() { # URL ARG…
	: >"$tmp/log"
	"$cresset" agent -v --server "$@" --spool "$tmp/spool" --interval 1s --freq 99 --label env=test 2>"$tmp/log" &
	agent=$!
	pids+=("$agent")
	until_said "recording this machine"
}
until_said() { # TEXT
	for _ in $(seq 1200); do
		grep -q "$1" "$tmp/log" && return
		kill -0 $agent 2>/dev/null || return
		sleep 0.05
	done
}
end_agent() {
	kill -TERM "$agent"
	wait "$agent"
	status=$?
}
folded() { get api/v1/flame fmt=folded "q=cpu{comm=\"$1\"}"; }
until_named() { # COMM
	for _ in $(seq 200); do
		folded "$1" | grep -q 'burn_outer;burn_loop' && return
		sleep 0.3
	done
}

# --- to a cresset
serve --data "$tmp/data"
agent "$url" --symbols server
half=$(pgrep -P "$agent" -x cresset-send)
is "the sending process is in the sandbox" "$(awk '/^(Seccomp|NoNewPrivs):/ { printf "%s", $2 }' "/proc/$half/status")" 12
"$progs/burn" "$me-burner" 3 >/dev/null &
burner=$!
until_named "$me-burner"
wait $burner
folded "$me-burner" >"$tmp/folded"
holds "functions have names" grep -q 'burn_outer;burn_loop' "$tmp/folded"
id=$(readelf -nW "$progs/burn" | sed -n 's/.*Build ID: //p')
is "… which the server has of a table" "$(curl -sS -o /dev/null -I -w '%{http_code}' "${url}api/v1/symbols/$id")" 200
holds "… that the agent has sent once" [ "$(grep -c "symbol table of .*/burn was sent" "$tmp/log")" = 1 ]
is "messages came with frames without names" "$(get debug/ingest | jq '.senders[0].unnamed_frames > 0')" true
metrics="name = 'system_cpu_run_queue' AND series"
is "--label is on host metrics as well" "$(post "api/v1/sql?fmt=csv" --data "SELECT count(*) > 0, count(*) = (SELECT count(*) FROM metrics WHERE $metrics IN \
	(SELECT series FROM labels WHERE key = 'env' AND value = 'test')) FROM metrics WHERE $metrics > 0" | tail -1 | tr -d '\r')" "1,1"
end_agent
is "it ends" $status 0
stop

# --- to a server that keeps none: names are found here
mkdir "$tmp/otlp"
coproc double { exec python3 tests/live/otlp_double.py "$tmp/otlp"; }
# shellcheck disable=SC2154 # of coproc
pids+=("$double_PID")
read -r port <&"${double[0]}"
rm -rf "$tmp/spool"
agent "http://$name:$port" --symbols server
until_said "is not a Cresset server"
"$progs/burn" "$me-second" 3 >/dev/null
sleep 2
end_agent
is "with another server it logs once that it symbolizes locally" "$(grep -c 'is not a Cresset server' "$tmp/log")" 1
"$cresset" convert "$tmp"/otlp/*.otlp -o "$tmp/all.folded" --type cpu -q
holds "… and messages have them" grep -q "^$me-second;.*burn_outer;burn_loop" "$tmp/all.folded"
finish
