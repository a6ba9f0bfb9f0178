#!/usr/bin/env bash
# tier: live
# Processes that each map 200 files, files that each run once, 50,000 mappings in one process, and processes at their limit: a recording of the whole
# machine ends, in bounded memory, and counts its losses; another program has its names.
. tests/live/lib.sh
needs_recording

readonly most_bytes=$((150 * 1000000))
cp "$progs/storm" "$progs/burn" "$tmp/"
chmod 755 "$tmp"
# Records the machine and a program of known truth during a command: recorded NAME COMMAND…
recorded() {
	local name=$1 near
	shift
	"$progs/burn" "n$$-$name" 600 >/dev/null &
	near=$!
	pids+=("$near")
	until_comm "$near" "n$$-$name"
	# shellcheck disable=SC2016
	timeout -k 10 "$most_s" "$cresset" record -a -v --json --no-progress -F 499 -o "$tmp/$name.cresset" -- sh -c 'exec "$@" >/dev/null' - "$@" >"$tmp/$name.json" 2>"$tmp/$name.err"
	is "$name: the recording ends with 0" $? 0
	kill "$near"
	wait "$near" 2>/dev/null
	"$cresset" -q convert "$tmp/$name.cresset" -o "$tmp/$name.folded"
	echo "# $name: $(number "$name" samples) samples, $(number "$name" lost) lost, $(number "$name" truncated) truncated $(jq -c .truncated_by "$tmp/$name.json");" \
		"$(number "$name" processes) processes, $(number "$name" objects) files; $(($(number "$name" own_peak_bytes) / 1000000)) MB," \
		"$(awk "BEGIN { printf \"%.1f\", 100 * $(number "$name" own_cpu_ns) / $(number "$name" duration_ns) }") % of a CPU"
	holds "$name: its memory is bounded" test "$(number "$name" own_peak_bytes)" -le $most_bytes
	all=$(folded_sum "^n$$-$name;" <"$tmp/$name.folded")
	holds "$name: another program has samples ($all)" test "$all" -ge 50
	holds "… with its names" test "$(folded_sum "^n$$-$name;.*(main|burn_outer|burn_loop)" <"$tmp/$name.folded")" -ge $((all * 95 / 100))
	is "$name: no name is that of another program" "$(grep "^storm;" "$tmp/$name.folded" | grep -c 'burn_outer\|burn_loop')" 0
}
number() { jq ".$2" "$tmp/$1.json"; } # NAME KEY
counted() { jq "[.. | .$2? // empty] | add // 0" "$tmp/$1.json"; } # NAME REASON

# A build id of each file's own: the linker makes it of the content.
mkdir "$tmp/files"
for i in $(seq 200); do echo "int f$i(void) { return $i; }" | gcc -shared -fPIC -x c - -o "$tmp/files/$i.so" || break; done
is "files are there" "$(find "$tmp/files" -type f | wc -l)" 200
# shellcheck disable=SC2016
recorded files bash -c 'for i in $(seq 300); do "$1/storm" files "$1/files" 10; done >/dev/null' - "$tmp"
storm=$(folded_sum '^storm;.*;(main|map_files|storm_burn)(;| )' <"$tmp/files.folded")
holds "… and those of the storm ($storm)" test "$(folded_sum '^storm;.*;storm_burn ' <"$tmp/files.folded")" -ge $((storm / 2))
holds "files: known files are opened once" test "$(number files objects)" -le 3000

# Each is compiled when it is needed; its name makes its build id another one.
cat >"$tmp/unique.c" <<'END'
#include <time.h>
__attribute__((noinline)) int NAME(volatile int *x) { for (int i = 0; i < 100000; i++) *x += i; return *x; }
int main(void) { volatile int x = 0; while (clock() < CLOCKS_PER_SEC / 50) NAME(&x); }
END
# shellcheck disable=SC2016
recorded unique bash -c 'for i in $(seq 60); do gcc -O1 -DNAME=unique_$i -o "$1/unique$i" "$1/unique.c" && "$1/unique$i"; rm "$1/unique$i"; done' - "$tmp"
all=$(grep '^unique[0-9]*;' "$tmp/unique.folded" | grep -v '^unique[0-9]*;\[ex[ei][ct]\]' | folded_sum ';(main|unique_[0-9]+|unique[0-9]+[+]0x)')
named=$(sed -nE 's/^unique([0-9]+);.*;unique_\1(;.*)? ([0-9]+)$/\3/p' "$tmp/unique.folded" | awk '{ n += $1 } END { print n + 0 }')
gone=$(grep '^unique[0-9]*;\[truncated: no file\]' "$tmp/unique.folded" | folded_sum)
holds "unique: programs that ran once have their own names, or the marker of a missing file ($named, $gone of $all)" test $((named + gone)) -ge $((all * 90 / 100)) -a "$all" -ge 100
holds "… most have them" test "$named" -ge $((all * 3 / 4))
is "… and no others" "$(sed -nE 's/^unique([0-9]+);.*;unique_([0-9]+).*/\1 \2/p' "$tmp/unique.folded" | awk '$1 != $2' | wc -l)" 0

recorded mappings "$tmp/storm" mappings 50000 2000
holds "mappings: those beyond the limit are counted" test "$(counted mappings mappings_full)" -gt 0
all=$(folded_sum '^storm;' <"$tmp/mappings.folded")
holds "… samples of that process are there ($all)" test "$all" -ge 200
named=$(folded_sum '^storm;.*storm_burn' <"$tmp/mappings.folded")
cut=$(folded_sum '^storm;.*\[(truncated: |exec|exit)' <"$tmp/mappings.folded")
kernel=$(folded_sum '^storm;.*;(map_often|do_syscall_64|entry_SYSCALL_64)' <"$tmp/mappings.folded")
holds "… with names, or marked ($named, $cut, $kernel)" test $((named + cut + kernel)) -ge $((all * 95 / 100))

# A separate user has 60 processes at most, which all try to start more, for some seconds.
if command -v prlimit >/dev/null && setpriv --reuid 64777 --clear-groups true 2>/dev/null; then
	recorded forks prlimit --nproc=60:60 setpriv --reuid 64777 --regid 64777 --clear-groups "$tmp/storm" forks 8
	holds "forks: processes came and went ($(number forks processes))" test "$(number forks processes)" -ge 60
	all=$(folded_sum '^storm;' <"$tmp/forks.folded")
	whole=$(folded_sum '^storm;_start;' <"$tmp/forks.folded")
	gone=$(folded_sum '^storm;\[(exec|exit)\]' <"$tmp/forks.folded")
	bare=$(grep -v ';main;' "$tmp/forks.folded" | folded_sum '^storm;')
	echo "# forks: $all samples, $whole whole, $gone in exit, $bare without user frames"
	is "… none has unknown frames only, unless they are marked" "$(grep -c '^storm;\[unknown\] ' "$tmp/forks.folded")" 0
else
	skip "forks" "another user's processes cannot be limited here"
fi
finish
