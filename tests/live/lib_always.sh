# shellcheck shell=bash
# shellcheck disable=SC2154 # cresset and tmp are set by tests/live/lib.sh
# tests/live/lib_always.sh: cresset up and cresset agent, for tests that read tests/live/lib.sh.
#
#     begin_always COMMAND ARG…      starts it, until it records: sets always; what it says is in $tmp/log
#     until_said TEXT [TIMES]        half NAME: the process id of a child; worker NAME: of one further below
#     until_stored COMM              as `burnt COMM`, the test's, tells
#     end_always [SIGNAL]            sets status and stop_ms
#     store_user UID                 whether it is who root's stores belong to: the user cresset, or one of the numbers in his place

begin_always() {
	: >"$tmp/log"
	"$cresset" "$1" -v --interval 1s --freq 99 "${@:2}" 2>"$tmp/log" &
	always=$!
	pids+=("$always")
	until_said "recording this machine"
}
until_said() {
	for _ in $(seq 1800); do
		[ "$(grep -c "$1" "$tmp/log")" -ge "${2-1}" ] && return
		kill -0 $always 2>/dev/null || return
		sleep 0.05
	done
}
store_user() {
	local uid
	if uid=$(id -u cresset 2>/dev/null); then [ "$1" = "$uid" ]; else [ "$1" -ge 65520 ] && [ "$1" -le 65532 ]; fi
}
half() { pgrep -P "$always" -x "$1"; }
# By parent: another test may have a cresset up of its own.
worker() { descendants "$always" | while read -r p; do [ "$(cat "/proc/$p/comm")" != "$1" ] || echo "$p"; done 2>/dev/null | head -n 1; }
# Waits until all samples of a program that has ended are there.
until_stored() {
	local last=-1 now
	for _ in $(seq 40); do
		now=$(burnt "$1")
		[ "${now:-0}" -gt 0 ] && [ "$now" = "$last" ] && return
		last=$now
		sleep 1.5
	done
}
# shellcheck disable=SC2034 # used by the tests
end_always() {
	local from=$EPOCHREALTIME
	kill -"${1-TERM}" "$always"
	wait "$always"
	status=$?
	stop_ms=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000))
}
