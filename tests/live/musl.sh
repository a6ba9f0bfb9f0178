#!/usr/bin/env bash
# tier: live
# Programs linked with musl. The code of musl has almost no unwind tables: a stack that reaches main is not truncated, and the system call stub of
# musl, which has no symbol, is not named after the function before it (memset). Needs musl-gcc.
. tests/live/lib.sh
needs_recording
command -v musl-gcc >/dev/null || { skip "programs of musl" "no musl-gcc"; finish; exit; }
cat >"$tmp/m.c" <<'END'
#include <stdlib.h>
#include <time.h>
volatile unsigned long x;
__attribute__((noinline)) void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) x += i; }
__attribute__((noinline)) void heavy(void) { spin(3000000); x++; }
__attribute__((noinline)) void nap(void) { struct timespec t = { 0, 20000000 }; nanosleep(&t, 0); x++; }
int main(void) { for (int i = 0; i < 60; i++) { heavy(); nap(); } return 0; }
END
for how in "" -static; do
	# shellcheck disable=SC2086 # empty: without an option
	musl-gcc -O1 $how "$tmp/m.c" -o "$tmp/m$how" || { not_ok "musl-gcc $how" ""; continue; }
	"$cresset" -q record -e cpu,off-cpu -F 199 -o "$tmp/out.cresset" -- "$tmp/m$how" 2>"$tmp/log"
	"$cresset" -q convert "$tmp/out.cresset" --type cpu -o "$tmp/cpu.folded"
	"$cresset" -q convert "$tmp/out.cresset" --type off-cpu -o "$tmp/off.folded"
	whole=$(awk '/;main;heavy;spin/ { all += $NF } /;main;heavy;spin/ && !/truncated/ { n += $NF } END { print all ? 100 * n / all : 0 }' "$tmp/cpu.folded")
	near "musl $how: whole stacks, of those with main" "$whole" 100 1
	holds "… and its sleeps" grep -q 'sleep/timer' "$tmp/off.folded"
	if grep -q 'mem[a-z]*;entry_SYSCALL' "$tmp/off.folded"; then not_ok "… not in memset" "$(cat "$tmp/off.folded")"; else ok "… not in memset"; fi
done
finish
