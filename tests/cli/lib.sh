# shellcheck shell=bash
# tests/cli/lib.sh: what tests of the command line share, on top of tests/live/lib.sh.
#
#     ends "name" STATUS ARG…            cresset ARG… ends with STATUS; $out and $errs hold what it printed
#     fails "name" STATUS TEXT ARG…      … prints nothing but an error that contains TEXT
#     has "name" TEXT WHERE              WHERE contains TEXT
. tests/live/lib.sh
export LC_ALL=C.UTF-8 TERM=xterm
unset NO_COLOR

# shellcheck disable=SC2034 # used by the tests
run_cresset() { # sets status, out, errs
	"$cresset" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	out=$(tr -d '\0' <"$tmp/out")
	errs=$(tr -d '\0' <"$tmp/err")
}
ends() {
	local name=$1 want=$2
	shift 2
	run_cresset "$@"
	if [ "$status" = "$want" ]; then ok "$name"; else not_ok "$name" "status $status, want $want: $errs"; fi
}
fails() {
	local name=$1 want=$2 text=$3
	shift 3
	run_cresset "$@"
	if [ "$status" != "$want" ]; then
		not_ok "$name" "status $status, want $want: $errs"
	elif [ -n "$out" ]; then
		not_ok "$name" "standard output is not empty: $out"
	elif [[ $errs != "cresset: error: "* ]] && [[ $errs != *$'\n'"cresset: error: "* ]]; then
		not_ok "$name" "no error: $errs"
	elif [[ $errs != *"$text"* ]]; then
		not_ok "$name" "'$text' is not in: $errs"
	else
		ok "$name"
	fi
}
has() { if [[ $3 == *"$2"* ]]; then ok "$1"; else not_ok "$1" "'$2' is not in: $3"; fi; }
hasnt() { if [[ $3 != *"$2"* ]]; then ok "$1"; else not_ok "$1" "'$2' is in: $3"; fi; }
# The device that every write to fails on with ENOSPC.
full_device() {
	if [ -c /dev/full ]; then echo /dev/full; else mknod "$tmp/full" c 1 7 2>/dev/null && echo "$tmp/full"; fi
}
# Nothing but these files is in a directory.
only_files() { # NAME DIR FILE…
	local name=$1 dir=$2
	shift 2
	is "$name" "$(ls -A "$dir")" "$(printf '%s\n' "$@")"
}
