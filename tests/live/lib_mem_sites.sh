# shellcheck shell=bash disable=SC2154 # variables of tests/live/lib.sh
# tests/live/lib_mem_sites.sh: a program of known heap (tests/live/prog/mem_sites.c), after lib.sh.
#
#     run_sites PROGRAM     starts a copy of it, until it is ready: $pid; it reads lines from &$to
#     next_line                  prints the next line of its output
next_line() {
	local line
	read -r -t "$most_s" line <&"$from"
	echo "$line"
}
# shellcheck disable=SC2034 # to is for the tests
run_sites() {
	coproc sites { exec "$1" "$progs/mem_late"; }
	pid=$sites_PID
	pids+=("$pid")
	exec {from}<&"${sites[0]}" {to}>&"${sites[1]}"
	is "a program runs" "$(next_line)" ready
}
