#!/usr/bin/env bash
# tier: test
# What the pages say is so: links lead somewhere, limits and losses are those of the source, options exist.
. tests/live/lib.sh

for page in README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/internals/*.md docs/decisions/*.md; do
	[ -e "$page" ] || continue
	broken=$(grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | grep -v '^http' | while read -r target; do
		[ -e "$(dirname "$page")/$target" ] || echo "$target"
	done)
	is "links of $page" "$broken" ""
	broken=$(grep -oE '`(src|web|tests|bench|tools|docs)/[A-Za-z0-9_./-]*`' "$page" | tr -d '`' | grep -v NAME | while read -r path; do
		[ -e "$path" ] || echo "$path"
	done)
	is "paths named in $page" "$broken" ""
done

is "VERSION is the first release of CHANGELOG.md" "$(awk '/^## / { print $2; exit }' CHANGELOG.md)" "$(sed 's/-dev$//' VERSION)"

is "the index of decisions has all of them" "$(grep -oE '\([0-9]+-[a-z-]+\.md\)' docs/decisions/README.md | tr -d '()')" \
	"$(cd docs/decisions && printf '%s\n' [0-9]*.md)"
is "decisions are one page each" "$(awk 'FNR > 60 { print FILENAME; nextfile }' docs/decisions/*.md)" ""

holds "limits.tsv has limits" test "$(wc -l <docs/internals/limits.tsv)" -gt 100
is "limits.tsv is what tools/limits writes" "$(tools/limits --check 2>&1)" ""

# Name, unit and kind of each metric, as the rows of the source have them.
metrics() {
	cat src/collect/host/*.c src/gpu/device/metric.c | tr '\n\t' '  ' |
		grep -oE '(\{|GAUGE\(|SLOW\(|COUNTER\() *"(system|process|hw|cresset)_[a-z0-9_]+", *"[^"]*"(, *OTLP_[A-Z]+)?' |
		sed -E 's/^(.*[({]) *"([^"]*)", *"([^"]*)"(, *OTLP_([A-Z]+))?$/\2 \3 \5\1/; s/[({]$//; s/SLOW$/GAUGE/' |
		sed -E 's/(GAUGE|COUNTER)$/\L\1/' | sort -u
}
holds "the source has metrics" test "$(metrics | wc -l)" -gt 50
is "metrics.tsv has the metrics of the source, with unit and kind" \
	"$(diff <(metrics) <(awk -F '\t' 'NR > 1 { print $1, $3, $4 }' docs/metrics.tsv | sort -u))" ""

broken=$(diff <(grep -oE '\] = \{ "[a-z_]+"' src/profile/meta.c | cut -d'"' -f2) \
	<(awk '/^\| `/ { print $2 }' docs/internals/losses.md | tr -d '`'))
is "the losses equal those of the source" "$broken" ""

reasons() {
	sed -nE 's/.*REASON\("([^"]*)"\).*/\1/p' src/collect/kernel/walk_end.c
	grep -rhoE '"\[truncated: [a-zA-Z ]+\]"' --include='*.[ch]' src | sed -E 's/"\[truncated: (.*)\]"/\1/'
}
holds "the source has reasons of truncated stacks" test "$(reasons | wc -l)" -gt 20
is "truncated.tsv has each" "$(diff <(reasons | sort -u) <(tail -n +2 docs/truncated.tsv | cut -f 1 | sort))" ""

# Each table next to a document is linked from one, and has as many columns in each row as in its first.
for table in docs/*.tsv docs/internals/*.tsv; do
	is "$table is a table" "$(awk -F '\t' 'NR == 1 { n = NF } NF != n { print FNR }' "$table")" ""
	holds "… with a link to it" grep -qrF "(${table##*/})" --include='*.md' "$(dirname "$table")"
done
broken=$(cut -f 5 docs/delays.tsv | tail -n +2 | grep -oE '[a-z_]+\.(c|sh)' | sort -u | while read -r name; do
	[ -n "$(find tests -name "$name" -print -quit)" ] || echo "$name"
done)
is "tests named in delays.tsv exist" "$broken" ""
broken=$(grep -oE 'src/[A-Za-z0-9_./]*[a-z]' docs/delays.tsv | while read -r path; do [ -e "$path" ] || echo "$path"; done)
is "paths named in delays.tsv" "$broken" ""

# The first comment of a file, in words.
broken=$(for bench in bench/*.sh bench/*.c; do
	words=$(awk 'FNR == 1 && /^#!/ { next } !/^(#( |$)|\/\*| \*)/ { exit } !/shellcheck/' "$bench" | wc -w)
	[ "$words" -ge 10 ] || echo "$bench"
done)
is "every bench has a head comment that explains it" "$broken" ""

# Every option of the command lines in README.md and docs/commands.md, one "COMMAND OPTION" a line.
options=$(awk '/^```/ { on = !on } on && /^cresset / { sub(/   .*/, ""); sub(/ -- .*/, "")
	for (i = 3; i <= NF; i++) if ($i ~ /^-./) print $2, $i }' README.md docs/commands.md | sort -u)
holds "there are command lines" test "$(wc -l <<<"$options")" -gt 10
broken=$(while read -r command option; do
	"$cresset" "$command" --help-all | grep -qE -- "(^| )$option([ ,]|$)" || echo "$command $option"
done <<<"$options")
is "options in command lines exist" "$broken" ""
finish
