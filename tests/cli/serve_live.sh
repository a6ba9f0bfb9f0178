#!/usr/bin/env bash
# tier: test
# GET /api/v1/live: whoever waits is told what came, over TLS and through nginx, too; those who take nothing are cut, and keep nobody waiting.
# DELETE /api/v1/series: what was deleted is gone, also after kill -9.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in curl jq; do
	command -v $program >/dev/null || { skip "news" "no $program"; finish; exit; }
done

# push N [HOST]: N samples now.
push() { printf 'main;work_of_%s %s\n' "${2-db7}" "$1" | post "api/v1/profiles?type=cpu&label=host=${2-db7}" --data-binary @-; }
# Listens for at most SECONDS: events go to $tmp/NAME.
listen() { # NAME SELECTOR [CURL-ARG…]
	local name=$1 selector=$2
	shift 2
	: >"$tmp/$name"
	curl -sSN -m 30 -G --data-urlencode "q=$selector" -D "$tmp/$name.head" "$@" "${url}api/v1/live" >"$tmp/$name" 2>/dev/null &
	pids+=($!)
	listener=$!
}
until_said() { # NAME PATTERN
	for _ in $(seq 1200); do
		grep -q "$2" "$tmp/$1" && return
		sleep 0.05
	done
	return 1
}
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "$*"; fi
}
last_total() { sed -n 's/^data: //p' "$tmp/$1" | tail -1 | jq .total; }

serve --data "$tmp/data"
push 3 >/dev/null
listen news 'cpu{host="db7"}'
check "a new subscriber gets the current state" until_said news '"total":3'
check "… as an event stream" grep -qi '^content-type: text/event-stream' "$tmp/news.head"
check "… that nothing in front holds back" grep -qi '^x-accel-buffering: no' "$tmp/news.head"
push 4 >/dev/null
check "new data is pushed" until_said news '"total":7'
push 100 other >/dev/null
push 1 >/dev/null
until_said news '"total":8'
is "other hosts do not count" "$(last_total news)" 8
get api/v1/live >/dev/null
is "without a selector" "$(cat "$tmp/code")" 400
get api/v1/live 'q=cpu{' >/dev/null
is "with a wrong one" "$(cat "$tmp/code")" 400
is "HEAD has no body" "$(curl -sS -m 10 -I -o /dev/null -w '%{http_code} %{size_download}' "${url}api/v1/live?q=cpu")" "200 0"

# --- too many
streams=()
for i in $(seq 20); do
	listen "many$i" cpu
	streams+=("$listener")
done
for i in $(seq 20); do
	for _ in $(seq 1200); do [ -s "$tmp/many$i.head" ] && break; sleep 0.05; done
done
is "at most 16 per address" "$(cat "$tmp"/many*.head | grep -c '^HTTP/1.1 200')" 15
is "… others are asked to retry" "$(cat "$tmp"/many*.head | grep -ci '^retry-after')" 5
is "… and other requests work" "$(get healthz)" ok
kill "${streams[@]}" 2>/dev/null # some were refused, and are gone
# The server notices within a second or two; whoever comes before that is refused, and comes again: one at a time, each with a file of its own.
for i in $(seq 100); do
	listen "again$i" cpu
	until [ -s "$tmp/again$i.head" ] || ! kill -0 "$listener" 2>/dev/null; do sleep 0.05; done
	grep -q '^HTTP/1.1 200' "$tmp/again$i.head" && break
	wait "$listener"
	sleep 0.1
done
check "closed streams free their slots" grep -q '^HTTP/1.1 200' "$tmp/again$i.head"
stop
is "it ends while some listen" "$status" 0
check "… immediately" [ "$took" -lt "$soon_ms" ]

