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

holds "limits.md has limits" test "$(grep -c '^| .*`src/' docs/internals/limits.md)" -gt 10
is "limits.md is what tools/limits writes" "$(tools/limits --check 2>&1)" ""

broken=$(diff <(grep -oE '\] = \{ "[a-z_]+"' src/profile/meta.c | cut -d'"' -f2) \
	<(awk '/^\| `/ { print $2 }' docs/internals/losses.md | tr -d '`'))
is "the losses equal those of the source" "$broken" ""

# The limits of readers, "CONSTANT ROW": as 2^N of "1 << N", or the number.
broken=$(while read -r name row; do
	value=$(grep -rhoE "\b$name = [0-9]+( << [0-9]+)?" src/format src/profile | sed 's/.* = //; s/^1 << /2^/; s/^4 << 20$/4 Mi/; s/^16 << 20$/16 Mi/' | head -n 1)
	grep "^| $row" docs/formats.md | grep -qF -- "${value:-$name is not in src}" || echo "$row: $name = $value"
done <<-'END'
	CHUNK_MAX_ENTRIES recordings
	PPROF_MAX_ENTRIES pprof
	PPROF_MAX_SAMPLES pprof
	PPROF_MAX_COLUMNS pprof
	PPROF_MAX_LABELS pprof
	OTLP_MAX_LABELS pprof
	PD_MAX_EVENTS perf.data
	PD_MAX_MAPS perf.data
	PD_MAX_ALL_MAPS perf.data
	PD_MAX_THREADS perf.data
	CALLGRIND_MAX_FUNCTIONS callgrind
	CALLGRIND_MAX_CALLS callgrind
	CALLGRIND_MAX_TYPES callgrind
	CALLGRIND_MAX_COSTS callgrind
	CALLGRIND_MAX_NAME_BYTES callgrind
	CALLGRIND_MAX_STEPS callgrind
	SPEEDSCOPE_MAX_CALLS speedscope
	SPEEDSCOPE_MAX_FRAMES speedscope
	SPEEDSCOPE_MAX_SAMPLES speedscope
	SPEEDSCOPE_MAX_TIMED speedscope
	SPEEDSCOPE_MAX_OPEN speedscope
	TRACE_MAX_EVENTS Chrome
	TRACE_MAX_TRACKS Chrome
	SLICES_MAX_DEPTH Chrome
	V8_MAX_NODES CPU
	V8_MAX_SAMPLES CPU
	FIREFOX_MAX_CELLS Firefox
	FIREFOX_MAX_THREADS Firefox
	FIREFOX_MAX_PROCESSES Firefox
END
)
is "formats.md has the limits of the readers in src" "$broken" ""

broken=$(diff <(find bench -maxdepth 1 -name '*.c' -o -maxdepth 1 -name '*.sh' ! -name lib.sh | sed 's,.*/,,' | sort) \
	<(grep -oE '^\| `[a-z_.]+\.(sh|c)`' docs/benchmarks.md | tr -d '|` ' | sort))
is "benchmarks.md explains every bench" "$broken" ""

# Every option of the command lines in README.md and docs/commands.md, one "COMMAND OPTION" a line.
options=$(awk '/^```/ { on = !on } on && /^cresset / { sub(/   .*/, ""); sub(/ -- .*/, "")
	for (i = 3; i <= NF; i++) if ($i ~ /^-./) print $2, $i }' README.md docs/commands.md | sort -u)
holds "there are command lines" test "$(wc -l <<<"$options")" -gt 10
broken=$(while read -r command option; do
	"$cresset" "$command" --help-all | grep -qE -- "(^| )$option([ ,]|$)" || echo "$command $option"
done <<<"$options")
is "options in command lines exist" "$broken" ""
finish
