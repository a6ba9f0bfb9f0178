#!/usr/bin/env bash
# tier: live
# run: alone
# cresset top on a terminal, provided by tmux: the screen for programs of known shares, each tab, keys, the mouse, sizes, and the state in which the
# terminal is left, however top ends.
. tests/live/lib.sh
needs_recording
command -v tmux >/dev/null || { echo "1..0 # SKIP there is no tmux"; exit 0; }
export LC_ALL=C.UTF-8
unset NO_COLOR COLORTERM

session=0 # each has its own server: one that ends may take a while
server=
mux() { tmux -f /dev/null -L "cresset-test-$$-$session" "$@"; }
end_mux() { [ -z "$server" ] || kill "$server" 2>/dev/null; }
another() { # tmux's ARG…
	end_mux
	session=$((session + 1))
	mux new-session -d "$@"
	server=$(mux display-message -p '#{pid}')
}
trap 'end_mux; cleanup' EXIT
shot() { mux capture-pane -p; }
keys() { mux send-keys "$@"; }
row() { shot | sed -n "$(($1 + 1))p"; }
until_shown() { # REGEX [TIMES]
	for _ in $(seq "${2-100}"); do
		shot | grep -Eq -- "$1" && return 0
		sleep 0.1
	done
	return 1
}
shows() { if until_shown "$2"; then ok "$1"; else not_ok "$1" "'$2' is not in: $(shot)"; fi; }
begin_top() { # ROWS COLS ARG…: in its own shell, whose settings are checked afterwards
	local rows=$1 cols=$2
	shift 2
	another -x "$cols" -y "$rows" "stty -a >$tmp/before; $cresset $*; echo \"ended \$?\"; stty -a >$tmp/after; sleep 1000"
	top=
	for _ in $(seq 1200); do
		top=$(pgrep -P "$(mux list-panes -F '#{pane_pid}')" -x cresset) && return
		sleep 0.05
	done
}
ended() { # NAME STATUS: the terminal is as it was
	shows "$1" "^ended $2\$"
	for _ in $(seq 600); do
		[ -s "$tmp/after" ] && break
		sleep 0.1
	done
	holds "… its settings are as before" diff "$tmp/before" "$tmp/after"
	is "… the cursor is visible, the screen the main one, the mouse free" \
		"$(mux display-message -p '#{cursor_flag} #{alternate_on} #{mouse_any_flag}')" "1 0 0"
	rm -f "$tmp/after"
}

start "$progs/parts" 1000 1 >/dev/null 2>&1
parts=${pids[-1]}
start "$progs/burn" $'\e[2J\a\e]0;x' 1000 >/dev/null 2>&1
hostile=${pids[-1]}
"$progs/mixed" 100 >/dev/null 2>&1 &
mixed=$!
pids+=("$mixed")

# --- functions: 2 : 1 : 1 on the screen, and in a recording of the same time
begin_top 24 80 top -p "$parts" --window 8s
"$cresset" record -q -p "$parts" -d 8 -o "$tmp/same.cresset"
shows "functions are on the screen" "half_work"
shot >"$tmp/shot"
self_of() { awk -v f="$1" '$4 == f { print $1 }' "$tmp/shot"; }
reported() { "$cresset" report "$tmp/same.cresset" --csv -q | awk -F, -v f="$1" '$6 == f { print $1 }'; }
n=$("$cresset" report "$tmp/same.cresset" --json -q | jq .samples)
five=$(awk "BEGIN { print 100 * $(sigma "${n:-1}" 0.5 5) / ${n:-1} }") # 5 σ, in percent
for f in half_work some_work more_work; do
	near "$f: the screen says what report says, %" "$(self_of $f)" "$(reported $f)" "$five"
done
near "half_work takes half, %" "$(self_of half_work)" 50 "$five"
holds "the first line names the target" grep -q "pid $parts" "$tmp/shot"
holds "nothing is wider than the screen" [ "$(wc -L <"$tmp/shot")" -le 80 ]
is "… nor higher" "$(wc -l <"$tmp/shot")" 24

# --- keys
keys /
keys half Enter
shows "a filter leaves what matches" "half_work"
is "… and nothing else" "$(shot | grep -c some_work)" 0
keys Escape
shows "Esc takes it away" "some_work"
keys Enter
shows "Enter goes into a function: its flame graph" "100.00 % of view"
shows "… with all of its stacks" "in half_work"
keys Escape
shows "… and back" "self %"
keys e
shows "its callers" "└ +100.00 %"
keys e
keys p
shows "the next type" "off-cpu"
keys p
keys w
keys C-u
for _ in $(seq 60); do keys BSpace; done
keys "$tmp/written.folded" Enter
shows "a report is written" "wrote "
holds "… which is one" grep -q 'half_work [0-9]*$' "$tmp/written.folded"
keys Space
shows "pause" "PAUSED"
keys Space
shows "… and from then on data starts there, less than the 8 s of before" "Hz · [0-7]([.][0-9]+)? s"
keys h
shows "help" "tabs, from left to right"
keys x
shows "… ends" "half_work"
keys q
ended "q ends it" 0

