# shellcheck shell=bash
# shellcheck disable=SC2154 # cresset is set by tests/live/lib.sh
# tests/cli/lib_serve.sh: a server to ask, for tests that read tests/cli/lib.sh.
#
#     serve ARG…                     starts cresset serve: sets url and server
#     hold_port                      sets port: a free one, which no other program gets until the test ends
#     stop [SIGNAL]                  ends it: sets status, and took in ms; soon_ms is a bound for this machine
#     get PATH [NAME=VALUE…]         prints the body; its status is in $tmp/code
#     post PATH CURL-ARG…            likewise

# shellcheck disable=SC2034 # used by the tests
soon_ms=$(awk "BEGIN { print int(5000 * $CRESSET_SLOW) }")
# --max-rate is out of the way: tests ask quickly.
serve() {
	: >"$tmp/url"
	: >"$tmp/serve.err"
	"$cresset" serve --listen 127.0.0.1:0 --max-rate 100000 "$@" >"$tmp/url" 2>>"$tmp/serve.err" &
	server=$!
	pids+=("$server")
	until [ -s "$tmp/url" ]; do
		kill -0 "$server" 2>/dev/null || { cat "$tmp/serve.err" >&2; exit 1; }
		sleep 0.02
	done
	url=$(cat "$tmp/url")
}
# A socket without a listener has the port, which a server may listen at all the same.
hold_port() {
	python3 -c 'import signal, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >"$tmp/port" &
	pids+=("$!")
	until [ -s "$tmp/port" ]; do
		kill -0 $! 2>/dev/null || return
		sleep 0.02
	done
	port=$(cat "$tmp/port")
}
# shellcheck disable=SC2034,SC2120 # used by the tests
stop() {
	local from=${EPOCHREALTIME/./}
	kill "-${1-TERM}" "$server"
	wait "$server"
	status=$?
	took=$(((${EPOCHREALTIME/./} - from) / 1000))
}
get() {
	local path=$1 args=()
	shift
	for arg in "$@"; do args+=(--data-urlencode "$arg"); done
	curl -sS -m 20 -G -o "$tmp/body" -w '%{http_code}' "${args[@]}" "$url$path" >"$tmp/code"
	cat "$tmp/body"
}
post() {
	local path=$1
	shift
	curl -sS -m 20 -o "$tmp/body" -w '%{http_code}' "$@" "$url$path" >"$tmp/code"
	cat "$tmp/body"
}

# A store with eight heap profiles, one a minute from 2026-11-30T10:00:00Z on. One stack has 200 sampled blocks more each minute; another one has 900 after
# three minutes; the third one is the same in all: heap_profiles STORE
heap_profiles() {
	local minute grown filled all
	for minute in 0 1 2 3 4 5 6 7; do
		grown=$((100 + minute * 200)) filled=$((minute < 3 ? minute * 300 : 900))
		all=$((grown + filled + 50))
		cat >"$tmp/h.heap" <<-END
			heap profile: $all: $((all * 524288)) [ $((2 * all)): $((2 * all * 524288))] @ heap_v2/524288
			   $grown: $((grown * 524288)) [ $((2 * grown)): $((2 * grown * 524288))] @ 0x401000 0x402000
			   $filled: $((filled * 524288)) [ $((2 * filled)): $((2 * filled * 524288))] @ 0x403000 0x402000
			   50: $((50 * 524288)) [ 100: $((100 * 524288))] @ 0x404000 0x402000

			MAPPED_LIBRARIES:
			00400000-00410000 r-xp 00000000 00:00 0 /bin/prog
		END
		"$cresset" -q convert "$tmp/h.heap" --data "$1" --label process=prog --at 2026-11-30T10:0$minute:00Z
	done
}
