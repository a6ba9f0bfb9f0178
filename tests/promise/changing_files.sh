#!/usr/bin/env bash
# tier: test
# Files of programs change all the time: each program in a new file with the inode of the last one, on a disk and in memory, and one file that is
# written again in place. No sample has the name of another program's function, and files without names are counted.
. tests/live/lib.sh
needs_recording

programs=5 rounds=3
cat >"$tmp/only.c" <<'END'
#include <sys/prctl.h>
#include <time.h>
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
/* Of different sizes, so that a function of one is at another offset than that of the next. */
__attribute__((noinline)) static void JOIN(pad_, N)(volatile long *x) { __asm__ volatile(".skip 64 * " TEXT(N) ", 0x90"); *x += 1; }
__attribute__((noinline)) static void JOIN(only_, N)(volatile long *x) { for (int i = 0; i < 100000; i++) *x += i; }
int main(void)
{
	volatile long x = 0;

	prctl(PR_SET_NAME, "only" TEXT(N));
	for (JOIN(pad_, N)(&x); clock() < CLOCKS_PER_SEC / 25;)
		JOIN(only_, N)(&x);
}
END
for i in $(seq $programs); do gcc -O1 -DN="$i" -o "$tmp/only$i" "$tmp/only.c" || exit 1; done

# How many samples of the programs have the name of one of their functions, how many that of another's.
right() { awk '{ split($1, s, ";"); n = substr(s[1], 5) } /^only/ && $0 ~ "(only|pad)_" n "[^0-9]" { sum += $NF } END { print sum + 0 }' "$1"; }
wrong() { grep -oE '^only[0-9]+|(only|pad)_[0-9]+' "$1" | awk '/^only[0-9]/ { n = substr($0, 5); next } { split($0, s, "_"); bad += s[2] != n } END { print bad + 0 }'; }
# Samples in the program's own file, without exec, exit, and what main spends on looking at the clock.
own() { grep -vE '\[(exec|exit)\]|;clock' "$1" | folded_sum '^only.*;((only|pad)_|[a-z0-9]+[+]0x)'; }
# The files that no reader could open before they were gone: the recording counts them.
gone() { sed -n 's/^ *note *\([0-9]*\): files gone.*/\1/p' "$1" | grep . || echo 0; }
# Samples of a file that is counted as gone may have no names: at most twice its share, as programs differ.
nearly_all_named() { # NAME
	local all named missed
	all=$(own "$tmp/$1.folded") named=$(right "$tmp/$1.folded") missed=$(gone "$tmp/$1.err")
	holds "… and nearly all have their own ($named of $all; $missed files gone)" test "$named" -ge $((all * 95 / 100 - missed * 2 * all / (rounds * programs)))
	holds "… of most files" test "$missed" -le $((rounds * programs / 3))
}
again() { # HOW DIR: each program in turn at the same path
	local i
	for _ in $(seq $rounds); do
		for i in $(seq $programs); do
			[ "$1" = over ] || rm -f "$2/p"
			cp "$tmp/only$i" "$2/p"
			"$2/p"
			stat -c %i "$2/p" >>"$2/inodes"
		done
	done
}
export -f again
export tmp rounds programs
recorded() { # NAME HOW DIR
	mkdir -p "$3"
	timeout "$most_s" "$cresset" record -v --no-progress -F 997 -o "$tmp/$1.folded" -- bash -c "again $2 '$3'" 2>"$tmp/$1.err"
	is "$1: the recording ends with 0" $? 0
	is "$1: no sample has the name of another program's function" "$(wrong "$tmp/$1.folded")" 0
	echo "# $1: $(sort "$3/inodes" | uniq | wc -l) inodes of $((rounds * programs)) files, $(right "$tmp/$1.folded") of $(own "$tmp/$1.folded") samples named"
}
recorded disk new "$tmp/disk"
nearly_all_named disk
mkdir "$tmp/memory"
if mount -t tmpfs t "$tmp/memory" 2>/dev/null; then
	recorded memory new "$tmp/memory"
	nearly_all_named memory
	umount -l "$tmp/memory"
else
	skip "files in memory" "a tmpfs cannot be mounted here"
fi
recorded place over "$tmp/place"
holds "… the last content has its names" test "$(right "$tmp/place.folded")" -gt 0
holds "… files without names are counted" grep -q 'written again' "$tmp/place.err"

# A library that is written again while it is mapped, as cp does.
for i in 1 2; do
	{
		for k in $(seq $((i * 20))); do echo "int before_${i}_$k(int n) { return n * $k; }"; done
		echo "__attribute__((noinline)) int of_library_$i(int n) { for (volatile int i = 0; i < 100000; i++) n += i; return n; }"
		echo "int work(int n) { return of_library_$i(n) + 1; }"
	} >"$tmp/library.c"
	gcc -O1 -shared -fPIC -o "$tmp/library$i.so" "$tmp/library.c"
done
cat >"$tmp/host.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int (*work)(int) = (int (*)(int))dlsym(dlopen(argv[1], RTLD_NOW), "work"), n = 0;

	while (clock() < CLOCKS_PER_SEC / 4)
		n += work(n);
	return execlp("cp", "cp", argv[2], argv[1], NULL); /* nothing runs in it by then */
}
END
gcc -O1 -o "$tmp/host" "$tmp/host.c" -ldl
cp "$tmp/library1.so" "$tmp/library.so"
timeout "$most_s" "$cresset" record -v --no-progress -F 997 -o "$tmp/library.folded" -- "$tmp/host" "$tmp/library.so" "$tmp/library2.so" 2>"$tmp/library.err"
is "a library that is written again: no name of the new content" "$(grep -c 'of_library_2\|before_2' "$tmp/library.folded")" 0
holds "… its samples have addresses, or the names of the old one" grep -qE 'library.so[+]0x|of_library_1' "$tmp/library.folded"
finish
