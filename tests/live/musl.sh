#!/usr/bin/env bash
# tier: live
# Programs linked with musl. The code of musl has almost no unwind tables: a stack that reaches main is not truncated, and the system call stub of
# musl, which has no symbol, is not named after the function before it (memset). Needs musl-gcc of this Debian, or a root that
# tests/live/lib_python_roots.sh has fetched; this Debian's gcc then uses its files.
. tests/live/lib.sh
needs_recording
musls=()
command -v musl-gcc >/dev/null && musls+=(/)
for root in "$PWD/$BUILD"/python/*; do [ ! -f "$root/usr/lib/x86_64-linux-musl/musl-gcc.specs" ] || musls+=("$root"); done
[ ${#musls[@]} -gt 0 ] || { skip "programs of musl" "no musl-gcc"; finish; exit; }
compile() { # ROOT ARG…
	local root=${1%/}
	[ -n "$root" ] || { musl-gcc "${@:2}"; return; }
	sed -E "s#/usr/(include|lib)/x86_64-linux-musl|/lib/ld-musl#$root&#g" "$root/usr/lib/x86_64-linux-musl/musl-gcc.specs" >"$tmp/musl.specs"
	gcc -specs="$tmp/musl.specs" "${@:2}"
}
cat >"$tmp/m.c" <<'END'
#include <stdlib.h>
#include <time.h>
volatile unsigned long x;
__attribute__((noinline)) void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) x += i; }
__attribute__((noinline)) void heavy(void) { spin(3000000); x++; }
__attribute__((noinline)) void nap(void) { struct timespec t = { 0, 20000000 }; nanosleep(&t, 0); x++; }
int main(void) { for (int i = 0; i < 60; i++) { heavy(); nap(); } return 0; }
END
look() { # ROOT HOW
	local root=$1 how=$2 whole
	# shellcheck disable=SC2086 # empty: without an option
	compile "$root" -O1 $how "$tmp/m.c" -o "$tmp/m$how" || { not_ok "musl-gcc $how of $root" ""; return; }
	"$cresset" -q record -e cpu,off-cpu -F 199 -o "$tmp/out.cresset" -- "$tmp/m$how" 2>"$tmp/log"
	"$cresset" -q convert "$tmp/out.cresset" --type cpu -o "$tmp/cpu.folded"
	"$cresset" -q convert "$tmp/out.cresset" --type off-cpu -o "$tmp/off.folded"
	whole=$(awk '/;main;heavy;spin/ { all += $NF } /;main;heavy;spin/ && !/truncated/ { n += $NF } END { print all ? 100 * n / all : 0 }' "$tmp/cpu.folded")
	near "musl $how of $root: whole stacks, of those with main" "$whole" 100 1
	holds "… and its sleeps" grep -q 'sleep/timer' "$tmp/off.folded"
	if grep -q 'mem[a-z]*;entry_SYSCALL' "$tmp/off.folded"; then not_ok "… not in memset" "$(cat "$tmp/off.folded")"; else ok "… not in memset"; fi
}
for root in "${musls[@]}"; do
	look "$root" ""
	look "$root" -static
done
finish
