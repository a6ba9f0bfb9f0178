#!/usr/bin/env bash
# tier: test
# Who may ask and send: tokens right and wrong, of each scope and tenant; TLS right and wrong; both renewed by SIGHUP; nginx in front.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in openssl curl jq; do
	command -v $program >/dev/null || { skip "tokens" "no $program"; finish; exit; }
done
file=$tmp/tokens

# --- the file
ends "a token" 0 token create --tokens "$file" --name "of the page"
read=$out
ends "… to write" 0 token create --tokens "$file" --scope write --name db7
write=$out
ends "… for all" 0 token create --tokens "$file" --scope admin
admin=$out
ends "… of a tenant" 0 token create --tokens "$file" --scope read,write --tenant blue
blue=$out
holds "a token is 256 bits" grep -qE '^cresset_[0-9a-f]{64}$' <<<"$read"
is "the file is for its owner" "$(stat -c %a "$file")" 600
is "… and has no token" "$(grep -c -e "${read#cresset_}" -e "${admin#cresset_}" "$file")" 0
is "… but hashes" "$(awk '/of the page/ { print $5 }' "$file")" "$(printf %s "$read" | sha256sum | cut -d' ' -f1)"
ends "the list" 0 token list --tokens "$file" --json
is "… as JSON" "$(jq -c 'map([.scopes, .tenant, .name])' <<<"$out")" \
	'[[["read"],null,"of the page"],[["write"],null,"db7"],[["admin"],null,null],[["read","write"],"blue",null]]'
fails "no file" 1 "cannot open" token list --tokens "$tmp/none"
fails "no tenant's name" 2 "is not made of" token create --tokens "$file" --tenant ../x
fails "no such token" 1 "has no token" token revoke --tokens "$file" 000000000000
fails "no verb" 2 "is not one of" token make --tokens "$file"
echo "0 read - now nothing x" >"$tmp/bad"
fails "a bad file" 6 "line 1" token list --tokens "$tmp/bad"

# --- asking
status_as() { # TOKEN PATH [CURL-ARG…]
	local token=$1 path=$2
	shift 2
	curl -sS -m 20 -o "$tmp/body" -w '%{http_code}' ${token:+-H "Authorization: Bearer $token"} "$@" "$url$path"
}
push=(--data-binary @tests/golden/folded/simple.txt)
serve --data "$tmp/data" --tokens "$file" --log json
is "no token" "$(status_as '' api/v1/types)" 401
curl -sS -D "$tmp/head" -o /dev/null "${url}api/v1/types"
has "… is required" "WWW-Authenticate: Bearer" "$(cat "$tmp/head")"
is "a wrong token" "$(status_as "${read%?}x" api/v1/types)" 401
is "a part of one" "$(status_as "${read%?}" api/v1/types)" 401
is "a right one" "$(status_as "$read" api/v1/types)" 200
is "… does not write" "$(status_as "$read" api/v1/profiles "${push[@]}")" 403
is "one that writes" "$(status_as "$write" api/v1/profiles "${push[@]}")" 200
is "… does not read" "$(status_as "$write" api/v1/types)" 403
is "… nor look around" "$(status_as "$write" debug/ingest)" 403
open_it=(-X POST --data-binary @tests/golden/folded/simple.txt)
is "a file to look at, without a token" "$(status_as '' api/v1/open "${open_it[@]}")" 401
is "… with a wrong one" "$(status_as "${read%?}x" api/v1/open "${open_it[@]}")" 401
is "… with one that only writes" "$(status_as "$write" api/v1/open "${open_it[@]}")" 403
is "… with one that reads" "$(status_as "$read" api/v1/open "${open_it[@]}")" 200
is "one for all" "$(status_as "$admin" api/v1/profiles "${push[@]}") $(status_as "$admin" api/v1/types)" "200 200"
is "two of them" "$(status_as "$read" api/v1/types -H "Authorization: Bearer $admin")" 400
is "no token for health and the page" "$(status_as '' healthz) $(status_as '' readyz) $(status_as '' '')" "200 200 200"
is "another name of the host" "$(status_as "$read" api/v1/types -H 'Host: cresset.example')" 200

is "the log" "$(jq -sc '[.[0], .[3] | .method, .route, .status, .token]' "$tmp/serve.err")" \
	"[\"GET\",\"/api/v1/types\",401,null,\"GET\",\"/api/v1/types\",401,null]"
is "… has ids of tokens" "$(jq -rs '.[4].token' "$tmp/serve.err")" "$("$cresset" token list --tokens "$file" | awk '/of the page/ { print $1 }')"
is "… and no token" "$(grep -c cresset_ "$tmp/serve.err")" 0

# --- tenants
count() { status_as "$1" 'api/v1/sql?fmt=csv' --data 'SELECT count(*) FROM samples' >/dev/null; tail -1 "$tmp/body"; }
holds "the first has samples" [ "$(count "$read")" -gt 0 ]
is "the other one sees no data" "$(count "$blue")" 0
is "… and adds its own" "$(status_as "$blue" 'api/v1/profiles?type=blue' "${push[@]}")" 200
holds "… which it sees" [ "$(count "$blue")" -gt 0 ]
status_as "$read" api/v1/types >/dev/null
is "… and no other tenant" "$(jq -c 'map(.type)' "$tmp/body")" '["samples"]'
holds "… in a separate directory" [ -e "$tmp/data/tenants/blue/inbox.db" ]

# --- reload
id=$("$cresset" token list --tokens "$file" | awk '/of the page/ { print $1 }')
ends "revoked" 0 token revoke --tokens "$file" "$id"
ends "created" 0 token create --tokens "$file" --tenant green
green=$out
is "nothing changes before SIGHUP" "$(status_as "$read" api/v1/types) $(status_as "$green" api/v1/types)" "200 401"
reload() { # WORDS
	: >"$tmp/serve.err"
	kill -HUP "$server"
	for _ in $(seq 3000); do
		grep -q "$1" "$tmp/serve.err" && return
		sleep 0.02
	done
}
reload "read again"
is "… but then" "$(status_as "$read" api/v1/types) $(status_as "$green" api/v1/types)" "401 200"
cp "$file" "$tmp/kept"
echo nonsense >>"$file"
reload "keeping the previous"
has "a bad file changes nothing" "not a token" "$(cat "$tmp/serve.err")"
is "… nothing" "$(status_as "$green" api/v1/types)" 200
cp "$tmp/kept" "$file"
stop
is "it ends" "$status" 0

# --- TLS
certificate() { # NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
		-addext 'subjectAltName=IP:127.0.0.1' -keyout "$tmp/$1.key" -out "$tmp/$1.pem" 2>/dev/null
}
certificate one
certificate two
cp "$tmp/one.pem" "$tmp/cert.pem"
cp "$tmp/one.key" "$tmp/cert.key"
fails "no address for others" 2 "without tokens other hosts could read all data" serve --data "$tmp/data" --listen 0.0.0.0:0
fails "… without TLS" 2 "without TLS tokens" serve --data "$tmp/data" --listen 0.0.0.0:0 --tokens "$file"
fails "half of TLS" 2 "go together" serve --data "$tmp/data" --tls-cert "$tmp/cert.pem"
fails "the wrong key" 2 "are not a TLS certificate and its key" serve --data "$tmp/data" --listen 127.0.0.1:0 --tls-cert "$tmp/one.pem" --tls-key "$tmp/two.key"
serve --data "$tmp/data" --tokens "$file" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/cert.key" --listen 0.0.0.0:0
url=${url/0.0.0.0/127.0.0.1}
has "the address has https" https:// "$url"
is "TLS" "$(status_as "$admin" api/v1/types --cacert "$tmp/one.pem")" 200
is "… and a batch" "$(status_as "$admin" api/v1/profiles --cacert "$tmp/one.pem" "${push[@]}")" 200
is "… needs tokens" "$(status_as '' api/v1/types --cacert "$tmp/one.pem")" 401
status_as "$admin" api/v1/types --cacert "$tmp/two.pem" 2>/dev/null >/dev/null
is "a client without the certificate" $? 60
is "without TLS there is no response" "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "${url/https/http}healthz")" 000
cp "$tmp/two.pem" "$tmp/cert.pem"
cp "$tmp/two.key" "$tmp/cert.key"
reload "read again"
is "SIGHUP renews it" "$(status_as "$admin" api/v1/types --cacert "$tmp/two.pem")" 200
echo nonsense >"$tmp/cert.key"
reload "keeping the previous"
is "… if it can" "$(status_as "$admin" api/v1/types --cacert "$tmp/two.pem")" 200
stop
is "it ends" "$status" 0

# --- behind nginx
if PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
	serve --data "$tmp/data" --tokens "$file"
	cat >"$tmp/nginx.conf" <<-END
		daemon off; pid $tmp/nginx.pid; error_log stderr; events {}
		http { access_log off; client_max_body_size 64m;
		  client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f; uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
		  server { listen unix:$tmp/nginx.sock; location / { proxy_pass $url; proxy_set_header Host cresset.example; } } }
	END
	PATH=$PATH:/usr/sbin nginx -c "$tmp/nginx.conf" -e stderr 2>"$tmp/nginx.err" &
	nginx=$!
	pids+=("$nginx")
	until [ -S "$tmp/nginx.sock" ] || ! kill -0 "$nginx" 2>/dev/null; do sleep 0.02; done
	direct=$url url=http://cresset.example/
	is "with nginx in front" "$(status_as "$admin" api/v1/types --unix-socket "$tmp/nginx.sock")" 200
	is "… with a batch" "$(status_as "$admin" api/v1/profiles --unix-socket "$tmp/nginx.sock" "${push[@]}")" 200
	is "… without a token" "$(status_as '' api/v1/types --unix-socket "$tmp/nginx.sock")" 401
	url=$direct
	kill "$nginx"
	stop
else
	skip "with nginx in front" "no nginx"
fi
finish
