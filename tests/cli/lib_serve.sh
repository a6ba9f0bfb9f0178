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
