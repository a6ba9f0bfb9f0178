#!/usr/bin/env bash
# tier: test
# cresset serve: each route answers what cresset query and cresset sql print of the same data; what cannot be asked is said; it ends when
# it is told to.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
"$BUILD/fixture/waits" "$tmp/waits.cresset" || exit 1
waits=$tmp/waits.cresset

query() { "$cresset" query --data "$waits" "$@" 2>/dev/null; }
# NAME: what the API gives, and what the command prints, byte for byte.
same() { # NAME PATH [NAME=VALUE…] -- ARG…
	local name=$1 path=$2 asked=()
	shift 2
	while [ "$1" != -- ]; do
		asked+=("$1")
		shift
	done
	shift
	get "$path" "${asked[@]}" >"$tmp/a"
	query "$@" >"$tmp/b"
	if [ -s "$tmp/b" ] && cmp -s "$tmp/a" "$tmp/b"; then
		ok "$name"
	else
		not_ok "$name" "$(cat "$tmp/code") $(diff <(head -c 2000 "$tmp/a") <(head -c 2000 "$tmp/b") | head -5)"
	fi
}
refused() { # NAME STATUS TEXT PATH [NAME=VALUE…]
	local name=$1 want=$2 text=$3 body
	shift 3
	body=$(get "$@")
	if [ "$(cat "$tmp/code")" != "$want" ]; then
		not_ok "$name" "$(cat "$tmp/code"), want $want: $body"
	else
		has "$name" "$text" "$(jq -r '.error | [.message, .hint // ""] | join("; ")' <<<"$body")"
	fi
}

# --- the same answers
serve "$waits"
has "the address is printed" "http://127.0.0.1:" "$url"
same "types" api/v1/types -- --types --json
same "… selected" api/v1/types 'match={comm="db"}' -- --types --json '{comm="db"}'
same "labels" api/v1/labels -- --labels --json
same "values" api/v1/values name=comm -- --values comm --json
same "… selected" api/v1/values name=comm 'match=wall{comm!="db"}' -- --values comm --json 'wall{comm!="db"}'
same "series" api/v1/series -- --series --json
same "range" api/v1/range q=wall step=700ms by=comm -- wall --range 700ms --by comm --json
same "… of a part" api/v1/range 'q=wall{comm="web"}' step=1s from=start+1s to=start+3s -- 'wall{comm="web"}' --range 1s --from start+1s --to start+3s --json
same "the tree" api/v1/flame q=wall -- wall --tree --json
same "… filtered" api/v1/flame q=wall focus=poll hide=main by=comm -- wall --tree --json --focus poll --hide main --by comm
for format in folded pprof svg speedscope text csv json; do
	same "flame as $format" api/v1/flame q=wall "fmt=$format" -- wall --format "$format"
	same "… without root frames, of a part" api/v1/flame q=wall "fmt=$format" by=none from=start+1s to=start+2s -- \
		wall --format "$format" --by none --from start+1s --to start+2s
done
get api/v1/flame q=wall fmt=pprof >"$tmp/wall.pb.gz"
is "go tool pprof opens it" "$(go tool pprof -raw "$tmp/wall.pb.gz" 2>/dev/null | grep -c 'wall/nanoseconds')" 1
is "narrow frames go, sums stay" "$(get api/v1/flame q=wall px=10 | jq -c '[.total, .tree[0].total, (.tree | length < 15)]')" "[22250000000,22250000000,true]"
same "functions" api/v1/top q=wall -- wall --json
same "… some" api/v1/top q=wall n=3 fmt=csv no_kernel=1 -- wall --csv --top 3 --no-kernel
same "callers" api/v1/callers q=wall f=work fmt=csv -- wall --callers work --csv
same "… as JSON" api/v1/callers q=wall f=work -- wall --callers work --json
same "differences" api/v1/diff a=wall afrom=start ato=start+5s bfrom=start+5s bto=end -- \
	wall --from start+5s --to end --diff-from start --diff-to start+5s --json
