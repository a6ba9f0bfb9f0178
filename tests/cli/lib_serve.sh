# shellcheck shell=bash
# shellcheck disable=SC2154 # cresset is set by tests/live/lib.sh
# tests/cli/lib_serve.sh: a server to ask, for tests that read tests/cli/lib.sh.
#
#     serve ARG…                     starts cresset serve: sets url and server
#     stop [SIGNAL]                  ends it: sets status, and took in ms
#     get PATH [NAME=VALUE…]         prints the body; its status is in $tmp/code
#     post PATH CURL-ARG…            likewise

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
