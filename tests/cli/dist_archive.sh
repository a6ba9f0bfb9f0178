#!/usr/bin/env bash
# tier: live
# make dist-archive: what a release has, unpacked by an ordinary user; sums, licences and versions of what is inside; debug information by build id; and
# the same bytes from another place, user, locale and time. That other distributions run it: tests/dist.
. tests/cli/lib.sh
for program in zstd jq objcopy dpkg-query addr2line; do
	command -v $program >/dev/null || { skip "the archive" "no $program"; finish; exit; }
done
version=$(tools/version) machine=$(uname -m)
name=cresset-$version-linux-$machine
# A copy of what is built: others use $BUILD meanwhile.
build=$tmp/build
mkdir "$build"
make -s BUILD="$BUILD" man completions
cp -r "$BUILD/man" "$BUILD/completions" "$BUILD/portable" "$BUILD/libcresset-cuda.so" "$BUILD/libcresset-mem.so" "$build"
pack() { # BUILD
	VERSION=$version BUILD=$1 SOURCE_DATE_EPOCH=1700000000 tools/dist-archive "$1/dist"
}
is "it is an archive" "$(pack "$build" 2>&1)" ""
holds "… in 8 MB" test "$(stat -c %s "$build/dist/$name.tar.zst")" -le 8000000

# --- the same bytes
mkdir "$tmp/a longer path" && cp -r "$build"/{man,completions,portable,libcresset-cuda.so,libcresset-mem.so} "$tmp/a longer path"
find "$tmp/a longer path" -exec touch -d 2001-02-03 {} +
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 pack "$tmp/a longer path")
is "an archive made elsewhere is identical" "$(cd "$tmp/a longer path/dist" && sha256sum -- *)" "$(cd "$build/dist" && sha256sum -- *)"
is "the build directory appears nowhere" "$(for f in "$build"/dist/*; do zstd -dcqf "$f" 2>/dev/null | grep -c -a -F -e "$tmp"; done | sort -u)" 0

# --- unpacked
chmod 755 "$tmp"
mkdir "$tmp/out" && chown 65534 "$tmp/out"
root=$tmp/out/$name
if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid 65534 --clear-groups); else as=(); fi
"${as[@]}" tar -C "$tmp/out" --zstd -xf - <"$build/dist/$name.tar.zst" 2>"$tmp/said"
is "anybody may unpack it" "$?$(cat "$tmp/said")" 0
is "all of it is one directory" "$(ls "$tmp/out")" "$name"
is "its sums are right" "$(cd "$root" && sha256sum --quiet -c SHA256SUMS 2>&1)" ""
is "… and of all files" "$(cd "$root" && sed 's/^[0-9a-f]*  //' SHA256SUMS)" "$(cd "$root" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort)"
is "the program runs" "$(cd "$root" && "${as[@]}" ./cresset --version | head -n 1)" "cresset $version"
holds "… has at most 10 MB" test "$(stat -c %s "$root/cresset")" -le 10000000
"$root/cresset" doctor --self --json >"$tmp/self"
is "… and finds its files in the archive's layout" "$? $(jq .verified "$tmp/self")" "0 true"
is "… and the libraries for programs" "$(jq -r '.checks[] | select(.name | startswith("libcresset-")) | .detail' "$tmp/self")" "$version"$'\n'"$version"
# The end of the archive is missing: so are files that the list names.
mkdir "$tmp/part"
head -c "$(($(stat -c %s "$build/dist/$name.tar.gz") * 99 / 100))" "$build/dist/$name.tar.gz" | tar -C "$tmp/part" -xzf - 2>/dev/null
is "half of an archive: tar fails" $? 2
"$tmp/part/$name/cresset" doctor --self --json >"$tmp/self" 2>&1
is "… doctor --self does" $? 6
is "… and names each file that is not whole" "$(jq -r '.files[] | select(.state != "same") | .name' "$tmp/self" | sort)" \
	"$(cd "$tmp/part/$name" && sha256sum -c SHA256SUMS 2>/dev/null | sed -n 's/: FAILED.*//p' | sort)"
has "… the last one is missing" "systemd/tmpfiles.conf missing" "$(jq -r '.files[] | "\(.name) \(.state)"' "$tmp/self")"
for file in README LICENSE man/cresset.1 man/cresset-up.1 completions/bash systemd/cresset.service examples/cresset.yaml licences/sqlite3; do
	holds "$file" test -s "$root/$file"
