#!/usr/bin/env bash
# tier: test
# Names that somebody else chose are harmless in every output, and so are files of a bad mind.
. tests/cli/lib.sh

esc=$'\033'
{
	printf 'main;<script>alert(1)</script>;</svg><svg onload=alert(2)> 3\n'
	printf 'main;%s]0;title\a;%s[2J%s[31mred 4\n' "$esc" "$esc" "$esc"
	printf 'main;"quoted" & <tagged>;]]>;%%s%%n 5\n'
	printf 'main;\xff\xfe\xc0\xaf;\xe2\x80\xaereversed;\xc2\x9b31m 6\n'
	printf 'main;=cmd|calc;+1;-1;@x;a,b 7\n'
	# shellcheck disable=SC2016 # not ours to expand
	printf 'main;\\u0000;$(reboot);`reboot` 8\n'
} >"$tmp/hostile.folded"

# Whether there is a byte that a terminal could act on: C0 but newline, DEL, or C1 (U+0080…U+009F).
quiet_bytes() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1"; }
is_utf8() { iconv -f UTF-8 -t UTF-8 "$1" >/dev/null; }

for view in "" --tree "--callers main"; do
	# shellcheck disable=SC2086 # several words
	ends "text $view" 0 report $view "$tmp/hostile.folded"
	holds "… has no control characters" quiet_bytes "$tmp/out"
	holds "… is UTF-8" is_utf8 "$tmp/out"
	hasnt "… turns no text around" $'\u202e' "$out"
	# shellcheck disable=SC2086
	ends "JSON $view" 0 report --json $view "$tmp/hostile.folded"
	holds "… is JSON" jq -e .total "$tmp/out"
	hasnt "… ends no script element" "</script>" "$out"
done
ends "CSV" 0 report --csv "$tmp/hostile.folded"
holds "… has no control characters" quiet_bytes "$tmp/out"
is "… no cell is a formula" "$(grep -cE '(^|,)"?[=+@-][a-z0-9]' "$tmp/out")" 0
ends "SVG" 0 flame "$tmp/hostile.folded" -o "$tmp/x.svg" --title '</title><script>alert(3)</script>'
holds "… is XML" xmllint --noout "$tmp/x.svg"
is "… has its own script only" "$(xmllint --xpath 'count(//*[local-name()="script"])' "$tmp/x.svg")" 1
is "… no element of ours has a handler" "$(xmllint --xpath 'count(//@*[starts-with(name(), "on")])' "$tmp/x.svg")" 0

# --- file names and arguments in messages
bad=$'\033[31mred\033]0;x\a'
run_cresset report "$tmp/$bad"
is "a file name in an error" "$status" 6
holds "… is shown harmlessly" quiet_bytes "$tmp/err"
run_cresset record "--$bad"
is "an option" "$status" 2
holds "… is shown harmlessly" quiet_bytes "$tmp/err"
run_cresset "$bad"
holds "… a command" quiet_bytes "$tmp/err"
printf 'main;work 3\nbroken\n' >"$tmp/$bad.folded"
run_cresset report "$tmp/$bad.folded"
holds "… a warning" quiet_bytes "$tmp/err"
run_cresset report "$tmp/hostile.folded" --type "$bad"
holds "… a type" quiet_bytes "$tmp/err"
run_cresset report "$tmp/hostile.folded" --callers "$bad"
holds "… a function" quiet_bytes "$tmp/err"

# --- sizes: 512 MB of address space and 60 s are plenty
bounded() { (ulimit -v 524288 && timeout 60 "$cresset" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null); }
awk 'BEGIN { s = "x"; for (i = 0; i < 20; i++) s = s s; print "main;" s ";leaf 3" }' >"$tmp/long.folded"
bounded report "$tmp/long.folded"
is "a name of 1 MB in text" $? 0
is "… is cut" "$(awk 'length > 100000' "$tmp/out" | wc -l)" 0
bounded report --json "$tmp/long.folded"
is "… in JSON" $? 0
bounded flame "$tmp/long.folded" -o "$tmp/long.svg"
is "… in SVG" $? 0
holds "… cut" [ "$(stat -c %s "$tmp/long.svg")" -lt 200000 ]
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "f%d;", i % 7; print "leaf 1" }' >"$tmp/deep.folded"
bounded report "$tmp/deep.folded"
is "a stack of 60,000 frames" $? 0
bounded report --tree "$tmp/deep.folded"
is "… as a tree" $? 0
bounded flame "$tmp/deep.folded" -o "$tmp/deep.svg"
status=$?
holds "… as a graph: drawn or refused" [ $status -le 7 ]
head -c 1000000000 /dev/zero | gzip -1 >"$tmp/bomb.gz"
bounded report "$tmp/bomb.gz"
is "1 GB of zeros in 4 MB" $? 6
finish
