#!/usr/bin/env bash
# tier: test
# Memory of a program by stack: each function of a program of known heap has its allocations, and its memory in use, within the interval that the report states.
. tests/live/lib.sh
. tests/live/lib_mem_sites.sh
needs_recording

late=$progs/mem_late pause=$(awk "BEGIN { print int(1000 * $CRESSET_SLOW) }")

# Five standard deviations of each sum, while the report states 1.96; the numbers of the program are exact. inside FILE TYPE FIELD OUTSIDE
inside() {
	"$cresset" report "$1" --type "$2" --top 0 --json >"$tmp/report"
	jq -r '.top[] | select(.function | test("^(by_|large|near|beyond|mem_late)")) | [.function, .total, .total_low, .total_high] | @tsv' "$tmp/report" |
		awk -v field="$3" -v outside="$4" -v type="$2" '
			NR == FNR { want[$1] = $field; next }
			{
				n++
				off = $2 - want[$1]; off = off < 0 ? -off : off
				half = ($4 - $3) / 2
				if (off > half * 5 / 1.96 + 1) { print type, $1 ": " $2 " of " want[$1] " ± " half; bad = 1 }
				beyond += off > half + 1
				sum += $2; all += want[$1]; square += half * half
			}
			END {
				if (n != length(want)) { print n " functions of " length(want); bad = 1 }
				off = sum - all; off = off < 0 ? -off : off
				if (off > sqrt(square) * 5 / 1.96 + n) { print "all: " sum " of " all; bad = 1 }
				if (beyond > outside) { print beyond " of " n " outside of their 95 % interval"; bad = 1 }
				exit bad
			}' "$tmp/truth" -
}
for run in "1 524288" "2 65536"; do
	read -r seed mean <<<"$run"
	CRESSET_MEM_SEED=$seed CRESSET_MEM_MEAN=$mean timeout "$most_s" "$cresset" record --no-progress -e alloc,mem-inuse -o "$tmp/m.cresset" -- \
		"$progs/heap_sites" "$late" "$pause" >"$tmp/truth" 2>"$tmp/err"
	is "the recording, one in $mean bytes" $? 0
	is "eleven functions" "$(wc -l <"$tmp/truth")" 11
	holds "bytes allocated" inside "$tmp/m.cresset" alloc 2 3
	holds "blocks allocated" inside "$tmp/m.cresset" alloc-objects 3 3
	holds "bytes in use" inside "$tmp/m.cresset" inuse 4 3
	holds "blocks in use" inside "$tmp/m.cresset" inuse-objects 5 3
done
holds "… each block that is larger than the mean, exactly" \
	jq -e '.top[] | select(.function == "beyond_mean") | .total_low == .total and .total == .total_high' "$tmp/report"
folded "$tmp/m.cresset" alloc >"$tmp/folded"
# A busy machine builds the unwind table of the program late.
holds "stacks reach the first frame of a program or thread" awk '/;by_/ { all += $NF; if (!/^[^;]*;(_start|clone3?|__clone3?);/) cut += $NF }
	END { print cut " of " all; exit !(all && cut <= all * 3 / 100) }' "$tmp/folded"
is "a stack ends in the function that the program called" "$(sed -n 's/.*;by_malloc;\(.*\) [0-9]*$/\1/p' "$tmp/folded" | sort -u)" malloc
is "… and no other frame is the library's" "$(grep -c 'table_add\|hook_\|marker' "$tmp/folded")" 0
holds "the text has intervals" grep -q '95 % intervals' <("$cresset" report "$tmp/m.cresset" --type inuse)
holds "nothing is lost" grep -q " 0 lost" "$tmp/err"

# A copy that is preloaded already, as of another version: two in one program would take each other's places.
mkdir "$tmp/other"
cp "$BUILD/libcresset-mem.so" "$tmp/other"
export LD_PRELOAD=$tmp/other/libcresset-mem.so:libm.so.6
is "another copy of the library is left out, and no other one" "$("$cresset" record -q -e alloc -o "$tmp/c.cresset" -- sh -c 'echo $LD_PRELOAD' 2>"$tmp/err")" \
	"libm.so.6:$PWD/$BUILD/libcresset-mem.so"
CRESSET_MEM_SEED=3 CRESSET_MEM_MEAN=65536 timeout "$most_s" "$cresset" record --no-progress -e alloc,mem-inuse -o "$tmp/m.cresset" -- \
	"$progs/heap_sites" "$late" "$pause" >"$tmp/truth" 2>"$tmp/err"
