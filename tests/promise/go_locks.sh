#!/usr/bin/env bash
# tier: test
# tier: live ALL_GO=1
# Waits for a mutex in a Go program: number and time by the function that held it, as the program itself has measured them. A recording turns Go's profile of
# mutexes on, for as long as it runs. With ALL_GO for each Go that tests/live/lib_python_roots.sh has fetched.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
command -v go >/dev/null || { echo "1..0 # SKIP no go"; exit 0; }
export GOCACHE=$tmp/go-cache GOTOOLCHAIN=local
roots=("$(go env GOROOT)")
for root in ${ALL_GO:+"$PWD/$BUILD"/python/*/usr/lib/go-1.*}; do [ ! -x "$root/bin/go" ] || roots+=("$root"); done
me=gl$$

said() { # its next line
	local line
	read -r -t "$most_s" line <&"$from"
	echo "$line"
}
rate() { dd if="/proc/$pid/mem" bs=1 skip="$at" count=8 status=none | od -An -t u8 | tr -d ' '; }
until_rate() {
	for _ in $(seq 600); do
		[ "$(rate)" != "$1" ] || return 0
		sleep 0.05
	done
	return 1
}
play() { # N
	echo "go $1" >&"$to"
	{ said && said; } >"$tmp/truth"
}
# got TYPE FUNCTION, of $tmp/report
got() { jq -r --arg f "main.$2" '[.top[] | select(.function == $f) | .total] | add // 0' "$tmp/$1.json"; }
# compare WORDS: every wait, and their time to 2 %; except one or two for which a goroutine had no CPU on its way into Lock, so that it did not wait
compare() {
	local name waits ns
	while read -r name waits ns; do
		near "$1: waits that $name has ended" "$(got lock-waits "$name")" "$waits" 2
		near "$1: their time" "$(got lock "$name")" "$ns" "$(awk "BEGIN { print $ns * 0.02 + 16e6 }")"
	done <"$tmp/truth"
}
# run_program ARG…: the program, with its input and output
run_program() {
	coproc program { exec "$tmp/$me" "$@"; }
	# shellcheck disable=SC2154 # set by coproc
	pid=$program_PID
	pids+=("$pid")
	exec {from}<&"${program[0]}" {to}>&"${program[1]}"
}
ended() {
	echo end >&"$to"
	wait "$pid"
	is "the program ends as ever" $? 0
	exec {from}<&- {to}>&-
}

check() { # ROOT
	(cd tests/live/prog/go_locks && GOROOT=$1 "$1/bin/go" build -buildvcs=false -o "$tmp/$me" .) >"$tmp/made.err" 2>&1 || not_ok "it builds" "$(tail -3 "$tmp/made.err")"
	at=$((16#$(GOROOT=$1 "$1/bin/go" tool nm "$tmp/$me" | awk '$3 == "runtime.mutexprofilerate" { print $1 }')))
	rm -rf "$tmp/data"
	run_program
		is "the program is ready" "$(said)" ready
	is "its profile is off" "$(rate)" 0
	begin "$tmp/locks.cresset" -e lock -p "$pid"
	holds "a recording turns it on" until_rate 1
	play 100
	end
	is "the recording" $? 0
	holds "then it is off" until_rate 0
	for type in lock lock-waits; do "$cresset" report "$tmp/locks.cresset" --type $type --top 0 --json >"$tmp/$type.json"; done
	compare "recorded"
	"$cresset" convert -q "$tmp/locks.cresset" --type lock --to folded -o "$tmp/locks.folded"
	holds "the holder's stack is whole" grep -qE ';\[goroutines\];\[held by: [^]]*\];runtime\.goexit;main\.play\.func1;main\.holdsLong;main\.hold;sync\.\(\*Mutex\)\.Unlock(;[^;]*)*;\[lock\] [0-9]' "$tmp/locks.folded"

	chmod 755 "$tmp" # the store process is another user
	begin_always up --data "$tmp/data" --listen none --events lock --mem-switch "comm=\"$me\""
	holds "cresset up turns it on" until_rate 1
	play 50
	stored() { "$cresset" query --data "$tmp/data" "lock-waits{pid=\"$pid\"}" --top 0 --json 2>/dev/null >"$tmp/lock-waits.json" && got lock-waits holdsShort; }
	for _ in $(seq 600); do
		[ "$(stored || echo 0)" -lt 48 ] || break
		sleep 0.2
	done
	"$cresset" query --data "$tmp/data" "lock{pid=\"$pid\"}" --top 0 --json >"$tmp/lock.json" 2>/dev/null
	compare "always on"
	end_always TERM
	# shellcheck disable=SC2154 # set by end_always
	is "cresset ends" $status 0
	holds "… and has turned it off" until_rate 0
	ended

	# One wait in four, as the program has chosen: an estimate. Earlier waits do not count, and its rate stays.
	run_program 4
	is "a program with a rate is ready" "$(said)" ready
	play 100
	begin "$tmp/locks.cresset" -e lock -p "$pid"
	play 150
	end
	is "its recording" $? 0
	"$cresset" report "$tmp/locks.cresset" --type lock-waits --top 0 --json >"$tmp/lock-waits.json"
	near "waits, within five standard deviations" "$(($(got lock-waits holdsLong) + $(got lock-waits holdsShort)))" 300 150
	is "its rate is as before" "$(rate)" 4
	ended
}
for root in "${roots[@]}"; do check "$root"; done
finish
