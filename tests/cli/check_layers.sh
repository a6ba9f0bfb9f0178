#!/usr/bin/env bash
# tools/check-layers finds what it is there for: each rule is broken once in a copy.
. tests/live/lib.sh

mkdir -p "$tmp/src/base" "$tmp/src/profile" "$tmp/src/symbol" "$tmp/src/unwind" "$tmp/src/format" "$tmp/src/store" "$tmp/src/cmd"
check() { BUILD=b tools/check-layers "$tmp" 2>&1; }
# Puts the lines into a source, compiles it if it needs no headers of ours, and compares what is said.
says() { # NAME FILE LINES WANT
	rm -rf "$tmp"/src/*/* "$tmp/b"
	printf 'int fine(void);\nint fine(void)\n{\n\tstatic const char *const names[] = { "a" };\n\treturn *names[0];\n}\n' >"$tmp/src/base/fine.c"
	printf '%b' "$3" >"$tmp/src/$2"
	local source object
	for source in "$tmp"/src/*/*.c; do
		object=$tmp/b/src/${source#"$tmp"/src/}
		mkdir -p "$(dirname "$object")"
		grep -q '#include "' "$source" || gcc -fPIE -c -o "${object%.c}.o" "$source" || return
	done
	is "$1" "$(check)" "$4"
}

says "nothing wrong" base/x.c 'int x(void);\nint x(void) { return 1; }\n' ''
says "downwards is fine" format/x.c '#include "base/buf.h"\n#include "profile/profile.h"\n' ''
says "the same folder is fine" format/x.c '#include "format/format.h"\n' ''
says "upwards" base/x.c '#include "profile/profile.h"\n' 'src/base/x.c:1: base/ must not include profile/'
says "sideways" symbol/x.c '\n#include "format/format.h"\n' 'src/symbol/x.c:2: symbol/ must not include format/'
says "unwind may read ELF" unwind/x.c '#include "symbol/symbol.h"\n' ''
says "… symbol may not unwind" symbol/x.c '#include "unwind/unwind.h"\n' 'src/symbol/x.c:1: symbol/ must not include unwind/'
says "format may use the recordings of the store" format/x.c '#include "store/recording.h"\n' ''
says "… nothing else of it" format/x.c '#include "store/db.h"\n' 'src/format/x.c:1: format/ must not include store/'
says "… which uses no format" store/x.c '#include "format/format.h"\n' 'src/store/x.c:1: store/ must not include format/'
says "headers, too" base/x.h '#  include "cmd/cmd.h"\n' 'src/base/x.h:1: base/ must not include cmd/'
says "not from src/" base/x.c '#include "buf.h"\n' 'src/base/x.c:1: "buf.h" is not written from src/'
says "by a way around" profile/x.c '#include "../cmd/cmd.h"\n' 'src/profile/x.c:1: "../cmd/cmd.h" is not written from src/'
says "generated headers" format/x.c '#include "assets.h"\n#include "sample.skel.h"\n' ''
says "a variable" profile/x.c 'int counter = 1;\n' 'src/profile/x.c: keeps state: counter'
says "a hidden variable" profile/x.c 'int n(void) { static int n; return n++; }\n' 'src/profile/x.c: keeps state: n.0'
says "a table of pointers to constants is none" profile/x.c 'const char *const t[] = { "a", "b" };\n' ''
says "cmd may keep state" cmd/x.c 'int counter = 1;\n' ''
says "printing" base/x.c '#include <stdio.h>\nvoid p(void) { fputs("x", stderr); }\n' 'src/base/x.c: prints or exits: stderr'
says "exiting" base/x.c '#include <stdlib.h>\nvoid p(void) { exit(1); }\n' 'src/base/x.c: prints or exits: exit'
word=TO
says "unfinished" base/x.c "\n// ${word}DO: later\n" 'src/base/x.c:2: says that it is unfinished'
rm -rf "$tmp/b"
is "without objects it does not say yes" "$(check | head -1)" 'b: no objects to look at: build first'
finish
