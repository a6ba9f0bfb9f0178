#!/usr/bin/env bash
# tier: live
# run: alone
# The same program in many builds: with and without frame pointers, optimized or not, position independent or not, static, stripped, by two compilers,
# in four languages. Every stack is complete, and the functions have the same shares in all of them.
. tests/live/lib.sh
needs_recording

src=$PWD/tests/live/builds
names=()
made() { # NAME COMMAND… SOURCE: a build, called sh-NAME
	local name=$1
	shift
	names+=("$name")
	"${@:1:$#-1}" -o "$tmp/sh-$name" "${@: -1}" 2>"$tmp/made.err" || not_ok "$name builds" "$(cat "$tmp/made.err")"
}
c=$src/shares.c cc=$src/shares.cc
made gcc0 gcc -O0 "$c"
made gcc0-nofp gcc -O0 -fomit-frame-pointer "$c"
made gcc2 gcc -O2 "$c"
made gcc2-fp gcc -O2 -fno-omit-frame-pointer "$c"
made gcc3 gcc -O3 "$c"
made gcc-nopie gcc -O2 -no-pie "$c"
made gcc-static gcc -O2 -static "$c"
made gcc-stpie gcc -O2 -static-pie "$c"
made gcc-strip gcc -O2 -rdynamic -s "$c"
made gcc-nohdr gcc -O2 -Wl,--no-eh-frame-hdr "$c"
made gcc-debug gcc -O2 -g -fno-asynchronous-unwind-tables "$c" # .debug_frame alone
made clang0 clang-14 -O0 -fomit-frame-pointer "$c"
made clang2 clang-14 -O2 "$c"
made clang3-fp clang-14 -O3 -fno-omit-frame-pointer "$c"
made gxx0 g++ -O0 "$cc"
made gxx2 g++ -O2 "$cc"
made gxx-static g++ -O2 -static "$cc"
made clangxx2 clang++-14 -O2 "$cc"
export GOCACHE=$tmp/go-cache
made go go build "$src/shares.go"
made go-strip go build -ldflags "-s -w" "$src/shares.go"
if command -v rustc >/dev/null; then
	made rust0 rustc --crate-name shares "$src/shares.rs"
	made rust2 rustc --crate-name shares -O "$src/shares.rs"
else
	skip "Rust" "no rustc"
fi

begin "$tmp/out.folded" --comm 'sh-*' -F 499
for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -gt 2 ]; do wait -n; done # the recorder is one of them
	"$tmp/sh-$name" 1000 & # ms of CPU time: 499 samples, however long it takes
done
for job in $(jobs -rp); do [ "$job" = "$recorder" ] || wait "$job"; done
end
is "recording ends with 0" $? 0

# Names without classes, arguments, templates and compilers' additions; without frames below work: interrupts.
awk '{
	n = $NF; sub(/ [0-9]+$/, "")
	gsub(/ \[clone [^]]*\]/, ""); gsub(/\([^;]*\)/, ""); gsub(/<[^;]*>/, ""); gsub(/\.(constprop|isra|part)\.[0-9]+/, "")
	k = split($0, frame, ";"); line = frame[1]
	for (i = 2; i <= k; i++) { f = frame[i]; sub(/^.*[ :]/, "", f); sub(/^main\./, "", f); line = line ";" f }
	sub(/;work;.*/, ";work", line)
	print line, n
}' "$tmp/out.folded" >"$tmp/plain.folded"

for name in "${names[@]}"; do
	grep "^sh-$name;" "$tmp/plain.folded" >"$tmp/one.folded"
	n=$(folded_sum ';work ' <"$tmp/one.folded")
	whole=$(folded_sum ';main;run;(alpha|beta;gamma_|delta);work ' <"$tmp/one.folded")
	holds "$name: enough samples ($n)" test "$n" -ge 100
	# On a machine that is too busy, there may be no room for the stack of an early sample: the reason says so.
	is "$name: none is cut" "$(grep "^sh-$name;.*\[truncated.*;work" "$tmp/out.folded" | grep -v 'table not loaded\|stack not copied')" ""
	early=$(folded_sum "^sh-$name;.*(table not loaded|stack not copied[^]]*).;work " <"$tmp/out.folded")
	holds "$name: few come too early ($early)" test "$early" -le $((n / 50))
	n=$((n - early))
	near "$name: all of work is where it is called" "$whole" "$n" 1
	near "$name: all of it begins at the beginning" \
		"$(folded_sum "^sh-[^;]*;(_start|runtime.goexit(.abi0)?);.*;work " <"$tmp/one.folded")" "$n" 0
	near "$name: alpha" "$(folded_sum ';alpha;work ' <"$tmp/one.folded")" "$(awk "BEGIN { print $n * .5 }")" "$(sigma "$n" .5 4)"
	near "$name: beta" "$(folded_sum ';beta;gamma_;work ' <"$tmp/one.folded")" "$(awk "BEGIN { print $n * .3 }")" "$(sigma "$n" .3 4)"
	near "$name: delta" "$(folded_sum ';delta;work ' <"$tmp/one.folded")" "$(awk "BEGIN { print $n * .2 }")" "$(sigma "$n" .2 4)"
done
finish
