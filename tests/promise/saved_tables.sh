#!/usr/bin/env bash
# tier: test
# Unwind tables stay on disk: the next recording loads them, and one that is damaged is built again and reported.
. tests/live/lib.sh
needs_recording

record_tables() { # NAME, of the files
	"$cresset" record -v --json -o "$tmp/$1.folded" -- "$progs/burn" saved 0.5 >"$tmp/$1.json" 2>"$tmp/$1.err"
}
number() { jq ".$2" "$tmp/$1.json"; } # NAME KEY

record_tables first
is "the first recording has no table on disk" "$(number first unwind_tables_from_disk)" 0
# Of the program and its libraries: a sample before its exec may need the table of cresset.
ids=() saved=0
for file in "$progs/burn" $(ldd "$progs/burn" | grep -o '/[^ ]*'); do
	ids+=("$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: ..//p')")
	[ -z "${ids[-1]}" ] || saved=$((saved + $(find "$CRESSET_CACHE/tables" -type f -name "${ids[-1]}*" | wc -l)))
done
is "its tables are saved, of the program and its libraries" "$saved" ${#ids[@]}
record_tables second
holds "the second one loads them" test "$(number second unwind_tables_from_disk)" -ge "$saved"
is "no table is damaged" "$(number second unwind_tables_damaged_on_disk)" 0
find "$CRESSET_CACHE/tables" -type f -exec sh -c 'for f; do printf x | dd of="$f" bs=1 seek=200 conv=notrunc status=none; done' sh {} +
record_tables third
holds "damaged ones are built again, and counted" test "$(number third unwind_tables_damaged_on_disk)" -ge "$saved"
is "stacks are whole as before" "$(number third truncated)" 0
CRESSET_CACHE='' record_tables off
is "none is loaded with caching off" "$(number off unwind_tables_from_disk)" 0
is "… and nothing is reported" "$(grep -c "nothing is cached" "$tmp/off.err")" 0
CRESSET_CACHE=/proc/nowhere record_tables nowhere
is "a cache directory that cannot be written is reported once" "$(grep -c "nothing is cached for the next run: cannot open /proc/nowhere" "$tmp/nowhere.err")" 1
finish
