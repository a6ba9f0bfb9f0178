#!/usr/bin/env bash
# tier: live
# run: alone
# Which call of the interpreter's loop runs which frame of Python, where only their order tells (up to 3.10): at a call's first and last instructions,
# and where another thread created the interpreter; and greenlets, whose stacks are copied in and out.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
interpreters >"$tmp/interpreters"

# Records what a file does in 2 s of CPU time, and sets how many samples came too early for their tables: recorded_file PATH FILE. A recorder that had
# no CPU while half of its ring filled refuses these, which is counted; then it tries again. In the last try, samples that are marked and counted as
# such are left out, and nothing else.
recorded_file() {
	for _ in 1 2 3 4; do
		timeout 120 "$cresset" record -q --json -F 999 -o "$tmp/out.folded" -- "$1" "$2" >"$tmp/json" 2>"$tmp/err" || not_ok "recording $1" "$(tail -2 "$tmp/err")"
		refused=$(jq .not_walked_in_user_space "$tmp/json")
		[ "$refused" != 0 ] || return 0
	done
	early=$(folded_sum 'truncated: stack not copied' <"$tmp/out.folded")
	[ "$early" -gt "$refused" ] || sed -i '/truncated: stack not copied/d' "$tmp/out.folded"
}
# Of the stacks that match one expression, at least 30, none matches another: none_of WHAT OF WRONG
none_of() {
	local all wrong
	all=$(folded_sum "$2" <"$tmp/out.folded")
	wrong=$(grep -E "$2" "$tmp/out.folded" | folded_sum "$3")
	if [ "$all" -ge 30 ] && [ "$wrong" = 0 ]; then
		ok "$1 ($all)"
	else
		not_ok "$1" "$wrong of $all: $(grep -E "$2" "$tmp/out.folded" | grep -E "$3" | head -3 | cut -c1-700)"
	fi
}
# … that many in 100 match: of_them SHARE WHAT OF RIGHT
of_them() {
	local all right share=$1
	shift
	all=$(folded_sum "$2" <"$tmp/out.folded")
	right=$(grep -E "$2" "$tmp/out.folded" | folded_sum "$3")
	if [ "$all" -ge 30 ] && [ "$right" -ge $(((all * share + 99) / 100)) ]; then
		ok "$1 ($right of $all)"
	else
		not_ok "$1" "$right of $all: $(grep -E "$2" "$tmp/out.folded" | grep -Ev "$3" | head -3 | cut -c1-700)"
	fi
}

# --- functions that end at once, called by one that C calls ---
cat >"$tmp/calls.py" <<-'PY'
	import ctypes, time
	def tiny():
	    pass
	def compare(a, b):
	    for _ in range(20):
	        tiny()
	    return 0
	called_back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)
	qsort, numbers = ctypes.CDLL(None).qsort, (ctypes.c_int * 8)()
	def main():
	    while time.process_time() < 2:
	        qsort(numbers, 8, 4, called_back)
	main()
PY

# --- an interpreter that one thread creates and another one runs ---
cat >"$tmp/sub.py" <<-'PY'
	import os, threading, time
	import _xxsubinterpreters as interpreters
	made, end = [], time.process_time() + 2
	def maker():
	    made.append(interpreters.create())
	    while time.process_time() < end:
	        for _ in range(1000):
	            pass
	# (It ends by itself: from 3.9 to 3.11, threads of one interpreter do not notice that those of another want the lock.)
	def runner():
	    interpreters.run_string(made[0], """
	import time
	def sub_spin():
	    for i in range(5000):
	        pass
	def sub_work():
	    while time.process_time() < %f:
	        sub_spin()
	sub_work()
	""" % end)
	threading.Thread(target=maker, daemon=True).start()
	while not made:
	    time.sleep(0.01)
	threading.Thread(target=runner, daemon=True).start()
	while time.process_time() < end:
	    time.sleep(0.1)
	os._exit(0)
PY

