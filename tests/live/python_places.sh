#!/usr/bin/env bash
# tier: live
# run: alone
# Python wherever it runs: before the recorder was there, under another name, in a program in C, two of them in one process, in other namespaces, with
# code that perf would see; and its place among native frames.
. tests/live/lib.sh
. tests/live/lib_python.sh
. tests/live/lib_always.sh
needs_recording
interpreters >"$tmp/interpreters"
shapes=$PWD/tests/live/python/shapes.py shares='<module>;main;run;shape_shares'
hot="$shares;outer;middle;hot_[ab]"
# The newest one that a pattern of "VERSION BUILD" matches: newest PATTERN; sets version and path
newest() {
	read -r version _ path <<<"$(grep -E "^$1 " "$tmp/interpreters" | tail -1)"
	[ -n "$version" ]
}
debian='3[.0-9]* debian' shared='3[.0-9]* shared'

# Of the folded stacks of a recording that match one expression, at least 30, 99 in 100 match another: most WHAT FILE OF RIGHT
most() {
	local all with
	all=$(folded_sum "$3" <"$2")
	with=$(grep -E "$3" "$2" | folded_sum "$4")
	if [ "$all" -ge 30 ] && [ "$with" -ge $((all * 99 / 100)) ]; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep -E "$3" "$2" | grep -Ev "$4" | sort -t' ' -k2 | head -3 | cut -c1-700)"
	fi
}
# Records a running process, and keeps samples later than the first second: a busy machine may take that long to build the tables of its files.
# attached FILE PID [OPTION…]
attached() {
	timeout "$most_s" "$cresset" record -q -F 999 -d 3 -p "$2" -o "$tmp/all.cresset" "${@:3}" 2>"$tmp/err" || not_ok "recording $2" "$(tail -2 "$tmp/err")"
	"$cresset" convert -q "$tmp/all.cresset" --time 1s- -o "$1"
}
working() { # the shape is at work
	sleep 0.5
}

newest "$debian" || newest "$shared" || { echo "1..0 # SKIP no Python"; exit 0; }
arguments=(shares --seconds 20 --lib "$progs/python_ext")

# --- attached to a running process ---
start "$path" "$shapes" "${arguments[@]}" >/dev/null
working
attached "$tmp/late.folded" "${pids[-1]}"
"$cresset" convert -q "$tmp/all.cresset" -o "$tmp/first.folded"
most "$version that runs already, from the first sample on" "$tmp/first.folded" . ";$shares"
most "$version that runs already" "$tmp/late.folded" . "^[^;]*;_start;.*;$shares"
most "… each function below its caller" "$tmp/late.folded" 'hot_[ab]' ";$hot"
attached "$tmp/shown.folded" "${pids[-1]}" --python-native show
most "… also where the interpreter's own frames are shown" "$tmp/shown.folded" 'hot_[ab]' ';<module>;(.*;)?main;(.*;)?run;(.*;)?shape_shares;(.*;)?outer;(.*;)?middle;(.*;)?hot_[ab]'
{
	sed '/_PyEval_EvalFrameDefault/!s/^/folded;/' "$tmp/late.folded"
	sed 's/^/shown;/' "$tmp/shown.folded"
} >"$tmp/both.folded"
most "… which are there, and are not without" "$tmp/both.folded" . '^folded;|^shown;.*_PyEval_EvalFrameDefault'

# --- always on ---
chmod 755 "$tmp"
begin_always up --data "$tmp/data" --listen none
stored() {
	"$cresset" sql --format csv --data "$tmp/data" "SELECT file, count(DISTINCT line) >= 3 FROM frames WHERE kind = 'python' AND function LIKE 'hot\__' ESCAPE '\' GROUP BY 1" |
		tail -n +2 | tr -d '\r' >"$tmp/stored"
	grep -Fxq "$shapes,1" "$tmp/stored"
}
for _ in $(seq 120); do
	stored && break
	sleep 0.5
done
end_always
holds "cresset up has its functions, with file and lines ($(cat "$tmp/stored"))" stored
kill -9 "${pids[-2]}" 2>/dev/null

# --- under another name: a program with an interpreter inside ---
if newest "$debian" && readelf -Ws --dyn-syms "$path" | grep -q ' _PyRuntime$'; then
	cp "$path" "$tmp/service"
	PYTHONHOME=/usr start "$tmp/service" "$shapes" "${arguments[@]}" >/dev/null
	working
	attached "$tmp/service.folded" "${pids[-1]}"
	most "a program of another name" "$tmp/service.folded" . "^service;_start;.*;$shares"
	kill -9 "${pids[-1]}"
else
	skip "a program of another name" "this Debian's Python is not in one piece"
fi

# --- in a program in C: two libpythons, each in its own thread ---
libpython() { ls "${1%/bin/*}"/lib/libpython3.[0-9]*.so.* 2>/dev/null | head -1; }
if newest '3.(8|9|10)[.0-9]* shared' && old=$path && newest '3.1[1-9][.0-9]* shared'; then
	start "$progs/python_embed" 20 "$PWD/tests/live/python/embedded.py" first "${old%/bin/*}" "$(libpython "$old")" second "${path%/bin/*}" "$(libpython "$path")"
	sleep 1
	attached "$tmp/embed.folded" "${pids[-1]}"
	for name in first second; do
		most "one of two interpreters in a program in C: $name" "$tmp/embed.folded" "work_$name" "^python_embed;(__)?clone3?;start_thread;embeds;.*;<module>;<module>;work_$name(;inner_$name(;spin_$name)?)?[; ]"
	done
	most "… nothing is without" "$tmp/embed.folded" 'embeds' ';work_(first|second)'
	kill -9 "${pids[-1]}"
