#!/usr/bin/env bash
# tier: test
# cresset flame: the file it writes, and how: whole or not at all.
. tests/cli/lib.sh
folded=tests/golden/folded pprof=tests/golden/pprof
dir=$tmp/dir
mkdir "$dir"

# Whether a file is a whole picture.
whole() { xmllint --noout "$1" && grep -q '</svg>' "$1"; }

ends "a graph" 0 flame $folded/simple.txt -o "$dir/a.svg"
holds "… is XML to its end" whole "$dir/a.svg"
is "… nothing on standard output" "$out" ""
only_files "… and no .tmp is left" "$dir" a.svg
"$cresset" flame $folded/simple.txt -o - >"$tmp/out.svg" 2>"$tmp/err"
is "standard output has the same" "$(cat "$tmp/out.svg")" "$(cat "$dir/a.svg")"
"$cresset" flame - -o - <$folded/simple.txt >"$tmp/out.svg"
is "from standard input to standard output" "$(cat "$tmp/out.svg")" "$(cat "$dir/a.svg")"

ends "an earlier graph" 0 flame $folded/recursion.txt -o "$dir/a.svg"
has "… is replaced" ">b" "$(cat "$dir/a.svg")"
cp "$dir/a.svg" "$tmp/kept.svg"
fails "bad input" 6 "No such file" flame "$tmp/nothing" -o "$dir/a.svg"
is "… does not change the earlier graph" "$(cat "$dir/a.svg")" "$(cat "$tmp/kept.svg")"
only_files "… and nothing else" "$dir" a.svg
echo old >"$dir/a.svg.tmp"
ends "a leftover .tmp" 0 flame $folded/simple.txt -o "$dir/a.svg"
only_files "… goes" "$dir" a.svg

# --- options
ends "all options of graphs" 0 flame $folded/simple.txt -o "$dir/b.svg" --inverted --icicle --palette mono --min-width 0.5 --title 'A <b> & "c"' --force
holds "… give XML" whole "$dir/b.svg"
has "… with the title, escaped" "A &lt;b&gt; &amp;" "$(cat "$dir/b.svg")"
for palette in kind binary wall classic mono; do
	ends "palette $palette" 0 flame $folded/simple.txt -o "$dir/b.svg" --palette $palette
done
ends "several types" 0 flame $pprof/parca-alloc_objects.pb.gz -o "$dir/b.svg"
has "… the others are named" "not shown: " "$errs"
ends "filters" 0 flame $folded/simple.txt -o "$dir/b.svg" --focus '^d$' --by none
hasnt "… act" ">c<" "$(cat "$dir/b.svg")"
rm "$dir/b.svg"

# 41,000 stacks of distinct functions, each as wide as the next
awk 'BEGIN { for (i = 0; i < 41000; i++) print "main;f" i " 1" }' >"$tmp/wide.folded"
fails "more rectangles than a browser takes" 7 "--force" flame "$tmp/wide.folded" -o "$dir/wide.svg" --min-width 0
only_files "… are not written" "$dir" a.svg
ends "… but with --force" 0 flame "$tmp/wide.folded" -o "$dir/wide.svg" --min-width 0 --force
is "… all of them" "$(grep -o 'f40999' "$dir/wide.svg" | head -1)" f40999
ends "without the narrowest they fit" 0 flame "$tmp/wide.folded" -o "$dir/wide.svg"
rm "$dir/wide.svg"

# --- where it cannot be written
fails "no such directory" 7 "cannot create $tmp/no/x.svg" flame $folded/simple.txt -o "$tmp/no/x.svg"
mkdir "$dir/directory.svg"
fails "onto a directory" 7 "directory.svg" flame $folded/simple.txt -o "$dir/directory.svg"
rmdir "$dir/directory.svg"
only_files "… leaves nothing" "$dir" a.svg
if [ "$(id -u)" != 0 ]; then
	mkdir -m 555 "$tmp/ro"
	fails "a directory that is not ours" 7 "Permission denied" flame $folded/simple.txt -o "$tmp/ro/x.svg"
else
	mkdir "$tmp/ro" && chmod 555 "$tmp/ro" && cp "$cresset" "$tmp/cresset.copy" && chmod 755 "$tmp"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/cresset.copy" flame - -o "$tmp/ro/x.svg" <$folded/simple.txt >"$tmp/out" 2>"$tmp/err"
	is "a directory that is not ours" $? 7
	has "… is reported" "Permission denied" "$(cat "$tmp/err")"
fi
mkdir "$tmp/small"
trap 'umount "$tmp/small" 2>/dev/null; cleanup' EXIT
if mount -t tmpfs -o size=16k tmpfs "$tmp/small" 2>/dev/null; then
	fails "a disk that is full" 7 "No space left" flame "$tmp/wide.folded" -o "$tmp/small/x.svg" --min-width 0 --force
	is "… leaves no partial file" "$(ls -A "$tmp/small")" ""
	echo precious >"$tmp/small/x.svg"
	fails "… with an earlier graph" 7 "No space left" flame "$tmp/wide.folded" -o "$tmp/small/x.svg" --min-width 0 --force
	is "… leaves the earlier one" "$(cat "$tmp/small/"*)" precious
	umount "$tmp/small"
else
	skip "a disk that is full" "mounting one needs root"
fi
if full=$(full_device); then
	"$cresset" flame $folded/simple.txt -o - >"$full" 2>"$tmp/err"
	is "standard output that is full" $? 7
	ln -s "$full" "$dir/full.svg"
	fails "a device that is full" 7 "No space left" flame $folded/simple.txt -o "$dir/full.svg"
	rm "$dir/full.svg"
fi
finish
