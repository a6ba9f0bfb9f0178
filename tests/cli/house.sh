#!/usr/bin/env bash
# tier: test
# tools/house finds what it is there for, in a small tree that has one of each.
. tests/live/lib.sh
export LC_ALL=C.UTF-8

house() { tools/house "$@" "$tmp" 2>&1; }
# The figure, the bar and what follows of one row of the table.
row() { house | sed -n "s/^$1   *//p" | tr -s ' '; }
file() { # FILE LINES
	mkdir -p "$(dirname "$tmp/$1")"
	printf '%b' "$2" >"$tmp/$1"
}
# A module whose function x_NAME calls others: module DIR/NAME HEADER CALL [HEADER CALL…]
module() {
	local path=$1 name=${1##*/} lines
	lines="#include \"$path.h\"\n"
	shift
	local calls=''
	while [ $# -gt 0 ]; do
		lines+="#include \"$1\"\n"
		calls+="\t$2();\n"
		shift 2
	done
	file "src/$path.h" "void x_$name(void);\n"
	file "src/$path.c" "${lines}void x_$name(void)\n{\n$calls}\n"
}

if ! ctags --version 2>/dev/null | grep -q '^Universal Ctags'; then
	skip "tools/house" "no Universal Ctags here"
	finish
	exit
fi

# top → low in the order of things, and nothing wrong
module base/low
module base/lower
module cmd/proc/top base/low.h x_low base/lower.h x_lower
file src/cmd/main.c '#include "base/low.h"\n#include "base/lower.h"\n#include "cmd/proc/top.h"\nint main(void)\n{\n\tx_top();\n\tx_low();\n\tx_lower();\n}\n'
file README.md '12345678'
holds "all bars are met" house
is "modules" "$(row 'modules in the largest directory')" "2 ≤ 40 src/base"
is "no circle" "$(row 'largest circle of modules by include and call')" "1 ≤ 5 0 circles"
is "headers" "$(row headers)" "3 ≤ 470"
is "lines of functions" "$(row 'lines of a function, p50\/p90\/p99\/max')" "3/6/6/6 ≤ 15/35/60/80 main src/cmd/main.c:4, of 4"
is "functions with one user file" "$(row 'extern functions with one user file, %')" "33.3 ≤ 45 1 of 3"
file docs/a/b.md '123'
file build/c.md '1'
is "bytes" "$(row 'bytes of README.md')" "8 ≤ 8000"
is "bytes of all documents, without build directories" "$(row 'bytes of all documents')" "11 ≤ 250000"
is "the cost of the most included header" "$(row 'compilations when the hottest header changes')" "3 ≤ 150 src/base/low.h"
is "no circles to list" "$(house --circles)" ""
is "no dead function" "$(house --dead)" ""

# A circle by include of two, by call of three, and of six by both together; names in comments, strings and members are no calls.
module ring/a ring/b.h x_b
module ring/b ring/c.h x_c
file src/ring/c.h 'void x_c(void);\nvoid x_d(void);\n'
file src/ring/c.c '#include "ring/c.h"\nvoid x_c(void)\n{\n\tx_d();\n}\n'
file src/ring/d.c '#include "ring/deep/e.h"\nvoid x_d(void)\n{\n\tx_e();\n}\n'
module ring/deep/e ring/deep/f.h x_f
file src/ring/deep/f.h '#include "ring/a.h"\nvoid x_f(void);\n'
file src/ring/deep/f.c '#include "ring/deep/f.h"\nvoid x_f(void)\n{\n}\n'
module ring/quiet ring/a.h x_a
file src/ring/quiet.c '#include "ring/a.h"\n#include "assets.h"\n/* x_a() */\nconst char *x_quiet(struct s *s)\n{\n\ts->x_a();\n\treturn "x_a()";\n}\n'
is "a circle through sub-directories" "$(house | grep -c '^circle of 6 by include and call: ring/a ring/b ring/c ring/d ring/deep/e ring/deep/f$')" 1
is "… that no include alone makes" "$(row 'largest circle of modules by include')" "1 ≤ 1 0 circles"
is "… nor call" "$(row 'largest circle of modules by call')" "1 ≤ 5 0 circles"
is "its arrows" "$(house --circles)" "circle of 6: ring/a ring/b ring/c ring/d ring/deep/e ring/deep/f
  src/ring/a.c:2 → ring/b: include
  src/ring/a.c:5 → ring/b: x_b()
  src/ring/b.c:2 → ring/c: include
  src/ring/b.c:5 → ring/c: x_c()
  src/ring/c.c:4 → ring/d: x_d()
  src/ring/d.c:1 → ring/deep/e: include
  src/ring/d.c:4 → ring/deep/e: x_e()
  src/ring/deep/e.c:2 → ring/deep/f: include
  src/ring/deep/e.c:5 → ring/deep/f: x_f()
  src/ring/deep/f.h:1 → ring/a: include"
is "the circle misses its bar" "$(row 'largest circle of modules by include and call')" "6 ≤ 5 MISSED 1 circles"
house >/dev/null
is "… which the status reports" $? 1
is "one user in the same directory" "$(house --single | sed 's/^ *//; s/  */ /g' | sort)" "$(sort <<'END'
lines both files of tests module → its only user
5 12 0 ring/d → ring/c
6 13 0 ring/deep/f → ring/deep/e
7 14 0 ring/b → ring/a
7 14 0 ring/c → ring/b
END
)"
rm -rf "$tmp/src/ring"

# Functions that nothing uses, only their own file, or only tests; an address in a table is a use.
file src/base/dead.h 'void x_dead(void);\nvoid x_own(void);\nvoid x_tested(void);\nvoid x_row(void);\nstatic inline void x_inline(void)\n{\n}\n'
file src/base/dead.c '#include "base/dead.h"\nvoid x_dead(void)\n{\n}\nvoid x_own(void)\n{\n}\nvoid x_tested(void)\n{\n\tx_own();\n}\nvoid x_row(void)\n{\n}\n'
file src/cmd/rows.c '#include "base/dead.h"\nvoid (*const rows[])(void) = { x_row };\n'
file src/bpf/x.bpf.c '#include "x.skel.h"\nSEC("perf_event")\nint x_program(void *ctx)\n{\n\treturn 0;\n}\n'
file tests/unit/t_dead.c '#include "base/dead.h"\nstatic void t(void)\n{\n\tx_tested();\n}\n'
is "dead functions" "$(house --dead)" "used by its file: x_own src/base/dead.c
used by nothing: x_dead src/base/dead.c
used by nothing: x_inline src/base/dead.h
used by tests: x_tested src/base/dead.c  tests/unit/t_dead.c"
is "a function of the same name elsewhere is another" "$(
	file src/cmd/namesake.c 'static void x_dead(void)\n{\n}\nvoid y(void)\n{\n\tx_dead();\n}\n'
	house --dead | grep x_dead
)" "used by nothing: x_dead src/base/dead.c"
rm -rf "$tmp/tests" "$tmp"/src/*/{dead,rows,namesake,x.bpf}.[ch]

# The other bars
for i in {1..41}; do file "src/full/m$i.h" '\n'; done
file src/full/long.c "void x_long(void)\n{\n$(printf '\\n%.0s' {1..80})}\n// $(printf '%098d' 0)\n\t// $(printf '%088d' 0)……………\n"
printf '%08001d' 0 >"$tmp/README.md"
is "too many modules in a directory" "$(row 'modules in the largest directory')" "42 ≤ 40 MISSED src/full"
is "… which it names" "$(house | grep '^directories.*:')" "directories of more than 25 modules: src/full 42"
is "a long function" "$(row 'lines of a function, p50\/p90\/p99\/max')" "5/83/83/83 ≤ 15/35/60/80 MISSED x_long src/full/long.c:1, of 5"
is "wide lines, whatever bytes they take" "$(row 'lines of more than 100 columns in src')" "2 0 MISSED src/full/long.c:84"
is "a long page" "$(row 'bytes of README.md')" "8001 ≤ 8000 MISSED"
printf '%0250001d' 0 >"$tmp/docs/a/b.md"
is "too much to read" "$(row 'bytes of all documents')" "258002 ≤ 250000 MISSED"
for i in {1..151}; do file "src/cmd/user$i.c" '#include "cmd/proc/top.h"\n'; done
is "a hot header" "$(row 'compilations when the hottest header changes')" "153 ≤ 150 MISSED src/cmd/proc/top.h"

mkdir "$tmp/empty" "$tmp/bin"
is "no sources" "$(tools/house "$tmp/empty" 2>&1; echo $?)" "tools/house: $tmp/empty: no C files in src/
2"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/bin/python3"
missing="tools/house: no Universal Ctags here, which says where functions begin and end
  install the Debian package universal-ctags, as ./quickstart test does
2"
is "no ctags" "$(PATH=$tmp/bin tools/house "$tmp" 2>&1; echo $?)" "$missing"
printf '#!/bin/sh\necho "Exuberant Ctags 5.8"\n' >"$tmp/bin/ctags"
chmod +x "$tmp/bin/ctags"
is "another ctags" "$(PATH=$tmp/bin tools/house "$tmp" 2>&1; echo $?)" "$missing"
finish
