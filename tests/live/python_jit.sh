#!/usr/bin/env bash
# tier: live
# CPython's own JIT (PYTHON_JIT=1), from 3.14 on: the functions of Python are complete on every stack. Code of 3.15's retains the frame pointer, so its stacks
# are whole; 3.14's does not: the native part may end there, with a reason. Needs a root that tests/live/lib_python_roots.sh has fetched.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
cat >"$tmp/known.py" <<'END_PY'
import time
def spin(n):
    x = 0
    for i in range(n):
        x = (x + i * i % 7) & 65535
    return x
def heavy(): return spin(60000) + 1
def light(): return spin(20000) + 1
def main():
    heavy_s = light_s = 0
    clock = time.process_time
    end = clock() + 2
    while (start := clock()) < end:
        heavy()
        middle = clock()
        light()
        heavy_s += middle - start
        light_s += clock() - middle
    print(heavy_s / (heavy_s + light_s))
main()
END_PY
interpreters >"$tmp/interpreters"
awk '{ split($1, v, ".") } v[1] == 3 && v[2] >= 14' "$tmp/interpreters" >"$tmp/chosen"
[ -s "$tmp/chosen" ] || { skip "CPython's JIT" "no CPython from 3.14 on"; finish; exit; }
while read -r -u 3 version build path; do
	root=${path%/usr/bin/*} command=("$path") name="$version $build"
	[[ $build = debian-* ]] && command=(chroot "$root" "${path#"$root"}")
	if ! PYTHON_JIT=1 "${command[@]}" -c 'import sys; sys.exit(not sys._jit.is_enabled())' 2>/dev/null; then
		skip "$name" "built without the JIT"
		continue
	fi
	place=$(mktemp -d "$root/tmp/cresset-jit.XXXXXX")
	cp "$tmp/known.py" "$place"
	PYTHON_JIT=1 timeout "$most_s" "$cresset" -q record -F 999 -o "$tmp/out.folded" -- "${command[@]}" "${place#"$root"}/known.py" >"$tmp/own" 2>"$tmp/log" ||
		not_ok "$name: the recording" "$(tail -3 "$tmp/log")"
	rm -rf "$place"
	n=$(folded_sum ';spin[;_ ]' <"$tmp/out.folded")
	holds "$name: enough samples ($n)" test "$n" -ge 500
	full=$(folded_sum '<module>;.*main;.*(heavy|light);.*spin' <"$tmp/out.folded")
	holds "$name: all functions of Python ($full of $n)" awk "BEGIN { exit !($full >= .99 * $n) }"
	a=$(folded_sum ';heavy;.*spin' <"$tmp/out.folded")
	near "$name: the share of heavy, by the program's own clock" "$(awk "BEGIN { print $a / $n }")" "$(cat "$tmp/own")" .03
	cut=$(folded_sum '\[truncated.*spin' <"$tmp/out.folded")
	other=$(grep '\[truncated' "$tmp/out.folded" | grep -v 'no frame pointer' | folded_sum 'spin')
	case $version in
	3.14.*) holds "$name: cut for one reason only ($cut of $n)" awk "BEGIN { exit !($other <= .01 * $n) }" ;;
	*) holds "$name: whole ($cut of $n are cut)" awk "BEGIN { exit !($cut <= .01 * $n) }" ;;
	esac
done 3<"$tmp/chosen"
finish
