#!/usr/bin/env bash
# What the pages say is so: links lead somewhere, limits and losses are those of the source, options exist.
. tests/live/lib.sh

for page in README.md docs/*.md; do
	[ -e "$page" ] || continue
	broken=$(grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | grep -v '^http' | while read -r target; do
		[ -e "$(dirname "$page")/$target" ] || echo "$target"
	done)
	is "links of $page" "$broken" ""
	broken=$(grep -oE '`(src|web|tests|bench|tools|docs)/[A-Za-z0-9_./-]*`' "$page" | tr -d '`' | while read -r path; do
		[ -e "$path" ] || echo "$path"
	done)
	is "paths named in $page" "$broken" ""
done

limits=$(awk '/^## Limits/ { on = 1; next } /^## / { on = 0 } on && /^\| .*`src\//' docs/architecture.md)
holds "architecture.md has limits" test "$(wc -l <<<"$limits")" -gt 10
broken=$(while IFS='|' read -r _ _ text file _; do
	text=${text//[\` ]/} file=${file//[\` ]/}
	tr -d ' \n' <"$file" | grep -qF "$text" || echo "$text"
done <<<"$limits")
is "limits are those of the source" "$broken" ""

broken=$(diff <(grep -oE '\] = \{ "[a-z_]+"' src/profile/meta.c | cut -d'"' -f2) \
	<(awk '/^## What is lost/ { on = 1; next } /^## / { on = 0 } on && /^\| `/ { print $2 }' docs/architecture.md | tr -d '`'))
is "losses are those of the source" "$broken" ""

broken=$(diff <(find bench -name '*.c' -o -name '*.sh' ! -name lib.sh | sed 's,.*/,,' | sort) \
	<(grep -oE '^\| `[a-z_.]+\.(sh|c)`' docs/benchmarks.md | tr -d '|` ' | sort))
is "benchmarks.md explains every bench" "$broken" ""

# Every option of the command lines in README.md, one "COMMAND OPTION" a line.
options=$(awk '/^```/ { on = !on } on && /^cresset / { sub(/   .*/, ""); sub(/ -- .*/, "")
	for (i = 3; i <= NF; i++) if ($i ~ /^-./) print $2, $i }' README.md | sort -u)
holds "README.md has command lines" test "$(wc -l <<<"$options")" -gt 10
broken=$(while read -r command option; do
	"$cresset" "$command" --help-all | grep -qE -- "(^| )$option([ ,]|$)" || echo "$command $option"
done <<<"$options")
is "options in README.md exist" "$broken" ""
finish