# --- an exception thrown into a generator that delegates to another: no call runs the first one during that ---
cat >"$tmp/thrown.py" <<-'PY'
	import time
	def spin():
	    for i in range(20000):
	        pass
	def catches():
	    while True:
	        try:
	            yield
	        except ValueError:
	            spin()
	def delegates():
	    yield from catches()
	def throws():
	    thrown.throw(ValueError)
	thrown = delegates()
	next(thrown)
	end = time.time() + 1
	while time.time() < end:
	    thrown.throw(ValueError)
	while time.time() < end + 1:
	    throws()
PY

n=0
while read -r -u 3 version build path; do
	n=$((n + 1))
	recorded_file "$path" "$tmp/calls.py"
	of_them 100 "$version $build: a function that C calls is behind that" \
		'^[^;]*;_start;.*;main;(.*;)?compare[; ]' ';main;.*;qsort[^;]*;.*;compare[; ]'
	recorded_file "$path" "$tmp/thrown.py"
	of_them 100 "$version $build: who throws into a generator is there, or that it is missing is said" \
		';spin[; ]|frames of Python' ';<module>;(.*;)?(throws;)?(delegates;)?catches;spin[; ]|\[truncated: frames of Python\]'
	none_of "… and none is in another's place" ';spin[; ]|frames of Python' \
		';delegates;(.*;)?(throws|spin)[; ]|;throws;(.*;)?spin;catches|;spin;.*;(spin|catches)[; ]'
	[[ $version != 3.[67].* ]] || continue
	recorded_file "$path" "$tmp/sub.py"
	none_of "$version $build: no frame of an interpreter is in another's place" ';(interp_run_string|maker[; ])|frames of Python' \
		';interp_run_string;(.*;)?runner[; ]|;maker;(.*;)?sub_|;sub_.*;maker[; ]|;sub_.*;interp_run_string'
	# (While it has no function running there is nothing to say.)
	of_them 99 "… and what is missing is said" ';interp_run_string;' '^[^;]*;\[truncated: frames of Python\];'
done 3< <(grep -E '^3\.([6-9]|10)\.[0-9]+ shared ' "$tmp/interpreters")
[ "$n" -gt 0 ] || skip "a place by order alone" "there is no shared Python before 3.11"

# --- greenlets: each has its own frames, on its current stack ---
cat >"$tmp/greenlets.py" <<-'PY'
	import time
	from greenlet import greenlet
	def spin():
	    x = 0
	    for i in range(20000):
	        x += i
	def a_work():
	    spin()
	    b.switch()
	def b_work():
	    spin()
	    a.switch()
	def a_main():
	    while time.process_time() < end:
	        a_work()
	def b_main():
	    while time.process_time() < end:
	        b_work()
	def begin(depth):
	    if depth:
	        return begin(depth - 1)
	    a.switch()
	end = time.process_time() + 2
	a, b = greenlet(a_main), greenlet(b_main)
	begin(3)
PY
if /usr/bin/python3 -c 'import greenlet' 2>/dev/null; then
	recorded_file /usr/bin/python3 "$tmp/greenlets.py"
	begun='^[^;]*;_start;.*g_initialstub[^;]*;.*inner_bootstrap[^;]*;(.*;)?'
	of_them 100 "greenlets: whole stacks, behind the code that begins one" ';spin[; ]' "${begun}[ab]_main;[ab]_work;spin[; ]"
	none_of "… with frames of one only" ';spin[; ]' \
		';a_(main|work);(.*;)?b_(main|work)[; ]|;b_(main|work);(.*;)?a_(main|work)[; ]'
	a=$(folded_sum ';a_work;spin[; ]' <"$tmp/out.folded") b=$(folded_sum ';b_work;spin[; ]' <"$tmp/out.folded")
	near "… and half of the time each" "$a" $(((a + b) / 2)) "$(((a + b) / 10))"
else
	skip "greenlets" "python3-greenlet is not there"
fi
finish