# --- deletion
serve --data "$tmp/data"
push 5 gone >/dev/null
hosts() { get api/v1/range q=cpu by=host from=now-1h to=now+1m | jq -c '[.groups[] | [.labels.host, .total]] | sort'; }
is "before" "$(hosts)" '[["db7",8],["gone",5],["other",100]]'
delete() { post "api/v1/series?match=$(jq -rn --arg s "$1" '$s | @uri')" -X DELETE; }
is "a selector is deleted" "$(delete 'cpu{host="gone"}' | jq -c .series)" 1
is "… and nothing else" "$(hosts)" '[["db7",8],["other",100]]'
stop KILL
serve --data "$tmp/data"
is "… permanently" "$(hosts)" '[["db7",8],["other",100]]'
is "nothing is deleted by a wrong selector" "$(delete 'cpu{' >/dev/null; cat "$tmp/code")" 400
is "… by none" "$(post api/v1/series -X DELETE >/dev/null; cat "$tmp/code")" 400
is "… by one that takes a part of a series" "$(delete 'cpu{pid="1"}' >/dev/null; cat "$tmp/code")" 400
is "… by one that takes nothing" "$(delete 'cpu{host="nobody"}' | jq -c .)" '{"series":0,"rows":0}'
is "… by a page of another site" "$(post 'api/v1/series?match=cpu' -X DELETE -H 'Origin: https://elsewhere.example' >/dev/null; cat "$tmp/code")" 403
is "… which is all there" "$(hosts)" '[["db7",8],["other",100]]'
is "another method lists the allowed ones" "$(curl -sS -X PUT -o /dev/null -D - "${url}api/v1/series" | tr -d '\r' | sed -n 's/^Allow: //p')" "GET, HEAD, DELETE"
stop

# --- TLS, and nginx in front of it
if PATH=$PATH:/usr/sbin command -v nginx >/dev/null && command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
		-addext 'subjectAltName=IP:127.0.0.1' -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
	secret=$("$cresset" token create --tokens "$tmp/tokens" --scope admin)
	token=(-H "Authorization: Bearer $secret")
	serve --data "$tmp/data" --tokens "$tmp/tokens" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem"
	cat >"$tmp/nginx.conf" <<-END
		daemon off; pid $tmp/nginx.pid; error_log stderr; events {}
		http { access_log off;
		  client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f; uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
		  server { listen unix:$tmp/nginx.sock; location / { proxy_pass $url; proxy_set_header Host cresset.example; } } }
	END
	PATH=$PATH:/usr/sbin nginx -c "$tmp/nginx.conf" -e stderr 2>"$tmp/nginx.err" &
	pids+=($!)
	nginx=$!
	until [ -S "$tmp/nginx.sock" ] || ! kill -0 "$nginx" 2>/dev/null; do sleep 0.02; done
	listen tls 'cpu{host="tls"}' --cacert "$tmp/cert.pem" "${token[@]}"
	direct=$url url=http://cresset.example/
	listen proxied 'cpu{host="tls"}' --unix-socket "$tmp/nginx.sock" "${token[@]}"
	listen nobody cpu --unix-socket "$tmp/nginx.sock"
	url=$direct
	until_said tls totals && until_said proxied totals
	printf 'main;tls 6\n' | post 'api/v1/profiles?type=cpu&label=host=tls' --data-binary @- --cacert "$tmp/cert.pem" "${token[@]}" >/dev/null
	check "events over TLS" until_said tls '"total":6'
	check "… through nginx, as they come" until_said proxied '"total":6'
	check "… not without a token" grep -q '^HTTP/1.1 401' "$tmp/nobody.head"
	writer=$("$cresset" token create --tokens "$tmp/tokens" --scope read,write)
	kill -HUP "$server"
	until [ "$(curl -sS -o /dev/null -w '%{http_code}' --cacert "$tmp/cert.pem" -H "Authorization: Bearer $writer" "${url}api/v1/types")" = 200 ]; do sleep 0.05; done
	delete_as() { curl -sS -o /dev/null -w '%{http_code}' --cacert "$tmp/cert.pem" -H "Authorization: Bearer $1" -X DELETE "${url}api/v1/series?match=cpu%7Bhost%3D%22tls%22%7D"; }
	is "a read and write token may not delete" "$(delete_as "$writer")" 403
	is "an admin token may" "$(delete_as "$secret")" 200
	kill "$nginx"
	stop
	is "it ends" "$status" 0
else
	skip "events over TLS and through nginx" "no nginx or openssl"
fi
finish
