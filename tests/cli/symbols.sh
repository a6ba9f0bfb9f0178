#!/usr/bin/env bash
# tier: test
# Symbol tables that agents send: frames without names get them when the table comes, and when they come after it; what is said of one build id is
# said once, and by one tenant; kill -9 in between loses nothing. Names are those that nm and addr2line give.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in protoc curl jq zstd gcc nm addr2line readelf; do
	command -v $program >/dev/null || { skip "symbol tables" "no $program"; finish; exit; }
done
symbols=$BUILD/fixture/symbols
now=$(date +%s)

# --- what a table says: functions as nm has them
cat >"$tmp/p.c" <<'END'
#include <stdio.h>
__attribute__((noinline)) int alpha(int x) { return x * 3 + 1; }
__attribute__((noinline)) int beta(int x) { return alpha(x) ^ 5; }
static __attribute__((noinline)) int gamma_(int x) { return beta(x) + alpha(x); }
int main(int n, char **v) { (void)v; printf("%d\n", gamma_(n)); return 0; }
END
gcc -O1 -g -o "$tmp/p" "$tmp/p.c"
cp "$tmp/p" "$tmp/stripped"
strip -s "$tmp/stripped"
# Offsets are addresses where the segment of code lies as in memory.
is "the program's code lies as in memory" "$(readelf -lW "$tmp/p" | awk '$1 == "LOAD" && / R E / { print ($2 == $3) }')" 1
"$symbols" list "$tmp/p" >"$tmp/list"
nm -S "$tmp/p" | awk '$3 ~ /^[tT]$/ && NF == 4 { a = $1; s = $2; sub(/^0+/, "", a); sub(/^0+/, "", s); print a, s, $4 }' | grep -E ' (alpha|beta|gamma_|main)$' | sort >"$tmp/nm"
is "functions are where nm has them" "$(grep -E ' (alpha|beta|gamma_|main)$' "$tmp/list" | sort)" "$(cat "$tmp/nm")"
bad=0
while read -r at size name; do
	[ "$(addr2line -f -e "$tmp/p" "0x$at" | head -1)" = "$name" ] || bad=1
	[ "$(addr2line -f -e "$tmp/p" "$(printf 0x%x $((0x$at + 0x$size - 1)))" | head -1)" = "$name" ] || bad=1
done <"$tmp/nm"
is "… and addr2line" $bad 0
is "libc frames as well" "$("$symbols" list "$(gcc -print-file-name=libc.so.6)" | awk '$3 == "qsort"' | wc -l)" 1

# --- frames of a build id, in a message
id=$(readelf -nW "$tmp/p" | sed -n 's/.*Build ID: //p')
other=$(tr 0-9a-f 1-9a-f0 <<<"$id")
at_alpha=$((0x$(awk '$3 == "alpha" { print $1 }' "$tmp/nm") + 1))
at_main=$((0x$(awk '$3 == "main" { print $1 }' "$tmp/nm") + 4))
message() { # HOST [BUILD-ID]
	protoc -Itests/golden/otlp --encode=otlp.ProfilesData otlp.proto <<-END
		resource_profiles {
		  resource { attributes { key: "host.name" value { string_value: "$1" } } }
		  scope_profiles { profiles {
		    sample_type { type_strindex: 1 unit_strindex: 2 }
		    samples { stack_index: 1 timestamps_unix_nano: [ $((now - 60))000000000 ] }
		    period_type { type_strindex: 3 unit_strindex: 4 } period: 52631578
		  } }
		}
		dictionary {
		  mapping_table {} mapping_table { memory_start: 0 memory_limit: 0x100000 filename_strindex: 5 attribute_indices: 1 }
		  location_table {}
		  location_table { mapping_index: 1 address: $at_alpha attribute_indices: 2 }
		  location_table { mapping_index: 1 address: $at_main attribute_indices: 2 }
		  function_table {} link_table {} attribute_table {}
		  attribute_table { key_strindex: 6 value { string_value: "${2-$id}" } }
		  attribute_table { key_strindex: 7 value { string_value: "native" } }
		  string_table: "" string_table: "samples" string_table: "count" string_table: "cpu"
		  string_table: "nanoseconds" string_table: "/usr/bin/p" string_table: "process.executable.build_id.gnu"
		  string_table: "profile.frame.type"
		  stack_table {} stack_table { location_indices: [ 1, 2 ] }
		}
	END
}
send() { # HOST [BUILD-ID]
	message "$@" >"$tmp/m"
	post v1development/profiles -H 'Content-Type: application/x-protobuf' --data-binary "@$tmp/m" "${token[@]}" >/dev/null
}
code() { cat "$tmp/code"; }
head_of() { curl -sS -m 20 -I -o /dev/null -w '%{http_code}' "${token[@]}" "${url}api/v1/symbols/$1"; }
put() { # FILE BUILD-ID [CURL-ARG…]
	local file=$1 of=$2
	shift 2
	curl -sS -m 20 -o "$tmp/body" -w '%{http_code}' -T "$file" "${token[@]}" "$@" "${url}api/v1/symbols/$of"
}
token=()
named() { # HOST: the functions of its stack
	curl -sS -m 20 -G "${token[@]}" --data-urlencode "q=cpu{host=\"$1\"}" -d from=now-1h --data-urlencode to=now+1m -d fmt=folded "${url}api/v1/flame" | sed 's/ [0-9]*$//'
}
until_named() { # HOST
	for _ in $(seq 1200); do
		case $(named "$1") in *main*) break ;; esac
		sleep 0.05
	done
	named "$1"
}

