#!/usr/bin/env bash
# tier: full
# run: alone
# Two builds of this commit give the same bytes: from clones in directories of other lengths, by other users, with another umask, time zone, locale and
# number of jobs, another order of the files in directories (disorderfs) and a clock that is 400 days ahead (faketime). What differs is named.
. tests/cli/lib.sh
command -v git >/dev/null && git rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "1..0 # SKIP this is no clone"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP building as another user needs root"; exit 0; }
for program in disorderfs faketime; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program: ./quickstart dist installs it"; exit 0; }
done
[ -e /dev/fuse ] || { echo "1..0 # SKIP no /dev/fuse"; exit 0; }
targets=(dist-archive)
command -v dh >/dev/null && targets+=(dist-deb)
command -v rpmbuild >/dev/null && targets+=(dist-rpm)

chmod 755 "$tmp"
one=$tmp/one two="$tmp/the-other-one/in/a/longer/path"
mkdir -p "$(dirname "$two")"
git clone -q . "$one" && git clone -q . "$tmp/ordered"
chown -R 65534:65534 "$tmp/ordered"
mkdir "$two"
trap 'umount "$two" 2>/dev/null; cleanup' EXIT
disorderfs -q --multi-user=yes --reverse-dirents=yes "$tmp/ordered" "$two"
is "disorderfs reverses directories" "$(ls -U "$two")" "$(ls -U "$tmp/ordered" | tac)"
mkdir "$tmp/home" && chown 65534 "$tmp/home"
(cd "$one" && umask 022 && TZ=UTC LC_ALL=C make -s -j"$(nproc)" "${targets[@]}") >"$tmp/log" 2>&1
is "it is built" "$?$(grep -E 'error|\*\*\*' "$tmp/log")" 0
(cd "$two" && umask 077 && HOME=$tmp/home TMPDIR=$tmp/home TZ=Pacific/Auckland LC_ALL=C.UTF-8 setpriv --reuid 65534 --regid 65534 --clear-groups \
	faketime -f +400d make -s -j1 "${targets[@]}") >"$tmp/log" 2>&1
is "… and again" "$?$(grep -E 'error|\*\*\*' "$tmp/log")" 0
mkdir -p "$one/build/dist" "$two/build/dist"
is "the same files are there" "$(ls "$two/build/dist")" "$(ls "$one/build/dist")"
for file in "$one"/build/dist/*; do
	is "${file##*/}" "$(sha256sum <"$two/build/dist/${file##*/}")" "$(sha256sum <"$file")"
done
# Where a difference comes from.
for file in cresset libcresset-cuda.so libcresset-mem.so portable/cresset libcresset.a $(cd "$one/build" && ls bpf/*.o gen/*.h gen/web.S); do
	cmp -s "$one/build/$file" "$two/build/$file" || not_ok "build/$file" "$(cmp "$one/build/$file" "$two/build/$file" 2>&1)"
done
finish