# --- tabs, of a program with many threads, and of one with a bad name
begin_top 30 120 top -p "$mixed,$hostile"
keys 2
shows "processes" "$mixed mixed"
keys 3
shows "threads" "spin"
shows "a name that would clear the screen is text" "\[2J"
is "… and the title has no process" "$(mux display-message -p '#{pane_title}' | grep -c '^x')" 0
keys 4
shows "waits, with who ended them" "pipe/socket read.*(ping|pong)"
shows "locks" "futex/lock.*mixed"
keys 5
shows "a flame graph" "burn_loop"
keys 6
shows "a heatmap" "a column is 1 s"
keys 1
shows "functions again" "self %"
keys s
shows "sorted by the next column" "▼total %"

# --- the mouse, as tmux's terminal reports it: x and y from 1 on, plus 32
click() {
	local at
	at=$(printf '\\x%02x\\x%02x' $(($2 + 32)) $(($1 + 32)))
	keys -l "$(printf '\033[M %b\033[M#%b' "$at" "$at")"
}
tabs_y=$(($(shot | grep -n '1 Functions' | cut -d: -f1)))
click "$tabs_y" 17
shows "a click on a tab" "share %.*threads"
click $((tabs_y + 3)) 5
keys Enter
shows "Enter goes into a process" "in process [0-9]+, Esc back"
keys Escape

# --- sizes
mux resize-window -x 80 -y 24
shows "80 x 24" "h help +/ filter"
holds "… all of it" [ "$(shot | wc -L)" -le 80 ]
mux resize-window -x 40 -y 10
shows "40 x 10 is reported as too small" "40 x 10 is too small"
mux resize-window -x 120 -y 30
shows "… and is large again" "1 Functions"

# --- endings
kill -SEGV "$top"
ended "a crash" 139
begin_top 24 80 top -p "$parts"
until_shown "self %"
kill -TERM "$top"
ended "SIGTERM" 143
begin_top 24 80 top -p "$parts"
until_shown "self %"
keys C-c
ended "Ctrl-C" 130
begin_top 24 80 top "$tmp/same.cresset"
shows "a recording" "half_work"
kill -ABRT "$top"
ended "another crash" 134

# --- stopped and continued, by a shell with jobs
another -x 80 -y 24 "bash --norc -i"
keys "PS1='ready> '; $cresset top $tmp/same.cresset" Enter
shows "in a shell" "half_work"
keys C-z
shows "Ctrl-Z gives the terminal back" "Stopped"
is "… the main screen, with a cursor" "$(mux display-message -p '#{cursor_flag} #{alternate_on}')" "1 0"
keys "clear; fg" Enter
shows "fg shows it again" "1 Functions"
keys q
shows "… and it ends" "ready>"

# --- without colours, without UTF-8
begin_top 24 80 "top $tmp/same.cresset --color never --tab flame"
shows "without colours" "all"
is "… absent" "$(mux capture-pane -p -e | grep -c $'\e\[[0-9;]*[34]8;')" 0
another -x 80 -y 24 "LC_ALL=C $cresset top $tmp/same.cresset --tab flame; sleep 100"
shows "without UTF-8" "half_work"
is "… all is ASCII" "$(shot | LC_ALL=C grep -c '[^ -~]')" 0

# --- on a server that collects
chmod 755 "$tmp"
"$cresset" up --data "$tmp/data" --interval 1s --freq 99 --listen 127.0.0.1:0 2>"$tmp/log" &
pids+=($!)
for _ in $(seq 600); do
	url=$(grep -o 'http://[0-9.:]*' "$tmp/log" | head -1) && [ -n "$url" ] && break
	sleep 0.1
done
# Until there are some hundred samples of it: fewer give no useful ratio.
for _ in $(seq 120); do
	[ "$(curl -s "$url/api/v1/flame?fmt=folded&q=cpu&from=now-60s" | folded_sum half_work)" -ge 200 ] && break
	sleep 0.5
done
"$cresset" top --server "$url" --json --window 60s -n 100000 >"$tmp/server.json" 2>/dev/null
share() { jq "[.functions[] | select(.function == \"$1\") | .self_percent] | add" "$tmp/server.json"; }
holds "a server: the same functions" awk "BEGIN { h = $(share half_work); s = $(share some_work); exit !(h > 1.4 * s && h < 2.9 * s) }"
is "… processes by number, by name if only window sums exist" \
	"$(jq "[.processes[] | select(.pid == $parts or (.pid == null and .process == \"parts\"))] | length" "$tmp/server.json")" 1
begin_top 24 80 top --server "$url" --window 60s
shows "… on the screen" "half_work|burn_loop"
kill "${pids[-1]}"
shows "its end is reported" "http|connect"
keys q
ended "… and q ends it" 0
finish
