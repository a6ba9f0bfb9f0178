#!/usr/bin/env bash
# tier: test
# Situations that users of other profilers have reported, recorded: the names of a program are never those of another file.
. tests/live/lib.sh
needs_recording

given=$PWD/tests/golden/reported
# The functions of a binary in folded stacks, without those of libc and the kernel.
functions() { grep -ohE '(parse_request|write_reply|check_auth|old_func|new_func_other|secret_hot|asm_entry|name_of_a_dead_process)' | sort -u | xargs; }
of_comm() { grep "^$1;" | functions; }

# The programs that these files are burn a number of seconds. With this, 0.15 s of CPU time: 150 samples, however long the machine takes. Files of a
# process's generated code are opened at the next quarter of a second, so a program with code needs more.
cat >"$tmp/burn.h" <<'END'
#include <sys/time.h>
#include <unistd.h>
#ifndef BURN_US
#define BURN_US 150000
#endif
static inline void burn_on(void)
{
	setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_usec = BURN_US }, 0);
}
#define alarm(seconds) ((void)(seconds), burn_on())
END
burner() { gcc -O1 -D_GNU_SOURCE -include "$tmp/burn.h" "$@"; }

# --- two programs with one build id
id=0x00112233445566778899aabbccddeeff00112233
burner -Wl,--build-id=$id -o "$tmp/one" "$given/same-build-id-1.c"
burner -Wl,--build-id=$id -o "$tmp/two" "$given/same-build-id-2.c"
"$cresset" record --no-progress -F 997 -o "$tmp/both.folded" -- sh -c "$tmp/one 1; $tmp/two 1" 2>"$tmp/err"
is "one build id: the names of the first" "$(of_comm one <"$tmp/both.folded")" "parse_request write_reply"
is "… and of the second" "$(of_comm two <"$tmp/both.folded")" "check_auth parse_request write_reply"
is "… it is reported once, by name" "$(grep -c "$tmp/two has the build id of $tmp/one" "$tmp/err")" 1
"$cresset" record --no-progress -F 997 -o "$tmp/one.cresset" -- "$tmp/one" 1 2>/dev/null
"$cresset" record --no-progress -F 997 -o "$tmp/two.cresset" -- "$tmp/two" 1 2>/dev/null
"$cresset" -q convert "$tmp/one.cresset" "$tmp/two.cresset" -o "$tmp/merged.folded" 2>/dev/null
is "… in two recordings: the first" "$(of_comm one <"$tmp/merged.folded")" "parse_request write_reply"
is "… and the second" "$(of_comm two <"$tmp/merged.folded")" "check_auth parse_request write_reply"
for i in 1 2; do burner -Wl,--build-id=0x0000000000000000000000000000000000000000 -o "$tmp/zero$i" "$given/same-build-id-$i.c"; done
"$cresset" record --no-progress -F 997 -o "$tmp/zero.folded" -- sh -c "$tmp/zero1 1; $tmp/zero2 1" 2>"$tmp/err"
is "ids of zeros are none: the first" "$(of_comm zero1 <"$tmp/zero.folded")" "parse_request write_reply"
is "… and the second" "$(of_comm zero2 <"$tmp/zero.folded")" "check_auth parse_request write_reply"
is "… nothing is reported" "$(grep -c "build id" "$tmp/err")" 0
cat >"$tmp/named.c" <<'END'
#include "burn.h"
__attribute__((noinline)) void NAME(volatile long *x) { for (int i = 0; i < 100000; i++) *x += i; }
int main(void) { volatile long x = 0; for (burn_on();;) NAME(&x); }
END
gcc -O1 -Wl,--build-id=$id -DNAME=secret_hot -o "$tmp/named1" "$tmp/named.c"
gcc -O1 -Wl,--build-id=$id -DNAME=asm_entry_ -o "$tmp/named2" "$tmp/named.c"
strip -o "$tmp/named3" "$tmp/named1"
"$cresset" record --no-progress -F 997 -o "$tmp/named.folded" -- sh -c "$tmp/named1; $tmp/named2" 2>/dev/null
is "one build id and the same code: the names of the first" "$(of_comm named1 <"$tmp/named.folded")" "secret_hot"
is "… and of the second" "$(of_comm named2 <"$tmp/named.folded")" "asm_entry"
"$cresset" record --no-progress -F 997 -o "$tmp/bare.folded" -- sh -c "$tmp/named1; $tmp/named3" 2>"$tmp/err"
is "… a stripped copy is the same file" "$(grep -c "build id" "$tmp/err")" 0
is "… and has its names" "$(of_comm named3 <"$tmp/bare.folded")" "secret_hot"

# --- a stripped library with an exported symbol of size 0, and other code behind it
gcc -O1 -shared -fPIC -s -o "$tmp/libsizeless.so" "$given/sizeless-dynsym-lib.c" -Wl,--unresolved-symbols=ignore-all
burner -rdynamic -o "$tmp/host" "$given/sizeless-dynsym-main.c" -Wl,--no-as-needed "$tmp/libsizeless.so" -Wl,-rpath,"$tmp"
"$cresset" record --no-progress -F 997 -o "$tmp/sizeless.folded" -- "$tmp/host" 1 2>/dev/null
is "a symbol without size has no other code" "$(functions <"$tmp/sizeless.folded")" ""
holds "… which has addresses" grep -q 'libsizeless.so+0x' "$tmp/sizeless.folded"

