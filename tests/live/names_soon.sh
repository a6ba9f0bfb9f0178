#!/usr/bin/env bash
# tier: live
# cresset up on a busy host shows names. Every kernel frame that /proc/kallsyms can name is named two intervals after it was first seen, however long
# reading the symbols took on the clock. An answer of a server has its functions' names at once, or a second later.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
[ "$(grep -m1 ' T _text$' /proc/kallsyms | cut -c1-16)" != 0000000000000000 ] || { echo "1..0 # SKIP the kernel hides the addresses of its symbols"; exit 0; }

me=$$
chmod 755 "$tmp" # the store process is nobody
data=$tmp/data
folded() { # SELECTOR
	"$cresset" query --data "$data" "$1" --format folded -o - 2>"$tmp/err"
}
until_seen() { # COMM
	for _ in $(seq 240); do
		folded "cpu{comm=\"$1\"}" | grep -q . && return
		sleep 0.25
	done
}
# Kernel frames of a program without a name, though kallsyms has one for them; offsets are those of a kernel at 0xffffffff81000000 (x86-64) or 0.
nameless() {
	folded "cpu{comm=\"$1\"}" | grep -o '\[kernel\]+0x[0-9a-f]*' | sort -u >"$tmp/nameless"
	python3 - "$tmp/nameless" <<-'PY'
		import bisect, platform, sys
		symbols = sorted((int(a, 16), t) for a, t in (l.split()[:2] for l in open('/proc/kallsyms')))
		text = next(int(l.split()[0], 16) for l in open('/proc/kallsyms') if l.endswith(' T _text\n'))
		shift = text - (0xffffffff81000000 if platform.machine() == 'x86_64' else 0)
		n = 0
		for line in open(sys.argv[1]):
		    i = bisect.bisect_right(symbols, (int(line.split('+')[1], 16) + shift, 'z')) - 1
		    n += i >= 0 and symbols[i][1] in 'tTwW' and symbols[i][0] > 0
		print(n)
	PY
}
# A shell under another name, running for ever: shell NAME COMMANDS
shell() {
	cp "$(type -P dash || type -P bash)" "$tmp/$1"
	"$tmp/$1" -c "while :; do $2; done" >/dev/null 2>&1 &
	pids+=($!)
}

begin_always up --data "$data" --listen 127.0.0.1:0
until_said "look at it"
url=$(sed -n 's/.*look at it:  *//p' "$tmp/log")
for _ in 1 2 3 4 5 6 7 8; do start "$progs/burn" "$me-load" 60 >/dev/null; done
shell "$me-first" 'read x </proc/version'
until_seen "$me-first"
# By now the symbols have been read; later frames are new.
shell "$me-next" 'cd /proc/self; cd /tmp; read x <stat; read x </proc/self/status; kill -0 $$; umask 77; : >'"$tmp/file"
until_seen "$me-next"
sleep 2.5 # two intervals, and the way
is "the kernel frames of the first samples have names" "$(nameless "$me-first")" 0
is "… and those of a later program" "$(nameless "$me-next")" 0
is "… in many functions of the kernel" "$(($(folded "cpu{comm=\"$me-next\"}" | sed 's/ [0-9]*$//' | tr ';' '\n' | sort -u | grep -c .) > 15))" 1
{ kill -9 "${pids[@]:2}" && wait "${pids[@]:2}"; } 2>/dev/null # one goes on

# A program starts, and later runs code that was not seen before, while its file is not due again. The query asks for the functions of its last
# seconds.
shown() {
	"$cresset" query --server "$url" "cpu{comm=\"$me-phases\"}" --from now-3s --csv 2>"$tmp/err"
}
# A second of a machine with a CPU for each thread, in as many as this one takes.
second() { sleep "$(awk -v cpus="$(nproc)" '{ n = $4 / cpus; print n > 1 ? n : 1 }' /proc/loadavg)"; }
# The first answer that shows the function with or without a name, and one more a second later: named FUNCTION
named() {
	for _ in $(seq 300); do
		shown >"$tmp/shown"
		grep -q "$1\|phases+0x" "$tmp/shown" && break
		sleep 0.2
	done
	grep -q "$1" "$tmp/shown" && echo yes && return
	second
	shown | grep -q "$1" && echo yes
}
start "$progs/phases" "$me-phases"
phases=${pids[-1]}
is "a queried program has function names" "$(named phase_0)" yes
for i in 1 2; do
	kill -USR1 $phases
	sleep 2.5
	is "… and what it does next ($i)" "$(named phase_$i)" yes
done
end_always
is "it ends well" "$status" 0
finish
