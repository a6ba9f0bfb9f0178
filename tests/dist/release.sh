#!/usr/bin/env bash
# tier: full
# run: alone
# make dist and make sign: all that a release has, its sums, and a signature that minisign verifies. What is in each file: the other tests here.
. tests/cli/lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP the container image needs root"; exit 0; }
for program in dh rpmbuild buildah minisign; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program: ./quickstart dist installs it"; exit 0; }
done
version=$(tools/version) machine=$(uname -m) package=$(tools/package-version "$(tools/version)")
dist=$BUILD/dist
mkdir -p "$dist"
echo old >"$dist/of-another-version"
make -s BUILD="$BUILD" dist >"$tmp/log" 2>&1
is "make dist" "$?$(cat "$tmp/log")" 0
is "it has all files, and no others" "$(cd "$dist" && printf '%s\n' *)" "$(printf '%s\n' SHA256SUMS \
	"cresset-$package-1.$machine.rpm" "cresset-debuginfo-$package-1.$machine.rpm" \
	"cresset-$version-debug-$machine.tar.zst" "cresset-$version-image-$machine".{spdx.json,tar} \
	"cresset-$version-linux-$machine".{spdx.json,tar.gz,tar.zst} "cresset-$version-source.tar.zst" \
	"cresset-dbgsym_${package}_$(dpkg --print-architecture).deb" "cresset_${package}_$(dpkg --print-architecture).deb" | LC_ALL=C sort)"
is "each has a sum" "$(sed 's/^[0-9a-f]*  //' "$dist/SHA256SUMS")" "$(cd "$dist" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort)"
is "… that is right" "$(cd "$dist" && sha256sum --quiet -c SHA256SUMS 2>&1)" ""

minisign -G -W -p "$tmp/key.pub" -s "$tmp/key" >/dev/null 2>&1
make -s BUILD="$BUILD" sign KEY="$tmp/key" >"$tmp/log" 2>&1
is "make sign" $? 0
holds "minisign verifies it" minisign -V -q -p "$tmp/key.pub" -m "$dist/SHA256SUMS"
has "… and its comment has the version" "cresset $version" "$(minisign -V -p "$tmp/key.pub" -m "$dist/SHA256SUMS")"
cp "$dist/SHA256SUMS" "$tmp/sums"
sed -i '1s/^./x/' "$dist/SHA256SUMS"
holds "changed sums are refused" eval "! minisign -V -q -p '$tmp/key.pub' -m '$dist/SHA256SUMS' 2>/dev/null"
make -s BUILD="$BUILD" sign KEY="$tmp/key" >"$tmp/log" 2>&1
is "… and not signed" "$?" 2
cp "$tmp/sums" "$dist/SHA256SUMS"
make -s BUILD="$BUILD" sign >"$tmp/log" 2>&1
is "without a key it names the missing variable" "$?$(grep -c 'KEY=FILE names the secret key' "$tmp/log")" 21
finish
