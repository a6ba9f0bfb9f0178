#!/usr/bin/env bash
# tier: live
# run: alone
# cresset record -a -- make -j2 of a C project: where the compiler's, the assembler's and the shell's time goes, whole from _start to the leaf, with
# less than one frame in a hundred unknown.
. tests/live/lib.sh
. tests/live/lib_project.sh
needs_recording
for program in gcc make as; do command -v $program >/dev/null || { echo "1..0 # SKIP $program is missing"; exit 0; }; done

project_make "$tmp/project" 16
number() { jq ".$1" "$tmp/$name.json"; }
sql() { "$cresset" sql --data "$tmp/$name.cresset" --format csv "$1" | tail -n +2 | tr -d '\r'; }
# Samples of a program (COMM), or some of them (a query for stacks).
of() {
	sql "SELECT coalesce(sum(s.value), 0) FROM samples s JOIN labels l ON l.series = s.series AND l.key = 'comm' AND l.value = '$1'
		WHERE s.type = 'cpu' ${2:+AND s.stack IN ($2)}"
}
# Whether names can be had of a file: it has symbols, or a debug file is here.
has_symbols() { # FILE BUILD-ID
	[ -e "$1" ] || return 0
	[ -e "/usr/lib/debug/.build-id/${2:0:2}/${2:2}.debug" ] || readelf -SW "$1" 2>/dev/null | grep -q '\.symtab'
}
# Frames of all samples; those without a name, of files that have symbols, and of no file.
frames() { sql "SELECT count(*) FROM samples s JOIN frames f ON f.stack = s.stack WHERE s.type = 'cpu'"; }
unknown() {
	local n id file all=0
	while IFS=, read -r n id file; do
		if [ "${file:0:1}" != / ] || has_symbols "$file" "$id"; then all=$((all + n)); fi
	done < <(sql "SELECT count(*), f.build_id, f.mapping FROM samples s JOIN frames f ON f.stack = s.stack
		WHERE s.type = 'cpu' AND (f.function IS NULL OR f.function GLOB '*+0x*' OR f.function = '[unknown]') GROUP BY 2, 3")
	echo $all
}
whole="SELECT stack FROM frames WHERE depth = 0 AND function IN ('_start', '[exec]', '[exit]', '__clone3', 'clone3', '__clone', 'clone', '_dl_start_user') UNION SELECT stack FROM frames GROUP BY stack HAVING sum(kind = 'kernel') = count(*)"

recorded() { # NAME MAKE-ARGUMENT…: the second time is that of a host that has built before
	name=$1
	shift
	for _ in 1 2; do
		project_clean "$tmp/project"
		timeout "$most_s" "$cresset" record -a -v --json --no-progress -F 499 -o "$tmp/$name.cresset" -- make -s -j2 -C "$tmp/project" "$@" >"$tmp/$name.json" 2>"$tmp/$name.err"
		is "$name: the build ends well" $? 0
	done
	echo "# $name: $(number samples) samples, $(number lost) lost, $(number truncated) truncated: $(jq -c .truncated_by "$tmp/$name.json")"
}
looks_at() { # COMM LEAST WHOLE: samples, and per cent of them
	local all root
	all=$(of "$1")
	root=$(of "$1" "$whole")
	holds "$name: $1 has samples ($all)" test "$all" -ge "$2"
	holds "… at least $3 of 100 of them whole ($root)" test "$root" -ge $((all * $3 / 100 - 1))
}
recorded gcc
looks_at cc1 300 98
looks_at as 12 98
looks_at sh 5 98
looks_at make 3 98
all=$(frames) none=$(unknown)
holds "less than one frame in a hundred is unknown ($none of $all)" test $((none * 100)) -lt "$all"
holds "less than 1 % of all stacks end early" test $(($(number truncated) * 100)) -lt "$(number samples)"

# The library of this compiler exports its functions: its time is shown by function.
clang=$(compgen -c clang | grep -xE 'clang(-[0-9]+)?' | head -n 1)
if [ -n "$clang" ]; then
	recorded clang CC="$clang -fno-integrated-as"
	looks_at "$clang" 300 95
	named=$(of "$clang" "SELECT f.stack FROM frames f JOIN stacks t ON t.stack = f.stack AND f.depth = t.depth - 1
		WHERE f.kind <> 'kernel' AND f.function NOT GLOB '*+0x*' AND f.function <> '[unknown]'")
	user=$(of "$clang" "SELECT f.stack FROM frames f JOIN stacks t ON t.stack = f.stack AND f.depth = t.depth - 1 WHERE f.kind <> 'kernel'")
	holds "$clang: the running functions have names ($named of $user)" test "$named" -ge $((user * 75 / 100))
else
	skip "clang" "there is none"
fi
finish