same "… of selectors" api/v1/diff 'a=wall{comm="db"}' 'b=wall{comm="web"}' norm=abs fmt=csv -- 'wall{comm="web"}' --diff 'wall{comm="db"}' --norm abs --csv
same "a heatmap" api/v1/heatmap q=wall -- wall --heatmap --json
same "… of a name" api/v1/heatmap 'q=wall{comm="web"}' fmt=csv -- 'wall{comm="web"}' --heatmap --csv
get api/v1/heatmap q=wall fmt=svg >"$tmp/heat.svg"
holds "… as a graph" xmllint --noout "$tmp/heat.svg"
get api/v1/chart q=wall >"$tmp/chart.svg"
holds "a chart" xmllint --noout "$tmp/chart.svg"
sql='SELECT type, series, count(*), sum(value) FROM samples GROUP BY 1, 2 ORDER BY 2'
want=$("$cresset" sql --data "$waits" "$sql" --json)
is "SQL as text" "$(post api/v1/sql --data-binary "$sql")" "$want"
is "… as JSON" "$(post api/v1/sql --json "$(jq -nc --arg q "$sql" '{query: $q}')")" "$want"
is "… compressed" "$(gzip -c <<<"$sql" | post api/v1/sql --data-binary @- -H 'Content-Encoding: gzip')" "$want"
is "… compressed with the other encoding" "$(zstd -qc <<<"$sql" | post api/v1/sql --data-binary @- -H 'Content-Encoding: zstd')" "$want"
is "… as CSV" "$(post 'api/v1/sql?fmt=csv' --data-binary "$sql")" "$("$cresset" sql --data "$waits" "$sql" --format csv)"

# --- the server itself
is "status" "$(get api/v1/status | jq -c '[.data.kind, .data.from, .data.types, .data.series, .limits.queries]')" '["file","2023-11-14T22:13:19Z",1,3,2]'
is "health" "$(get healthz) $(get readyz)" "ok ok"
get metrics >"$tmp/metrics"
is "metrics end as they must" "$(tail -1 "$tmp/metrics")" "# EOF"
is "… each is described once" "$(grep '^# TYPE' "$tmp/metrics" | sort | uniq -d)" ""
is "… and nothing else is in there" "$(grep -vcE '^(# (TYPE|HELP|UNIT) |# EOF$|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+$)' "$tmp/metrics")" 0
is "… requests are counted" "$(grep -c 'requests_total{method="POST",route="/api/v1/sql",code="2xx"} 5' "$tmp/metrics")" 1
for path in '' explore timeline compare targets import page/index.html page/index.css page/app.js favicon.ico; do
	get "$path" >/dev/null
	is "/$path" "$(cat "$tmp/code")" 200
done
curl -sS -m 60 -D "$tmp/head" -o /dev/null "$url"
has "the page allows no other sources" "default-src 'none'; script-src 'self'; style-src 'self'" "$(cat "$tmp/head")"
hasnt "… with nothing inline" "unsafe" "$(cat "$tmp/head")"
is "… nor in it" "$(get '' | grep -ciE '<script>|<style|style=|onclick|https?://')" 0

# --- the page's files
# HEADER-OF PATH [CURL-ARG…]: one header of the answer; the body is in $tmp/body.
header() {
	local name=$1 path=$2
	shift 2
	: >"$tmp/body"
	curl -sS -m 60 -D "$tmp/head" -o "$tmp/body" "$@" "$url$path"
	sed -n "s/^$name: \(.*\)\r$/\1/Ip" "$tmp/head"
}
is "pages are revalidated" "$(header cache-control page/index.css)" no-cache
etag=$(header etag page/index.css)
cp "$tmp/body" "$tmp/plain"
is "… and compressed on request" "$(header content-encoding page/index.css -H 'Accept-Encoding: br, gzip;q=0.5')" gzip
is "… which is the same" "$(gzip -dc "$tmp/body" | cmp - "$tmp/plain" && echo same)" same
is "… with the same tag" "$(header etag page/index.css -H 'Accept-Encoding: gzip')" "$etag"
is "… and not otherwise" "$(header content-encoding page/index.css -H 'Accept-Encoding: gzip;q=0, identity')" ""
for known in "$etag" "\"no\", $etag" "${etag#W/}" '*'; do
	header vary page/index.css -H "If-None-Match: $known" >/dev/null
	is "what is known ($known) is not sent again" "$(head -1 "$tmp/head" | tr -d '\r') $(wc -c <"$tmp/body")" "HTTP/1.1 304 Not Modified 0"
done
header vary page/index.css -H 'If-None-Match: W/"0123456789abcdef"' >/dev/null
is "another one is" "$(head -1 "$tmp/head" | tr -d '\r')" "HTTP/1.1 200 OK"
is "responses are compressed as well" "$(header content-encoding 'api/v1/flame?q=wall&fmt=svg' -H 'Accept-Encoding: gzip')" gzip
is "… and the same" "$(gzip -dc "$tmp/body" | cmp - <(get api/v1/flame q=wall fmt=svg) && echo same)" same
is "… except compressed content" "$(header content-encoding 'api/v1/flame?q=wall&fmt=pprof' -H 'Accept-Encoding: gzip')" ""
refused "a file that is not there" 404 "the page has no nothing.js" nothing.js
refused "the way up" 404 "no such path" page/..%2f..%2fetc/passwd.js
refused "hidden files" 404 "no such path" page/.hidden.js