done
has "README names the version" "$version" "$(cat "$root/README")"
is "units have a place" "$(grep -rh '^ExecStart' "$root/systemd" | grep -vc '=/usr/local/bin/cresset ')" 0

# --- what is inside: each archive that the linker took a member of, and no more
sbom=$root/sbom.spdx.json
is "the SBOM is SPDX" "$(jq -r .spdxVersion "$sbom")" SPDX-2.3
of_sbom=$(jq -r '.packages[] | select(.comment // "" | startswith("of the Debian")) | .name' "$sbom" | sort)
of_map=$(awk '/^Archive member/ { on = 1; next } /^Discarded/ { on = 0 } on && /^\// { sub(/\(.*/, ""); print }' "$build/portable/cresset.map" | sort -u |
	xargs realpath | xargs dpkg -S | cut -d : -f 1 | sort -u | xargs dpkg-query -W -f '${source:Package}\n' | sort -u)
is "it names the linked libraries" "$(comm -13 <(echo "$of_sbom") <(echo "$of_map"))" ""
is "… and only the start code besides" "$(comm -23 <(echo "$of_sbom") <(echo "$of_map"))" glibc
is "… with the version that is installed" "$(jq -r '.packages[] | select(.name == "sqlite3") | .versionInfo' "$sbom")" "$(dpkg-query -W -f '${source:Version}' libsqlite3-dev)"
is "each has a licence" "$(jq -r '.packages[] | select(.licenseDeclared == "" or .licenseDeclared == null) | .name' "$sbom")" ""
is "… and its text" "$(cd "$root/licences" && ls)" "$( (echo "$of_sbom" && echo uplot) | sort)"
is "it has the program's sum" "$(jq -r '.files[] | select(.fileName == "./cresset") | .checksums[] | select(.algorithm == "SHA256") | .checksumValue' "$sbom")" \
	"$(sha256sum <"$root/cresset" | cut -d ' ' -f 1)"
tools/sbom linked "$build/portable/cresset.map" >"$tmp/linked"
for change in '/^zlib /d' '$a nothing | MIT | https://example.org/'; do
	sed "$change" deploy/licences/linked >"$tmp/table"
	tools/sbom spdx "$tmp/table" STATIC_LINK 1 0 README.md <"$tmp/linked" >"$tmp/out.json" 2>"$tmp/said"
	is "a library without a licence, and a licence without one, are errors" "$?$(grep -cE 'differ: (zlib|nothing)' "$tmp/said")$(wc -c <"$tmp/out.json")" 110
done

# --- debug information
debug=cresset-$version-debug-$machine
tar -C "$tmp" --zstd -xf - <"$build/dist/$debug.tar.zst"
id=$(readelf -nW "$root/cresset" | sed -n 's/.*Build ID: //p')
holds "debug information is by build id" test -s "$tmp/$debug/buildid/$id/debuginfo"
at=$(nm "$tmp/$debug/buildid/$id/debuginfo" | awk '$3 == "main" { print $1 }')
has "… has functions and lines" "src/cmd/main.c:" "$(addr2line -e "$tmp/$debug/buildid/$id/debuginfo" "0x$at")"
is "… and the program that it is of" "$(cmp "$root/cresset" "$tmp/$debug/buildid/$id/executable" 2>&1)" ""
if [ "$(id -u)" = 0 ]; then
	seq 60000 | awk '{ print "a;b" $1 % 13 ";c" $1 % 2003 ";d" $1 " 1" }' >"$tmp/large.folded"
	python3 -u -m http.server -b 127.0.0.1 -d "$tmp/$debug" 0 >"$tmp/served" 2>&1 &
	pids+=($!)
	for _ in $(seq 1200); do grep -q 'port [1-9]' "$tmp/served" && break; sleep 0.05; done
	DEBUGINFOD_URLS=http://127.0.0.1:$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$tmp/served") CRESSET_CACHE=$tmp/cache \
		"$cresset" record -q -F 499 -o "$tmp/self.folded" -- "$root/cresset" flame "$tmp/large.folded" -o "$tmp/picture.svg"
	has "a server of plain files names the functions of the stripped program" ";run_command;flame_run;" "$(cat "$tmp/self.folded")"
else
	skip "a server of plain files names the functions of the stripped program" "recording needs root"
fi
tar -C "$tmp" --zstd -xf - <"$build/dist/cresset-$version-source.tar.zst"
is "the source has its version" "$("$tmp/cresset-$version-source/tools/version")" "$version"
holds "… and has what builds it" test -x "$tmp/cresset-$version-source/quickstart"
finish