serve --data "$tmp/data"
send first
is "a message without names" "$(code)" 200
hasnt "… has no names" "alpha" "$(named first)"
is "no table is there" "$(head_of "$id")" 404
is "the agent's side sends one" "$("$symbols" send "$tmp/p" "$url")" "there 1"
is "… which is there then" "$(head_of "$id")" 200
is "stored frames get names" "$(until_named first)" "main;alpha"
send second
is "later frames have names" "$(named second)" "main;alpha"
is "a second agent sends nothing" "$("$symbols" send "$tmp/p" "$url")" "there 0"
is "files come along" "$(post 'api/v1/sql?fmt=csv' --data "SELECT DISTINCT file FROM functions WHERE name = 'alpha'" | tail -1 | tr -d '\r' | grep -c 'p\.c$')" 1

# --- what is refused
"$symbols" table "$tmp/p" "$tmp/table"
"$symbols" table "$tmp/stripped" "$tmp/table.stripped"
is "the same table again" "$(put "$tmp/table" "$id") $(jq .new "$tmp/body")" "200 false"
is "another one of the same build id" "$(put "$tmp/table.stripped" "$id")" 409
is "… changes nothing" "$(named second)" "main;alpha"
is "one of another build id" "$(put "$tmp/table" "$other")" 400
is "no table" "$(put "$tmp/p.c" "$other")" 400
head -c 300 "$tmp/table" >"$tmp/cut"
is "one that is cut" "$(put "$tmp/cut" "$other")" 400
head -c 80000000 /dev/zero >"$tmp/zeros"
zstd -q "$tmp/zeros" -o "$tmp/bomb"
is "a bomb" "$(put "$tmp/bomb" "$other")" 413
zstd -qc <"$tmp/zeros" >"$tmp/bomb"
is "… without a content size" "$(put "$tmp/bomb" "$other")" 400
rm "$tmp/zeros"
head -c 17000000 /dev/urandom >"$tmp/huge"
is "a huge one" "$(put "$tmp/huge" "$other")" 413
for path in zz 123 ../../x 00/11 "$(printf '%066d' 0)" "${id^^}"; do
	status=$(curl -sS --path-as-is -m 20 -I -o /dev/null -w '%{http_code}' "${url}api/v1/symbols/$path")
	case $status in 400 | 404) ok=1 ;; *) ok=$status ;; esac
	is "no build id: ${path:0:12}" "$ok" 1
done
is "another method" "$(curl -sS -o /dev/null -w '%{http_code}' -X POST --data x "${url}api/v1/symbols/$id")" 405
is "nothing of that is there" "$(head_of "$other") $(ls "$tmp/data/symbols" | wc -l)" "404 1"

# --- what is left to be done is done after kill -9
gcc -O1 -g -o "$tmp/q" "$tmp/p.c" -Wl,--build-id=0xfeedbeef01020304
at=$(awk '$3 == "alpha" { print $1 }' "$tmp/nm")
is "another build of the same" "$("$symbols" list "$tmp/q" | awk '$3 == "alpha" { print $1 }')" "$at"
send third feedbeef01020304
"$symbols" table "$tmp/q" "$tmp/table.q"
port=${url##*:}
exec 3<>"/dev/tcp/127.0.0.1/${port%/}"
printf 'PUT /api/v1/symbols/feedbeef01020304 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n' "$(stat -c %s "$tmp/table.q")" >&3
head -c 200 "$tmp/table.q" >&3
until get metrics | grep -q '^cresset_http_bodies_bytes [1-9]'; do sleep 0.02; done
stop KILL
exec 3>&-
printf half >"$tmp/data/symbols/feedbeef01020304.tmp"
serve --data "$tmp/data"
is "half a table is none" "$(head_of feedbeef01020304) $(find "$tmp/data/symbols" -name "*.tmp" | wc -l)" "404 0"
is "the one before is there" "$(head_of "$id")" 200
put "$tmp/table.q" feedbeef01020304 >"$tmp/status"
stop KILL
is "a table is acknowledged" "$(cat "$tmp/status")" 201
serve --data "$tmp/data"
is "… and there after kill -9" "$(head_of feedbeef01020304)" 200
is "… with its purpose" "$(until_named third)" "main;alpha"
is "named frames retain their names" "$(named first)" "main;alpha"
stop
"$cresset" doctor --data "$tmp/data" >"$tmp/doctor" 2>&1
is "the store is sound" $? 0

# --- tenants
"$cresset" token create --tokens "$tmp/tokens" --scope write,read --tenant one >"$tmp/t1" 2>/dev/null
"$cresset" token create --tokens "$tmp/tokens" --scope write,read --tenant two >"$tmp/t2" 2>/dev/null
"$cresset" token create --tokens "$tmp/tokens" --scope read --tenant two >"$tmp/t3" 2>/dev/null
serve --data "$tmp/tenants" --tokens "$tmp/tokens"
is "without a token" "$(head_of "$id")" 401
token=(-H "Authorization: Bearer $(cat "$tmp/t3")")
is "without the scope" "$(head_of "$id") $(put "$tmp/table" "$id")" "403 403"
token=(-H "Authorization: Bearer $(cat "$tmp/t2")")
send mine
token=(-H "Authorization: Bearer $(cat "$tmp/t1")")
is "one tenant's table" "$(put "$tmp/table" "$id")" 201
token=(-H "Authorization: Bearer $(cat "$tmp/t2")")
is "… is not another one's" "$(head_of "$id")" 404
send more
hasnt "… and names nothing there" "alpha" "$(named mine)$(named more)"
is "… and may upload another one" "$(put "$tmp/table.stripped" "$id")" 201
stop
finish
