#!/usr/bin/env bash
# tier: test
# cresset doctor PID: where the names of each file come from, against what readelf and nm say of the same files, and the command
# that would give better ones.
. tests/cli/lib.sh

cat >"$tmp/prog.c" <<'C'
#include <sys/mman.h>
#include <unistd.h>
int helper(void);
int helper(void) { return getpid(); }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		mmap(0, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	helper();
	for (;;)
		pause();
}
C
gcc -g -O1 -o "$tmp/full" "$tmp/prog.c"
objcopy --only-keep-debug "$tmp/full" "$tmp/linked.debug"
objcopy --strip-all --add-gnu-debuglink="$tmp/linked.debug" "$tmp/full" "$tmp/linked"
objcopy --strip-all --remove-section .gnu_debuglink "$tmp/full" "$tmp/bare"

inspect() { # PROGRAM [ARG]: $pid, and $tmp/json
	start "$@"
	pid=${pids[-1]}
	for _ in $(seq 3000); do # until it waits in pause()
		grep -q '^State:.*sleeping' "/proc/$pid/status" && [ "$(readlink "/proc/$pid/exe")" = "$1" ] && break
		sleep 0.02
	done
	"$cresset" doctor --json "$pid" >"$tmp/json"
}
file() { jq -r --arg path "$1" ".files[] | select(.path == \$path) | $2" "$tmp/json"; }
build_id() { readelf -n "$1" | sed -n 's/ *Build ID: //p'; }

inspect "$tmp/full"
is "a program with its symbols" "$(file "$tmp/full" .names_from)" .symtab
is "… is fine" "$(file "$tmp/full" .state)" ok
is "… has the build id of readelf" "$(file "$tmp/full" .build_id)" "$(build_id "$tmp/full")"
is "… needs nothing" "$(file "$tmp/full" .remedy)" null
is "… and is walked by its call frame information" "$(file "$tmp/full" .frames_from)" .eh_frame
holds "… which has rows" [ "$(file "$tmp/full" .frame_rows)" -gt 10 ]
functions=$(file "$tmp/full" .functions)
is "the process has a name" "$(jq -r .comm "$tmp/json")" full
is "every executable mapping is listed" "$(jq -r '.files[].path' "$tmp/json" | sort)" \
	"$(awk '$2 ~ /x/ && ($6 ~ /^\// || $6 == "[vdso]") { print $6 }' /proc/"$pid"/maps | sort -u)"
is "the kernel image is accepted" "$(file '[vdso]' .state)" ok
run_cresset doctor "$pid"
has "the same as text" "$tmp/full" "$out"
has "… with the build id" "$(build_id "$tmp/full")" "$out"
has "… the functions" "names    .symtab: $(file "$tmp/full" .functions) functions" "$out"
LC_ALL=C "$cresset" doctor "$pid" >"$tmp/out"
is "ASCII without UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0

inspect "$tmp/linked"
is "a program with a separate debug file" "$(file "$tmp/linked" .names_from)" "debug file"
is "… names the file" "$(file "$tmp/linked" .debug_file)" "$tmp/linked.debug"
is "… and has as many names" "$(file "$tmp/linked" .functions)" "$functions"

inspect "$tmp/bare"
is "a stripped program" "$(file "$tmp/bare" .state)" "$([ "$(file "$tmp/bare" .names_from)" = null ] && echo missing || echo limited)"
if [ -d /var/lib/dpkg/info ]; then
	is "… of no package" "$(file "$tmp/bare" .remedy)" "build it with -g and leave its symbols in"
else
	skip "… of no package" "no dpkg here"
fi
is "… without code made at run time" "$(jq -c .jit "$tmp/json")" '{"bytes":0,"perf_map":null,"remedy":null}'
rm "$tmp/bare"
"$cresset" doctor --json "$pid" >"$tmp/json"
if opens_map_files; then
	is "a deleted file is still read" "$(file "$tmp/bare" .build_id)" "$(build_id "$tmp/full")"
else
	skip "a deleted file is still read" "needs CAP_CHECKPOINT_RESTORE"
fi
is "… and marked deleted" "$(file "$tmp/bare" .deleted)" true

inspect "$tmp/full" jit
is "code made at run time" "$(jq -r .jit.bytes "$tmp/json")" 65536
holds "… without names has a remedy" jq -e '.jit.perf_map == null and .jit.remedy != null' "$tmp/json"
touch "/tmp/perf-$pid.map"
"$cresset" doctor --json "$pid" >"$tmp/json"
is "… with a map is complete" "$(jq -c .jit "$tmp/json")" "{\"bytes\":65536,\"perf_map\":\"/tmp/perf-$pid.map\",\"remedy\":null}"
rm "/tmp/perf-$pid.map"

is "a program in C has no interpreter in it" "$(jq -c .runtimes "$tmp/json")" '[]'

memory() { jq -c ".memory | [.state, .go, .library, .library_loaded]" "$tmp/json"; }
if [ "$(id -u)" = 0 ]; then
	inspect "$(type -P sleep)" 1000 # not the function of lib.sh
	is "allocations of a program can be recorded" "$(memory)" '["ok",false,true,false]'
	run_cresset doctor "$pid"
	has "… as text" "library  can be loaded while it runs" "$out"
	printf 'int main(void) { for (;;) __asm__ volatile("pause"); }\n' >"$tmp/s.c"
	if gcc -static -o "$tmp/static" "$tmp/s.c" 2>/dev/null; then
		start "$tmp/static"
		"$cresset" doctor --json "${pids[-1]}" >"$tmp/json"
		is "… of a static one cannot" "$(memory)" '["limited",false,false,false]'
		holds "… with the reason" jq -e '.memory.library_why_not | test("static")' "$tmp/json"
		kill "${pids[-1]}"
	fi
fi

cat >"$tmp/waits.py" <<'PY'
import sys
import threading
import time
def inner():
    time.sleep(1000)
def outer():
    inner()
threading.Thread(target=outer, daemon=True).start()
outer()
PY
start python3 "$tmp/waits.py" # three frames in the first thread, two and those of threading.py in the second
pid=${pids[-1]}
for _ in $(seq 1200); do
	[ "$(ls "/proc/$pid/task" 2>/dev/null | wc -l)" = 2 ] && break
	sleep 0.05
done
sleep 0.2
"$cresset" doctor --json "$pid" >"$tmp/json"
runtime() { jq -r ".runtimes[0].$1" "$tmp/json"; }
is "a program in Python" "$(runtime language) $(runtime state)" "python ok"
has "… its version" "CPython $(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$(runtime by)"
is "… both of its threads" "$(runtime threads)" 2
holds "… all their frames, by name" [ "$(runtime frames)" -ge 8 ]
is "… every one" "$(runtime named)" "$(runtime frames)"
run_cresset doctor "$pid"
has "the same as text" "in 2 threads at this moment, $(runtime named) with names" "$out"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	setpriv --reuid=65534 --regid=65534 --clear-groups "$cresset" doctor "$pid" >"$tmp/out" 2>"$tmp/err"
	is "a process of another user" $? 3
else
	skip "a process of another user" "not root, or no setpriv"
fi
ends "a thread of the kernel has no files" 0 doctor 2
fails "no such process" 5 "No such process" doctor 4194305
fails "no process id" 2 "'redis' is not a process id" doctor redis
fails "… nor this" 2 "'0' is not a process id" doctor 0
finish