else
	skip "two interpreters in a program in C" "there are no two shared ones"
fi

# --- an interpreter inside an interpreter ---
for wanted in "$debian" "$shared" '3[.0-9]* debian-sid'; do
	newest "$wanted" && [[ $path != */debian-* && $path != */build/python/* ]] || continue
	cat >"$tmp/sub.py" <<-'PY'
		try:
		    import _interpreters as interpreters
		    run = interpreters.exec
		except ImportError:
		    import _xxsubinterpreters as interpreters
		    run = interpreters.run_string
		def main_calls():
		    run(interpreters.create(), """
		def sub_spin():
		    x = 0
		    for i in range(5000):
		        x += i
		def sub_work():
		    while True:
		        sub_spin()
		sub_work()
		""")
		main_calls()
	PY
	start "$path" "$tmp/sub.py"
	working
	attached "$tmp/sub.folded" "${pids[-1]}"
	most "$version: an interpreter inside an interpreter" "$tmp/sub.folded" . ';<module>;main_calls;(.*;)?<module>;sub_work'
	kill -9 "${pids[-1]}"
done

# --- other namespaces; sid and trixie are in a chroot above (tests/live/python.sh) ---
newest "$debian" || newest "$shared"
spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
# shellcheck disable=SC2086 # empty is nothing
start unshare -m $spread -p -f --kill-child sh -c "mount -t proc proc /proc; exec '$path' '$shapes' ${arguments[*]}" >/dev/null
working
attached "$tmp/inside.folded" "$(pgrep -P "${pids[-1]}")"
most "another pid namespace" "$tmp/inside.folded" 'shape_shares' "$shares"
most "… and nothing without frames" "$tmp/inside.folded" . 'shape_shares'
kill -9 "${pids[-1]}"

# --- C between Python: in its place ---
newest "$shared" && start "$path" "$shapes" native --seconds 20 --lib "$progs/python_ext" >/dev/null && {
	working
	attached "$tmp/native.folded" "${pids[-1]}" --python-native show
	most "$version: sorted() between who calls it and its key" "$tmp/native.folded" ';by_sorted;.*;key[; ]' ';by_sorted;.*(list_?sort|list\.sort|PyList_Sort).*;key[; ]'
	most "… libffi around a callback" "$tmp/native.folded" ';called_back[; ]' ';by_ctypes;.*ffi.*;ext_ctypes;.*ffi.*;called_back[; ]'
	most "… an extension" "$tmp/native.folded" ';called_three[; ]' ';by_extension;.*;ext_held;.*PyObject_CallObject.*;called_three[; ]'
	kill -9 "${pids[-1]}"
}

# --- deceptive processes: the walker and the reader lose no sample, and invent nothing ---
for wanted in "$shared" '3.(7|8|9|10)[.0-9]* shared' "$debian"; do
	newest "$wanted" || continue
	: >"$tmp/ruins.folded"
	begin "$tmp/ruins.cresset" -a -F 499
	for what in runtime thread frame code; do
		for seed in 1 2 3; do "$path" tests/live/python/ruins.py "$progs/python_ext" $what $seed; done
	done
	end
	is "$version, overwritten: the recording" $? 0
	"$cresset" convert -q "$tmp/ruins.cresset" --focus '^ext_ruin$' -o "$tmp/ruins.folded"
	most "$version: what is left of the stack is there" "$tmp/ruins.folded" . '^[^;]*;(\[truncated: frames of Python\];)?_start;.*;ext_ruin;ext_spin'
	is "… nothing is made up" "$("$cresset" sql -q --format csv --data "$tmp/ruins.cresset" "SELECT DISTINCT function FROM frames WHERE kind = 'python' AND stack IN
		(SELECT stack FROM frames WHERE function = 'ext_ruin') AND function NOT IN ('<module>', 'ruins', '[unknown]')" | tail -n +2)" ""
done

# --- code that the interpreter generates for perf: it appears once, as without perf ---
if newest '3.(1[2-9])[.0-9]* shared'; then
	start "$path" -X perf "$shapes" "${arguments[@]}" >/dev/null
	working
	attached "$tmp/perf.folded" "${pids[-1]}"
	most "$version -X perf" "$tmp/perf.folded" . "^[^;]*;_start;.*;$shares"
	most "… each function below its caller" "$tmp/perf.folded" 'hot_[ab]' ";$hot"
	# Without frame pointers a sample in the generated code ends there, before the function's own frame is in the chain.
	is "… generated code is at most a leaf" "$(grep -cE 'py::[^;]*;[^;]*_Py|py::[^;]*;Py' "$tmp/perf.folded")" 0
	is "… and none is there twice" "$(awk 'match($0, /;[^;]*;py::[^:;]*/) { split(substr($0, RSTART + 1, RLENGTH - 1), f, ";"); n += f[2] == "py::" f[1] } END { print n + 0 }' "$tmp/perf.folded")" 0
	kill -9 "${pids[-1]}"
	rm -f "/tmp/perf-${pids[-1]}.map"
else
	skip "-X perf" "no shared 3.12 or newer"
fi
finish