# --- what cannot be asked
refused "nothing there" 404 "no such path: /api/v2" api/v2
refused "no selector" 400 "parameter q is missing" api/v1/flame
refused "a bad selector" 400 "parameter q: selector, column 6" api/v1/top 'q=wall{=}'
refused "no such type" 400 "types here: wall" api/v1/top q=cpu
refused "a parameter that is not there" 400 "did you mean 'focus'" api/v1/top q=wall focs=a
refused "a parameter of another route" 400 "unknown parameter 'step'" api/v1/top q=wall step=1s
refused "a bad time" 400 "parameter from, column 5" api/v1/top q=wall from=now-x
refused "the end first" 400 "parameter to is not later than parameter from" api/v1/top q=wall from=start+2s to=start+1s
refused "a bad expression" 400 "parameter focus" api/v1/top q=wall 'focus=('
refused "no such format" 400 "it is one of: tree, " api/v1/flame q=wall fmt=nothing
refused "no such function" 404 "work" api/v1/callers q=wall f=wok
refused "no such label" 404 "did you mean 'comm'" api/v1/values name=com
refused "too many steps" 413 "more than 100000 steps" api/v1/range q=wall step=1us
refused "a bad flag" 400 "neither 0 nor 1" api/v1/top q=wall no_kernel=yes
is "SQL that is none" "$(post api/v1/sql -d 'SELEC 1' | jq -r .error.code)" bad_request
is "SQL that writes" "$(post api/v1/sql -d 'DELETE FROM samples' >/dev/null; cat "$tmp/code")" 400
is "SQL by GET" "$(get api/v1/sql | jq -r .error.code)" method_not_allowed
stop
is "SIGTERM ends it" "$status" 0
holds "… soon ($took ms)" [ "$took" -lt "$soon_ms" ]
is "… and nothing was logged" "$(cat "$tmp/serve.err")" ""

