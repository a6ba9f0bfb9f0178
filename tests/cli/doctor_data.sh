#!/usr/bin/env bash
# cresset doctor --data: what is in a store, and that no damage goes unseen.
. tests/cli/lib.sh

"$BUILD/fixture/days" "$tmp/store" || exit 1
field() { jq -r "$1" "$tmp/out"; }

ends "a sound store" 0 doctor --data "$tmp/store" --json
is "… says so" "$(field .sound)" true
is "… has all rows" "$(field .rows)" 144
is "… from the first day" "$(field .from)" 2024-10-04
is "… to the last" "$(field .to)" 2024-10-06
is "… nothing waits" "$(field .batches)" 0
is "… days that are over are sealed" "$(field '[.files[] | select(.sealed) | .name] | join(" ")')" "p/2024-10-04.db p/2024-10-05.db"
is "… and each file is named" "$(field '.files | length')" 6
ends "text has the same status" 0 doctor --data "$tmp/store"
has "… the days" "3 days, 2024-10-04 to 2024-10-06" "$out"
has "… and the rows" "144 rows" "$out"
LC_ALL=C "$cresset" doctor --data "$tmp/store" >"$tmp/out"
is "ASCII where there is no UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0

fails "no store" 6 "there is no store" doctor --data "$tmp"
fails "a process and a store" 2 "either" doctor 1 --data "$tmp/store"

# --- damage: a page is gone
wiped() { # FILE PAGE: the day's line in JSON
	rm -rf "$tmp/bad" && cp -r "$tmp/store" "$tmp/bad"
	dd if=/dev/zero of="$tmp/bad/p/$1" bs=65536 seek="$2" count=1 conv=notrunc status=none
	run_cresset doctor --data "$tmp/bad" --json
}
for file in 2024-10-04.db 2024-10-04.det.db; do
	pages=$(($(stat -c %s "$tmp/store/p/$file") / 65536)) missed=
	for ((page = 0; page < pages; page++)); do
		wiped $file $page
		[ "$status" = 6 ] && [ "$(field '[.files[] | select(.sound | not) | .name] | join(" ")')" = p/2024-10-04.db ] || missed+=" $page"
	done
	is "each of $pages pages of $file" "$missed" ""
done
wiped 2024-10-04.det.db 2
has "… with words" "2024-10-04" "$(field '.files[3].problem')"
is "… the others are read" "$(field '[.files[4, 5].rows] | add')" 96
ends "… in text, too" 6 doctor --data "$tmp/bad"
has "… with a verdict" "something is damaged: 1 of 6 files" "$out"

# --- a file is cut, or gone
for file in inbox.db meta.db names.db p/2024-10-05.db; do
	rm -rf "$tmp/bad" && cp -r "$tmp/store" "$tmp/bad"
	truncate -s 5000 "$tmp/bad/$file"
	run_cresset doctor --data "$tmp/bad" --json
	is "$file is cut" "$status $(field '[.files[] | select(.sound | not) | .name] | join(" ")')" "6 $file"
done
rm -rf "$tmp/bad" && cp -r "$tmp/store" "$tmp/bad" && rm "$tmp/bad/names.db"
ends "names are gone" 6 doctor --data "$tmp/bad"
finish