# --- a perf map of an earlier process of this pid, or from before an exec
jit_names() { grep -ohE '(name_of_a_dead_process|before_exec|after_exec|\[anon\])' "$1" | sort | uniq -c | awk '{ print $2 }' | xargs; }
counted() { grep -c "frames of generated code without a name: perf map or jitdump unreadable" "$tmp/err"; }
burner -DBURN_US=900000 -o "$tmp/stale" "$given/stale-perf-map.c" 2>/dev/null
"$cresset" record --no-progress -F 997 -o "$tmp/stale.folded" -- "$tmp/stale" stale 1 2>"$tmp/err"
is "a map older than the process is not used" "$(jit_names "$tmp/stale.folded")" "[anon]"
is "… which is counted" "$(counted)" 1
"$cresset" record --no-progress -F 997 -o "$tmp/quiet.folded" -- "$progs/jit_exec" 0.7 quiet 2>"$tmp/err"
is "a map from before an exec names samples from before it" "$(jit_names "$tmp/quiet.folded")" "[anon] before_exec"
is "… the others are counted" "$(counted)" 1
"$cresset" record --no-progress -F 997 -o "$tmp/after.folded" -- "$progs/jit_exec" 0.7 after 2>"$tmp/err"
# The second program writes its map over that of the first: the names of that are there only if they were read in time.
holds "a map from after an exec names samples from after it" grep -q ';after_exec ' "$tmp/after.folded"
holds "… not those from before it" grep -qE ';(\[anon\]|before_exec) ' "$tmp/after.folded"

"$cresset" record --no-progress -F 499 -o "$tmp/late.folded" -- "$progs/jit_late" 0.3 2>/dev/null
is "a map that is written right before the end names what ran before" "$(grep -ohE '(late_name|\[anon\])' "$tmp/late.folded" | sort -u | xargs)" late_name

# --- perf.data: two programs with one build id
if command -v perf >/dev/null; then
	perf record -q -F 499 -g -o "$tmp/both.data" -- sh -c "$tmp/one 1; $tmp/two 1; $tmp/named1; $tmp/named2" >/dev/null 2>&1
	"$cresset" -q convert "$tmp/both.data" -o "$tmp/both.folded" 2>/dev/null
	is "perf.data: one build id: the names of the first" "$(of_comm one <"$tmp/both.folded")" "parse_request write_reply"
	is "… and of the second" "$(of_comm two <"$tmp/both.folded")" "check_auth parse_request write_reply"
	is "… and of others with the same code" "$(of_comm 'named[12]' <"$tmp/both.folded")" "asm_entry secret_hot"
else
	skip "perf.data of two programs with one build id" "there is no perf"
fi

# --- perf.data: a program that was replaced while it ran, or before perf looked
if command -v perf >/dev/null; then
	gcc -O1 -o "$tmp/old" "$given/replaced-binary-old.c"
	gcc -O1 -o "$tmp/new" "$given/replaced-binary-new.c"
	cp "$tmp/old" "$tmp/app"
	export tmp
	perf record -q -F 997 -g -o "$tmp/replaced.data" -- sh -c '"$tmp/app" 1 & sleep 0.5; cp "$tmp/new" "$tmp/app.new"; mv "$tmp/app.new" "$tmp/app"; wait' >/dev/null 2>&1
	"$cresset" -q convert "$tmp/replaced.data" -o "$tmp/replaced.folded" 2>/dev/null
	is "perf.data: replaced: no names of the new file" "$(grep '^app;' "$tmp/replaced.folded" | functions)" ""
	holds "… addresses in the old one" grep -q '^app;.*app (deleted)+0x' "$tmp/replaced.folded"
	rm "$tmp/app"
	cp "$tmp/old" "$tmp/app"
	"$tmp/app" 60 &
	pids+=($!)
	until_comm $! app
	cp "$tmp/new" "$tmp/app.new"
	mv "$tmp/app.new" "$tmp/app"
	perf record -q -F 997 -g -p $! -o "$tmp/deleted.data" -- sleep 0.5 >/dev/null 2>&1
	kill "${pids[-1]}"
	"$cresset" -q convert "$tmp/deleted.data" -o "$tmp/deleted.folded" 2>/dev/null
	is "perf.data: deleted: no names of the new file" "$(functions <"$tmp/deleted.folded")" ""
	holds "… addresses in the old one" grep -q 'app (deleted)+0x' "$tmp/deleted.folded"
	gcc -O1 -Wl,--build-id=none -o "$tmp/written" "$given/replaced-binary-old.c"
	perf record -q -F 997 -g -o "$tmp/written.data" -- "$tmp/written" 1 >/dev/null 2>&1
	gcc -O1 -Wl,--build-id=none -o "$tmp/again" "$given/replaced-binary-new.c"
	cat "$tmp/again" >"$tmp/written"
	"$cresset" -q convert "$tmp/written.data" -o "$tmp/written.folded" 2>/dev/null
	is "perf.data: written again: no names of the new content" "$(functions <"$tmp/written.folded")" ""
	holds "… addresses in the old one" grep -q 'written (deleted)+0x' "$tmp/written.folded"
	holds "… the reason is reported" grep -q "replaced, or written again, since it was recorded: $tmp/written (deleted)" <("$cresset" report "$tmp/written.data" 2>&1)
else
	skip "perf.data of a replaced file" "there is no perf"
fi
finish