# --- the examples of docs/api.md, as they stand but for the address
"$cresset" convert tests/golden/perf-script/perf-funcab-cmd-01.txt -o "$tmp/cpu.cresset" 2>/dev/null
serve "$tmp/cpu.cresset"
n=0
while read -r line; do
	n=$((n + 1))
	line=${line//127.0.0.1:7070\//$url}
	(cd "$tmp" && bash -c "${line/curl /curl -sSf -m 10 }" >out 2>err)
	is "${line/$url/}" "$? $(cat "$tmp/err")" "0 "
done < <(awk '/^## / { here = /Examples/ } /^```/ { on = !on } here && on && /^curl/' docs/api.md)
holds "there are examples" [ $n -gt 15 ]
broken=$(sed -n 's/.*{ "\(GET\|POST\)", *"\([^"]*\)".*/\2/p' src/server/route/routes.c | grep -v '^/page\|^/fav' | while read -r path; do
	grep -qF "$path\`" docs/api.md || echo "$path"
done)
is "docs/api.md has every route" "$broken" ""
stop

# --- the page's files out of a directory
mkdir -p "$tmp/ui/page/.git" "$tmp/ui/directory.js"
echo '/* as it is */ one' >"$tmp/ui/a.js"
echo hidden >"$tmp/ui/page/.git/x.js"
cp "$tmp/ui/a.js" "$tmp/outside.js"
ln -s a.js "$tmp/ui/inside.js"
ln -s ../outside.js "$tmp/ui/up.js"
ln -s "$tmp/outside.js" "$tmp/ui/absolute.js"
ln -s "$tmp" "$tmp/ui/dir"
mkfifo "$tmp/ui/pipe.js"
serve tests/golden/folded/simple.txt --ui-dir "$tmp/ui"
is "a file of the directory, unchanged" "$(get a.js)" '/* as it is */ one'
is "… not cached" "$(header cache-control a.js)$(header etag a.js)" no-store
echo two >"$tmp/ui/a.js"
is "… read from disk each time" "$(get a.js)" two
is "a link inside" "$(get inside.js)" two
for path in up.js absolute.js dir/outside.js directory.js pipe.js none.js page/none.css; do
	refused "$path" 404 "$path is missing in --ui-dir" "$path"
done
refused "… nor hidden files" 404 "no such path" page/.git/x.js
refused "… nor index.html of the program" 404 "page/index.html is missing" ""
stop
# --- a store, to read only: beside its writer, and after it
serve --data "$tmp/store"
post 'api/v1/profiles?type=samples' --data-binary @tests/golden/folded/simple.txt >/dev/null
want=$(get api/v1/top q=samples | jq .total)
writer=$server
serve "$tmp/store"
is "a store with a running writer" "$(get api/v1/top q=samples | jq .total)" "$want"
is "… in a sandbox" "$(get api/v1/status | jq -c '.sandbox | [.seccomp, .capabilities]')" "[true,false]"
refused "… takes nothing" 405 "" api/v1/profiles
post api/v1/profiles --data-binary @tests/golden/folded/simple.txt >/dev/null
is "… that is sent" "$(cut -c1 "$tmp/code")" 4
stop
is "… and ends well" "$status" 0
server=$writer
stop
rm -f "$tmp/store/"*-wal "$tmp/store/"*-shm # as who closed it last leaves it
for _ in 1 2; do
	serve "$tmp/store"
	is "a store without a writer" "$(get api/v1/top q=samples | jq .total)" "$want"
	stop
done
"$cresset" query --data "$tmp/store" samples --json >"$tmp/out"
is "… is unchanged" "$(jq .total "$tmp/out")" "$want"
fails "no such directory" 2 "--ui-dir: cannot open" serve tests/golden/folded/simple.txt --ui-dir "$tmp/nothing"

# --- the command
serve tests/golden/folded/simple.txt
is "any file is served" "$(get api/v1/top q=samples | jq .total)" "$("$cresset" query --data tests/golden/folded/simple.txt samples --json | jq .total)"
refused "times without timestamps" 400 "have no times" api/v1/range q=samples
stop INT
is "Ctrl-C ends it" "$status" 0
fails "no file" 2 "FILE is missing" serve
fails "no such file" 6 "cannot open" serve "$tmp/nothing"
fails "others could read" 2 "without tokens other hosts could read all data at 0.0.0.0:7070" serve "$waits" --listen 0.0.0.0:7070
fails "no address" 2 "not an address to listen on" serve "$waits" --listen nowhere
fails "two things" 2 "choose one of FILE and --data" serve "$waits" --data "$tmp"
fails "no directory of a store" 6 "cannot make" serve --data "$tmp/url/x"

# --- the init system is told, from inside the sandbox
if command -v python3 >/dev/null; then
	python3 - "$tmp/notify" >"$tmp/notified" <<-'END' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		while True:
		    print(s.recv(4096).decode(), flush=True)
	END
	pids+=($!)
	for _ in $(seq 1200); do [ -S "$tmp/notify" ] && break; sleep 0.05; done
	NOTIFY_SOCKET=$tmp/notify serve "$waits"
	for _ in $(seq 1200); do grep -q READY=1 "$tmp/notified" && break; sleep 0.05; done
	is "that it is ready" "$(cat "$tmp/notified")" READY=1
	stop
	for _ in $(seq 1200); do grep -q STOPPING=1 "$tmp/notified" && break; sleep 0.05; done
	is "… and that it ends" "$(tail -n 1 "$tmp/notified")" STOPPING=1

	# Any user can fill the queue of the init system, which this one reads after USR1.
	python3 - "$tmp/full" >"$tmp/drained" <<-'END' &
		import signal, socket, sys
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		sender.setblocking(False)
		try:
		    while True:
		        sender.sendto(b"X=1", sys.argv[1])
		except BlockingIOError:
		    print("full", flush=True)
		signal.sigwait([signal.SIGUSR1])
		while True:
		    print(s.recv(4096).decode(), flush=True)
	END
	init=$!
	pids+=("$init")
	for _ in $(seq 1200); do grep -q full "$tmp/drained" && break; sleep 0.05; done
	NOTIFY_SOCKET=$tmp/full serve "$waits"
	kill -TERM "$server"
	for _ in $(seq 400); do kill -0 "$server" 2>/dev/null || break; sleep 0.05; done
	if kill -0 "$server" 2>/dev/null; then
		not_ok "a full queue does not delay the end"
		kill -KILL "$server"
	else
		ok "a full queue does not delay the end"
	fi
	NOTIFY_SOCKET=$tmp/full serve "$waits"
	kill -USR1 "$init"
	for _ in $(seq 1200); do grep -q READY=1 "$tmp/drained" && break; sleep 0.05; done
	is "… and later it is ready" "$(grep -c READY=1 "$tmp/drained")" 1
	stop
else
	skip "that it is ready" "no python3"
fi
finish
