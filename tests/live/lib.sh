# shellcheck shell=bash
# tests/live/lib.sh: what live tests share: TAP, a temporary folder, processes that are ended by pid, folded arithmetic.
#
#     . tests/live/lib.sh           from the project's root
#     is "name" "$got" "$want"      near "name" GOT WANT TOLERANCE       holds "name" COMMAND…
#     finish
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # used by the tests that read this file
cresset=$PWD/$BUILD/cresset
# shellcheck disable=SC2034
progs=$PWD/$BUILD/live
tmp=$(mktemp -d /tmp/cresset-live.XXXXXX)
# What tests look up is kept apart from what people do, and no server is asked.
export CRESSET_CACHE=$tmp/cache
unset DEBUGINFOD_URLS
t_count=0
pids=()

cleanup() {
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
	rm -rf "$tmp"
}
trap cleanup EXIT

# Starts a program in the background and remembers to end it.
start() {
	"$@" &
	pids+=($!)
}
ok() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1"
}
not_ok() {
	t_count=$((t_count + 1))
	echo "not ok $t_count - $1"
	printf '%s\n' "${2-}" | sed 's/^/# /'
}
skip() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1 # SKIP $2"
}
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', want '$3'"; fi; }
# Numbers: |got - want| ≤ tolerance.
near() {
	if awk -v g="$2" -v w="$3" -v t="$4" 'BEGIN { d = g - w; exit !(g != "" && (d < 0 ? -d : d) <= t) }'; then
		ok "$1 ($2, want $3 ± $4)"
	else
		not_ok "$1" "got $2, want $3 ± $4"
	fi
}
holds() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$out"; fi
}

# Waits until a process calls itself so: until_comm PID NAME
until_comm() {
	for _ in $(seq 200); do
		[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] && return
		sleep 0.01
	done
}
# Records in the background until `end`; returns when the recorder samples. begin FILE ARG…
begin() {
	local out=$1
	shift
	rm -f "$tmp/begin.err"
	"$cresset" record --no-progress "$@" -o "$out" 2>"$tmp/begin.err" &
	recorder=$!
	pids+=("$recorder")
	for _ in $(seq 200); do
		grep -q recording "$tmp/begin.err" 2>/dev/null && return
		kill -0 $recorder 2>/dev/null || return
		sleep 0.05
	done
}
end() {
	kill -INT "$recorder" 2>/dev/null
	wait "$recorder"
}

finish() { echo "1..$t_count"; }

# Sum of the values of folded lines on standard input that match an awk regex (all when none is given).
folded_sum() { awk -v re="${1-.}" '$0 ~ re { n += $NF } END { print n + 0 }'; }
# k standard deviations of a share p over n samples, as a number of samples.
sigma() { awk -v n="$1" -v p="$2" -v k="$3" 'BEGIN { printf "%.1f", k * sqrt(n * p * (1 - p)) + 1 }'; }
