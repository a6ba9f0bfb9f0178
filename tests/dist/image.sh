#!/usr/bin/env bash
# tier: full
# run: alone
# The container image: what it has, that packing twice gives the same bytes, and that its program records, serves TLS and finds its libraries in a
# root that has nothing else.
. tests/cli/lib.sh
. tests/dist/lib_roots.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP buildah needs root here"; exit 0; }
for program in buildah skopeo jq curl openssl; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done
version=$(tools/version)
image=$BUILD/dist/cresset-$version-image-$(uname -m).tar
make -s BUILD="$BUILD" dist-image >"$tmp/log" 2>&1
is "make dist-image" "$?$(cat "$tmp/log")" 0
holds "… makes 60 MB at most" test "$(stat -c %s "$image")" -le 60000000
first=$(sha256sum <"$image")
(umask 077 && TZ=Asia/Tokyo make -s BUILD="$BUILD" dist-image >/dev/null 2>&1)
is "… and the same again" "$(sha256sum <"$image")" "$first"

sbom=${image%.tar}.spdx.json
is "its SBOM names the libraries" "$(jq -r '.packages[] | select(.name == "gnutls28") | .versionInfo' "$sbom")" "$(dpkg-query -W -f '${source:Version}' libgnutls30)"
skopeo inspect "oci-archive:$image" >"$tmp/inspect"
is "it names its version" "$(jq -r '.Labels["org.opencontainers.image.version"]' "$tmp/inspect")" "$version"
skopeo inspect --config "oci-archive:$image" >"$tmp/config"
is "it runs cresset up" "$(jq -c '.config | [.Entrypoint, .Cmd]' "$tmp/config")" '[["/usr/bin/cresset"],["up","--data","/var/lib/cresset"]]'
is "… and has a volume, a port and a signal" "$(jq -c '.config | [.Volumes, .ExposedPorts, .StopSignal]' "$tmp/config")" '[{"/var/lib/cresset":{}},{"7070":{}},"SIGTERM"]'

root=$tmp/root
mkdir -p "$root" "$tmp/oci"
skopeo copy -q "oci-archive:$image" "oci:$tmp/oci:x"
jq -r '.layers[].digest' "$tmp/oci/blobs/sha256/$(jq -r '.manifests[0].digest' "$tmp/oci/index.json" | cut -d : -f 2)" | cut -d : -f 2 >"$tmp/layers"
while read -r layer; do tar -C "$root" -xf "$tmp/oci/blobs/sha256/$layer"; done <"$tmp/layers"
is "there is no shell and no package manager" "$(cd "$root" && find . -type f -perm /111 ! -name '*.so*' | sort)" "./usr/bin/cresset"
mkdir -p "$root/proc" "$root/sys" "$root/dev"
is "… each with a licence there" "$(jq -r '.packages[].name' "$sbom" | grep -vx -e cresset -e uplot | sort)" "$(ls "$root/usr/share/doc/cresset/licences")"
# cresset in the image's root, with arguments; a single process.
# shellcheck disable=SC2016 # the inner shell's
run=(unshare -m sh -ec 'root=$1; shift
	mount -t proc proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
	exec chroot "$root" /usr/bin/cresset "$@"' sh "$root")
is "the program runs" "$("${run[@]}" --version | head -n 1)" "cresset $version"
"${run[@]}" doctor --self --json >"$tmp/self" 2>&1
is "its files match SHA256SUMS, and the libraries it opens are there" "$(jq -r '.checks[] | select(.state != "ok") | .name' "$tmp/self")" ""

# A root that is read-only and has no /etc.
# shellcheck disable=SC2016 # the inner shell's
unshare -m sh -ec 'root=$1; shift
	mount --bind "$root" "$root"; mount -t tmpfs none "$root/etc"; mount -t proc proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
	mount -o remount,ro,bind "$root"; mount -o remount,ro "$root/etc"
	exec chroot "$root" /usr/bin/cresset "$@"' sh "$root" record -q -a -F 499 -d 1 --format folded -o - >"$tmp/folded" 2>"$tmp/said"
is "it records in a root that is read-only, without /etc" "$?$(cat "$tmp/said")" 0
holds "… with samples" test -s "$tmp/folded"

# --- it records, as a server with TLS reads it
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$BUILD/live/burn" "$$-known" 30 >/dev/null &
pids+=($!)
"${run[@]}" up --data /var/lib/cresset --listen "127.0.0.1:$port" >"$tmp/up" 2>&1 &
up=$!
pids+=("$up")
named() { curl -s -m 5 -G --data-urlencode "q=cpu{comm=\"$$-known\"}" -d from=now-1m -d to=now -d fmt=folded "http://127.0.0.1:$port/api/v1/flame" | grep -q 'burn_outer;burn_loop'; }
for _ in $(seq 160); do
	! named || break
	sleep 0.25
done
holds "it records, and names functions" named
kill $up
wait $up
is "it ends" $? 0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$root/etc/key.pem" -out "$root/etc/cert.pem" 2>/dev/null
"${run[@]}" token create --tokens /etc/tokens >/dev/null 2>&1
"${run[@]}" serve --data /run/store --tokens /etc/tokens --tls-cert /etc/cert.pem --tls-key /etc/key.pem --listen "127.0.0.1:$port" >"$tmp/serve" 2>&1 &
server=$!
pids+=("$server")
for _ in $(seq 100); do [ -s "$tmp/serve" ] && break; sleep 0.05; done
is "TLS works" "$(curl -sS -m 20 --cacert "$root/etc/cert.pem" -o /dev/null -w '%{http_code}' "https://127.0.0.1:$port/readyz")" 200
kill $server
wait $server
finish
