#!/usr/bin/env bash
# tier: live
# run: alone
# The stacks of a Python program compared with those of gdb's extension for Python (py-bt) at the same moments: gdb stops it again and again, and its
# output during a stop must equal the stack of that wait, function by function, line by line. On this Debian's Python (python3.11-dbg has the
# extension) and one more, or with CRESSET_PYTHONS=all on every one.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
command -v gdb >/dev/null || { echo "1..0 # SKIP gdb is not there"; exit 0; }
shapes=(shares names exceptions recursion generators asyncio native released)

# Where the extension for a Python is: debug packages put it below auto-load, builds from source beside the program.
extension_of() { # PATH
	local real
	real=$(readlink -f "$1")
	for file in "/usr/share/gdb/auto-load$real-gdb.py" "$real-gdb.py"; do
		if [ -f "$file" ]; then
			echo "$file"
			return
		fi
	done
	return 1
}
against_gdb() { # VERSION BUILD PATH
	local words="$1 $2, beside gdb" name=$tmp/$1-$2 extension out
	extension=$(extension_of "$3") || { skip "$words" "there is no gdb extension to $3"; return; }
	STOPS_EXTENSION=$extension STOPS_OUT=$name.stops timeout 120 "$cresset" record -q -e wall -o "$name.cresset" -- \
		gdb -nx -batch -x tests/live/python/gdb_stops.py --args "$3" "$PWD/tests/live/python/shapes.py" --lib "$progs/python_ext" \
		--seconds 0.3 "${shapes[@]}" >"$name.err" 2>&1 || not_ok "$words: the recording" "$(tail -3 "$name.err")"
	rows_of "$name.cresset" "$name"
	out=$(python3 tests/live/python/check_gdb.py "$1" "$name.stops" "$name.frames" "$name.samples" 2>&1)
	case $out in
	*"not ok "* | *Error*) not_ok "$words: stacks are those that py-bt tells" "$(cut -c1-600 <<<"$out" | tail -8)" ;;
	*)
		ok "$words: $(sed -n 's/^ok //p' <<<"$out")"
		grep '^#' <<<"$out" | cut -c1-600
		;;
	esac
	mkdir -p "$results/gdb"
	sed -n 's/^| //p' <<<"$out" >"$results/gdb/$1-$2"
	rm -f "$name".*
}

interpreters >"$tmp/interpreters"
if [ "${CRESSET_PYTHONS-}" = all ]; then
	cp "$tmp/interpreters" "$tmp/chosen"
else
	{
		grep ' debian ' "$tmp/interpreters"
		grep ' shared ' "$tmp/interpreters" | tail -1
	} >"$tmp/chosen"
fi
[ -s "$tmp/chosen" ] || { echo "1..0 # SKIP no Python"; exit 0; }
while read -r -u 3 version build path; do against_gdb "$version" "$build" "$path"; done 3<"$tmp/chosen"
finish
