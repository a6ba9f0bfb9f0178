#!/usr/bin/env bash
# How well cresset diff finds functions again in another build: all functions of two ELF files as two profiles, by their symbol tables
# and debug information; then a random share (0.3) of each side. Pairs: our own library built by gcc and by clang in two directories; BENCH_PAIRS="OLD NEW OLD NEW …".
. bench/lib.sh

# WHAT OLD NEW: with all functions, and with a part of each side, as in recordings.
pair() {
	local both found wrong share counts='' shares='' good=1
	for share in 1 0.3; do
		read -r both found wrong < <(python3 bench/same_functions.py "$cresset" "$2" "$3" "$tmp" $share)
		counts+="${counts:+; share $share: }$both" shares+="${shares:+; }$found %, $wrong % wrong"
		[ "$(met "0$found >= 98 && 0$wrong <= 0.5")" = yes ] || good=0
	done
	row "functions found again: $1 ($counts in both)" "≥ 98 %, ≤ 0.5 % wrong" "$shares" "$(met $good)"
}
# COMPILER DIRECTORY OPTION…: our base, profile, symbol and query layers as a library.
build_side() {
	local cc=$1 dir=$2 file
	shift 2
	mkdir -p "$dir"
	cp -r src "$dir/"
	(cd "$dir" && for file in src/base/*.c src/profile/*.c src/profile/*/*.c src/query/*.c src/symbol/*.c src/symbol/*/*.c; do
		"$cc" -Isrc -I"$OLDPWD/$BUILD/gen" -D_GNU_SOURCE -include base/banned.h -include version.h -std=gnu11 -g -fPIC -c "$@" -o "$(tr / _ <<<"$file").o" "$file" &&
			printf '%s\n' "$(tr / _ <<<"$file").o"
	done | xargs "$cc" -shared -o lib.so)
}
say "gcc and clang"
build_side gcc "$tmp/one" -O2
build_side gcc "$tmp/two/deeper" -O2
build_side clang "$tmp/three" -O2
build_side gcc "$tmp/four" -O3 -fno-inline
pair "one program in two directories, gcc" "$tmp/one/lib.so" "$tmp/two/deeper/lib.so"
pair "one program by gcc and clang" "$tmp/one/lib.so" "$tmp/three/lib.so"
pair "one program by gcc -O2 and -O3" "$tmp/one/lib.so" "$tmp/four/lib.so"
# shellcheck disable=SC2086
set -- ${BENCH_PAIRS:-}
while [ $# -gt 1 ]; do
	pair "$(basename "$1") and $(basename "$2")" "$1" "$2"
	shift 2
done
