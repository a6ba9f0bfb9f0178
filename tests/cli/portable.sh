#!/usr/bin/env bash
# tier: test
# The release program: needs nothing but a glibc of 2.28 or later; serves with libmicrohttpd inside, and does TLS with the GnuTLS of the host, or says
# that there is none. That it runs in other distributions: tests/dist.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
release=$BUILD/portable/cresset
[ -x "$release" ] || { not_ok "the release program" "make test-bin builds $release"; finish; exit; }

is "its C library is any since 2.28, and nothing else is needed" "$(tools/check-glibc 2.28 "$release" 2>&1)" ""
is "that of GPU programs is any since 2.17" "$(tools/check-glibc 2.17 "$BUILD/libcresset-cuda.so" 2>&1)" ""
tools/check-glibc 2.27 "$release" >"$tmp/said" 2>&1
is "the check refuses newer functions" "$?$(grep -c 'newer than glibc 2.27: .*fcntl64@GLIBC_2.28' "$tmp/said")" 11
tools/check-glibc 2.40 "$cresset" >"$tmp/said" 2>&1
is "… and other libraries" "$?$(grep -c 'needs other libraries: .*libsqlite3' "$tmp/said")" 11
is "the build directory appears nowhere" "$(grep -c -F "$PWD" "$release")" 0
is "it is of the same version and commit" "$("$release" --version | head -2)" "$("$cresset" --version | head -2)"
is "… and has its libraries inside" "$("$release" --version | sed -n 's/^libraries: *//p')" "linked in, except the C library"

# What old versions of functions could break: mathematics, files, threads, constructors.
for file in tests/golden/pprof/*.pb.gz; do
	for as in folded svg; do
		"$cresset" convert "$file" -o "$tmp/dynamic.$as" 2>/dev/null || continue
		"$release" convert "$file" -o "$tmp/release.$as" 2>"$tmp/said"
		is "${file##*/} as $as" "$?$(cmp "$tmp/dynamic.$as" "$tmp/release.$as" 2>&1)" 0
	done
done

cresset=$release
command -v curl openssl >/dev/null || { skip "serving" "no curl, or no openssl"; finish; exit; }
serve --data "$tmp/data"
is "it serves" "$(get readyz)" ok
has "… the page" "<title>" "$(curl -sS -m 20 "$url")"
if head -c 1 "/proc/$server/maps" >/dev/null 2>&1; then
	is "… with no other library loaded" "$(grep -cE 'lib(microhttpd|gnutls|sqlite3|bpf|elf|zstd|z)\.so' "/proc/$server/maps")" 0
else
	skip "… with no other library loaded" "only root sees the mappings of the server"
fi
stop
is "… and ends" $status 0
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key.pem" -out "$tmp/cert.pem" -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
"$cresset" token create --tokens "$tmp/tokens" --scope read >"$tmp/token" 2>/dev/null
tls=(--data "$tmp/data" --tokens "$tmp/tokens" --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem")
gnutls=$(ldconfig -p | awk '/libgnutls\.so\.30 / { print $NF; exit }')
if [ -n "$gnutls" ]; then
	serve "${tls[@]}"
	is "TLS with the host's GnuTLS" "$(curl -sS -m 20 --cacert "$tmp/cert.pem" -o /dev/null -w '%{http_code}' "${url}readyz")" 200
	stop
	is "… and ends" $status 0
else
	skip "TLS with the host's GnuTLS" "there is none here"
fi
: >"$tmp/nothing"
if [ -n "$gnutls" ] && unshare -m mount --bind "$tmp/nothing" "$(readlink -f "$gnutls")" 2>/dev/null; then
	unshare -m sh -c 'mount --bind "$1" "$2"; shift 2; exec "$@"' sh "$tmp/nothing" "$(readlink -f "$gnutls")" \
		"$cresset" serve --listen 127.0.0.1:0 "${tls[@]}" >"$tmp/said" 2>&1
	is "without it, this is reported" "$?$(grep -c 'TLS needs the library libgnutls.so.30, which is not installed' "$tmp/said")" 41
else
	skip "without it, this is reported" "no mount namespace can be made here, or no GnuTLS"
fi
mkdir "$tmp/libraries"
echo nothing >"$tmp/libraries/libgnutls.so.30"
LD_LIBRARY_PATH=$tmp/libraries "$cresset" serve --listen 127.0.0.1:0 "${tls[@]}" >"$tmp/said" 2>&1
is "one of LD_LIBRARY_PATH that is none is refused" "$?$(grep -c 'TLS needs the library libgnutls.so.30' "$tmp/said")" 41
finish
