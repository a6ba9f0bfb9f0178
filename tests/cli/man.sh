#!/usr/bin/env bash
# tier: test
# Manual pages: every command has one, with every option, and two formatters read them without a warning.
. tests/cli/lib.sh

mkdir "$tmp/man"
ends "all manual pages" 0 help --man-pages "$tmp/man"
mapfile -t commands < <("$cresset" --help | awk '/^usage:/ { on = 1 } on && /^  / { print $1 }')
# shellcheck disable=SC2046 # several names
only_files "… one per command, one for the whole, one for formats" "$tmp/man" \
	$(printf '%s\n' cresset.1 cresset-formats.5 "${commands[@]/%/.1}" | sed -E 's/^(cresset)?(.*)/\1\2/; /^cresset/!s/^/cresset-/' | LC_ALL=C.UTF-8 sort)
for page in "$tmp"/man/*; do
	name=$(basename "$page")
	if command -v groff >/dev/null; then
		is "$name for groff" "$(groff -man -ww -z -K utf8 "$page" 2>&1)" ""
	else
		skip "$name for groff" "no groff"
	fi
	if command -v mandoc >/dev/null; then
		is "$name for mandoc" "$(mandoc -Tlint "$page")" ""
	else
		skip "$name for mandoc" "no mandoc"
	fi
done

if command -v mandoc >/dev/null; then
	for command in "${commands[@]}"; do
		mandoc -Tascii "$tmp/man/cresset-$command.1" | col -b >"$tmp/page"
		missing=$("$cresset" "$command" --help-all | grep -oE '^ +(-., )*--[a-z-]+' | grep -oE -- '--[a-z-]+' | while read -r option; do
			grep -q -- "$option" "$tmp/page" || echo "$option"
		done)
		is "$command's page has all options" "$missing" ""
	done
	mandoc -Tascii "$tmp/man/cresset-formats.5" | col -b >"$tmp/page"
	missing=$("$cresset" help formats | awk '/^  [a-z]/ { print $1 }' | while read -r format; do
		grep -qE "^ +$format( |$)" "$tmp/page" || echo "$format"
	done)
	is "formats' page has all formats" "$missing" ""
else
	skip "pages have all options" "no mandoc"
fi
ends "one page" 0 help --man record
is "… is the same" "$out" "$(cat "$tmp/man/cresset-record.1")"
"$cresset" help --man formats >"$tmp/out"
is "… of formats" "$(cat "$tmp/out")" "$(cat "$tmp/man/cresset-formats.5")"
"$cresset" help --man >"$tmp/out"
is "… of the whole" "$(cat "$tmp/out")" "$(cat "$tmp/man/cresset.1")"
fails "a directory that is not there" 7 "cannot create" help --man-pages "$tmp/nothing"
fails "a topic nearly typed right" 2 "did you mean 'cresset help formats'?" help format
finish