unset LD_PRELOAD
holds "… bytes allocated" inside "$tmp/m.cresset" alloc 2 3
holds "… bytes in use" inside "$tmp/m.cresset" inuse 4 3

# Python: objects above 512 bytes, by the functions that make them.
if command -v python3 >/dev/null; then
	cat >"$tmp/keep.py" <<'END'
import os, time
def keep():
    return [b"x" * 100000 for _ in range(1000)]
def churn():
    for _ in range(1000):
        bytearray(50000)
kept = keep()
churn()
time.sleep(1)
os._exit(0) # otherwise all of it is freed first
END
	timeout "$most_s" "$cresset" record --no-progress -e alloc,inuse -o "$tmp/p.cresset" -- python3 "$tmp/keep.py" 2>"$tmp/err"
	python_mb() { folded "$tmp/p.cresset" "$1" | awk -v f="$2" '$0 ~ ";" f "(;| )" { n += $NF } END { printf "%d", n / 1e6 }'; }
	# σ² = Σ w (w - 1) s²: 7.0 and 5.0 MB
	near "MB that a Python function allocates" "$(python_mb alloc keep)" 100 35
	near "… in use" "$(python_mb inuse keep)" 100 35
	near "MB that a Python function allocates and drops" "$(python_mb alloc churn)" 50 25
	near "… in use" "$(python_mb inuse churn)" 0 2
fi

# A running process gets the library, which parks when the recording ends.
run_sites "$progs/mem_sites"
begin "$tmp/a.cresset" -e alloc,inuse -p "$pid"
echo "fill 30000" >&"$to"
next_line >"$tmp/held"
"$cresset" record --no-progress --json -e inuse -d 100ms -o "$tmp/j.cresset" -p "$pid" >"$tmp/j.json" 2>/dev/null
is "a second recording at the same time leaves it alone" "$(jq .heap_programs "$tmp/j.json")" 0
echo halve >&"$to"
next_line >"$tmp/kept"
end
is "a recording of it" $? 0
all() { # TYPE: its sum, and half of the 95 % interval
	"$cresset" report "$tmp/a.cresset" --type "$1" --top 0 --json |
		jq -r '.top[] | [.self, .self_low, .self_high] | @tsv' |
		awk '{ n += $1; square += (($3 - $2) / 2) ^ 2 } END { printf "%d %d\n", n, sqrt(square) }'
}
# One site allocates half of its size first; a tenth of the rest was moved to twice its size and back.
bytes_of() { tr ' ' '\n' <"$1" | awk -F: -v times="$2" -v part="$3" 'NF == 2 { n += $1 * times * int(($2 + part - 1) / part) } END { printf "%d", n }'; }
read -r got half <<<"$(all alloc)"
near "bytes that it allocates" "$got" $(($(bytes_of "$tmp/held" 1 1) + 30000 * 500 + $(bytes_of "$tmp/kept" 3 10))) "$(awk "BEGIN { print $half * 5 / 1.96 }")"
read -r got half <<<"$(all inuse)"
near "bytes in use" "$got" "$(bytes_of "$tmp/kept" 1 1)" "$(awk "BEGIN { print $half * 5 / 1.96 }")"
is "a second recording finds the library" \
	"$("$cresset" record --no-progress --json -e alloc -d 100ms -o "$tmp/j.cresset" -p "$pid" 2>/dev/null | jq .heap_programs)" 1
echo end >&"$to"
wait "$pid"
is "the program ends as ever" $? 0

# What cannot have the library is refused by name, before it runs.
printf 'int main(void) { return 0; }\n' >"$tmp/s.c"
if ${CC:-cc} -static -o "$tmp/static" "$tmp/s.c" 2>/dev/null; then
	"$cresset" record -e alloc -o "$tmp/s.cresset" -- "$tmp/static" 2>"$tmp/err"
	is "a static program" "$? $(grep -c 'linked statically' "$tmp/err")" "4 1"
else
	skip "a static program" "no static C library"
fi
if ${CC:-cc} -fsanitize=address -o "$tmp/asan" "$tmp/s.c" 2>/dev/null; then
	"$cresset" record -e alloc -o "$tmp/s.cresset" -- "$tmp/asan" 2>"$tmp/err"
	is "a program with AddressSanitizer" "$? $(grep -c 'allocator of a sanitizer' "$tmp/err")" "4 1"
else
	skip "a program with AddressSanitizer" "the compiler has none"
fi
finish
