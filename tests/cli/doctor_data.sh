#!/usr/bin/env bash
# tier: test
# cresset doctor --data: what is in a store, and that no damage goes unseen.
. tests/cli/lib.sh

"$BUILD/fixture/days" "$tmp/store" || exit 1
field() { jq -r "$1" "$tmp/out"; }

ends "a sound store" 0 doctor --data "$tmp/store" --json
is "… reports it" "$(field .sound)" true
is "… has all rows" "$(field .rows)" 144
is "… from the first day" "$(field .from)" 2024-10-04
is "… to the last" "$(field .to)" 2024-10-06
is "… nothing waits" "$(field .batches)" 0
is "… days that are over are sealed" "$(field '[.files[] | select(.sealed) | .name] | join(" ")')" "p/2024-10-04.db p/2024-10-05.db"
is "… and each file is named" "$(field '.files | length')" 6
is "… has the configured retention" "$(field '.asked | [.retention_ns, .hot_ns, .disk_bytes] | join(" ")')" "1209600000000000 7200000000000 10737418240"
is "… as sqlite3 sees it" "$(sqlite3 "$tmp/store/meta.db" "SELECT value FROM asked WHERE key = 'disk_bytes'")" 10737418240
is "… no row is lost, no day went early" "$(field '[.lost_rows, .kept_short] | join(" ")')" "0 false"
ends "text has the same status" 0 doctor --data "$tmp/store"
has "… the days" "3 days, 2024-10-04 to 2024-10-06" "$out"
has "… and the rows" "144 rows" "$out"
LC_ALL=C "$cresset" doctor --data "$tmp/store" >"$tmp/out"
is "ASCII without UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0

fails "no store" 6 "no store" doctor --data "$tmp"
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
ends "… in text as well" 6 doctor --data "$tmp/bad"
has "… with a verdict" "the store is damaged: 1 of 6 files" "$out"

# --- days that went before their time
rm -rf "$tmp/short" && cp -r "$tmp/store" "$tmp/short"
sqlite3 "$tmp/short/meta.db" "INSERT OR REPLACE INTO kept VALUES(1, $(date +%s)000000000 - 86400000000000)"
ends "a short disk" 0 doctor --data "$tmp/short"
has "… is reported" "was deleted, because of --disk" "$out"
has "… next to the configured retention" "limits: 14 d" "$out"

# --- beside a process that writes
for ((i = 0; i < 200; i++)); do echo "main;f$i 3"; done >"$tmp/in.folded"
import() { "$cresset" convert --data "$tmp/live" --at "$1" "$tmp/in.folded" >"$tmp/import" 2>&1; }
import 2024-10-06T00:00:00Z
is "a store is there" $? 0
ends "… imported" 0 doctor --data "$tmp/live"
has "… without limits" "limits: any age, each sample 2 h 0 min, in any size" "$out"
(
	for ((n = 0; n < 500; n++)); do
		import "2024-10-06T$(printf '%02d:%02d' $((n / 60 % 24)) $((n % 60))):00Z" || exit 1
		[ -e "$tmp/stop" ] && exit 0
	done
) &
writer=$!
unsound=
for ((i = 0; i < 10; i++)); do
	run_cresset doctor --data "$tmp/live" --json
	[ "$status" = 0 ] || unsound+=" $status: $(jq -r '[.files[] | select(.problem) | .problem] | join("; ")' "$tmp/out")"
done
touch "$tmp/stop"
wait $writer
is "a writer continues" $? 0
is "… while it runs, the store is undamaged" "$unsound" ""

# --- files that others may read, as earlier versions made them
rm -rf "$tmp/old" && cp -r "$tmp/store" "$tmp/old"
chmod 750 "$tmp/old" && chmod 644 "$tmp/old"/*.db && chmod 755 "$tmp/old/p" && chmod 664 "$tmp/old/p/2024-10-04.db"
echo >"$tmp/old/notes" && chmod 644 "$tmp/old/notes"
ends "files that others may read" 0 doctor --data "$tmp/old"
has "… are mended, and counted" "fixed:  others could read 4 files" "$out"
is "… all" "$(find "$tmp/old" -name '*.db' -perm /137)" ""
is "… and the directories" "$(stat -c %a "$tmp/old/p")" 750
is "… no file that is not the store's" "$(stat -c %a "$tmp/old/notes")" 644
ends "… once" 0 doctor --data "$tmp/old" --json
is "… permanently" "$(field '[.mended_files, .open_files, .open_to_others] | join(" ")')" "0 0 false"
chmod 751 "$tmp/old"
ends "an open directory" 0 doctor --data "$tmp/old"
has "… is reported, with a remedy" "chmod o= $tmp/old" "$out"
is "… and stays" "$(stat -c %a "$tmp/old")" 751
chmod 750 "$tmp/old"
ln "$tmp/old/names.db" "$tmp/second" && chmod 644 "$tmp/second"
ends "a file with a second name" 6 doctor --data "$tmp/old" --json
is "… is left" "$(stat -c %a "$tmp/second") $(field .open_files)" "644 1"

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
