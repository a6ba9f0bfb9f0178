#!/usr/bin/env bash
# Names for 100 000 distinct addresses of large objects, cold, beside llvm-symbolizer: CPU time and peak memory, best of three. Debug information of
# such size is not on every machine: that of OpenJDK's libjvm (Debian's openjdk-17-dbg, 240 MB, fetched but not installed) stands for it.
. bench/lib.sh
ours=$PWD/$BUILD/bench/symbolize
jdk=$PWD/$BUILD/bench/openjdk
peer=$(command -v llvm-symbolizer-19 || command -v llvm-symbolizer)
what="names of 100 000 addresses, cold, against ${peer##*/}"

# OBJECT: addresses evenly over its code.
addresses() {
	local start size
	read -r start size < <(readelf -SW "$1" | sed -n 's/^.* \.text  *[A-Z]*  *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\).*/\1 \2/p')
	seq "$((16#$start))" "$((16#$size / 100000))" "$((16#$start + 16#$size - 1))" | head -100000 |
		awk '{ printf "0x%x\n", $1 }'
}
# WHAT OBJECT DEBUG-FILE
compare() {
	local a b am bm
	addresses "$2" >"$tmp/addresses"
	if [ -z "$peer" ]; then
		row "$what: $1" "≥ 3×" "llvm-symbolizer is not on this machine" -
	elif ! read -r a b am bm < <("$ours" "$2" "$3" "$tmp/addresses" "$peer"); then
		row "$what: $1" "≥ 3×" "it could not be read" no
	else
		row "$what: $1" "≥ 3×" "$(calc "$b / $a")× ($a s, $b s)" "$(met "$b / $a >= 3")"
		row "$what: peak memory" "≤ ½" "$(calc "$am / $bm")× ($((am / 1024)) MiB, $((bm / 1024)) MiB)" \
			"$(met "$am / $bm <= 0.5")"
	fi
}
# The newest version that both packages have here.
fetch_jdk() {
	local version
	[ ! -e "$jdk/done" ] || return 0
	mkdir -p "$jdk"
	version=$(apt-cache madison openjdk-17-dbg 2>/dev/null | awk 'NR == 1 { print $3 }')
	[ "$version" ] && (cd "$jdk" && timeout 600 apt-get -q download "openjdk-17-dbg=$version" "openjdk-17-jre-headless=$version") >&2 &&
		for deb in "$jdk"/*.deb; do dpkg -x "$deb" "$jdk/x" || return; done && rm "$jdk"/*.deb && touch "$jdk/done"
}

llvm=$(find -L /usr/lib -name 'libLLVM*.so*' -type f -size +50M 2>/dev/null | sort | head -1)
[ -z "$llvm" ] || compare "${llvm##*/}, symbols only" "$llvm" ""
cc1=$(gcc -print-prog-name=cc1)
[ ! -e "$cc1" ] || compare "cc1 of gcc $(gcc -dumpversion), symbols only" "$cc1" ""
if fetch_jdk; then
	jvm=$(find "$jdk/x" -path '*/server/libjvm.so' | head -1)
	id=$(readelf -nW "$jvm" | sed -n 's/.*Build ID: //p')
	debug=$jdk/x/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	objcopy --decompress-debug-sections "$debug" "$tmp/plain.debug"
	compare "libjvm, 1071 units, $(stat -c %s "$tmp/plain.debug" | awk '{ printf "%.0f", $1 / 1e6 }') MB of debug information" "$jvm" "$tmp/plain.debug"
	compare "libjvm, compressed" "$jvm" "$debug"
else
	row "$what: libjvm with debug information" "≥ 3×" "openjdk-17-dbg could not be fetched" -
fi
