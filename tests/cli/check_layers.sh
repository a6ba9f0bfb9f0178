#!/usr/bin/env bash
# tier: test
# tools/check-layers finds what it is there for: each rule is broken once in a copy.
. tests/live/lib.sh

mkdir -p "$tmp"/src/{base,profile,symbol,unwind,format/common,store,query,collect/proc,collect/resolve,cmd}
cp src/LAYERS "$tmp/src"
check() { BUILD=b tools/check-layers "$tmp" 2>&1; }
# Puts the lines into a source, compiles it if it needs no headers of ours, and compares what is said.
says() { # NAME FILE LINES WANT
	find "$tmp/src" -mindepth 2 -type f -delete
	rm -rf "$tmp/b"
	printf 'int fine(void);\nint fine(void)\n{\n\tstatic const char *const names[] = { "a" };\n\treturn *names[0];\n}\n' >"$tmp/src/base/fine.c"
	mkdir -p "$tmp/src/${2%/*}"
	printf '%b' "$3" >"$tmp/src/$2"
	local source object
	for source in "$tmp"/src/*/*.c "$tmp"/src/*/*/*.c; do
		[ -e "$source" ] || continue
		object=$tmp/b/src/${source#"$tmp"/src/}
		mkdir -p "$(dirname "$object")"
		grep -q '#include "' "$source" || gcc -fPIE -c -o "${object%.c}.o" "$source" || return
	done
	is "$1" "$(check)" "$4"
}

says "nothing wrong" base/x.c 'int x(void);\nint x(void) { return 1; }\n' ''
says "downwards is fine" format/x.c '#include "base/buf.h"\n#include "profile/profile.h"\n' ''
says "the same directory is fine" format/common/x.c '#include "format/common/format.h"\n' ''
says "upwards" base/x.c '#include "profile/profile.h"\n' 'src/base/x.c:1: base/ must not include profile/'
says "sideways" symbol/x.c '\n#include "format/common/format.h"\n' 'src/symbol/x.c:2: symbol/ must not include format/common/'
says "unwind may read ELF" unwind/x.c '#include "symbol/symbol.h"\n' ''
says "… symbol may not unwind" symbol/x.c '#include "unwind/unwind.h"\n' 'src/symbol/x.c:1: symbol/ must not include unwind/'
says "format may use the recordings of the store" format/x.c '#include "store/recording/recording.h"\n' ''
says "… nothing else of it" format/x.c '#include "store/sqlite/db.h"\n' 'src/format/x.c:1: format/ must not include store/sqlite/'
says "… which uses no format" store/x.c '#include "format/common/format.h"\n' 'src/store/x.c:1: store/ must not include format/common/'
says "from directory to directory, downwards" collect/resolve/x.c '#include "collect/proc/proc_maps.h"\n' ''
says "… and upwards" collect/proc/x.c '#include "collect/resolve/resolve.h"\n' 'src/collect/proc/x.c:1: collect/proc/ must not include collect/resolve/'
says "a module with a separate layer" query/time.c '#include "query/page.h"\n' 'src/query/time.c:1: query/ must not include query/page.h'
says "… which sees the others" query/page.c '#include "query/gpu/gpu_idle.h"\n' ''
says "a directory that is not in src/LAYERS" collect/x/x.c '#include "base/buf.h"\n' 'src/collect/x/x.c:1: collect/x/ is not in src/LAYERS'
says "headers as well" base/x.h '#  include "cmd/cli/cmd.h"\n' 'src/base/x.h:1: base/ must not include cmd/cli/'
says "not from src/" base/x.c '#include "buf.h"\n' 'src/base/x.c:1: "buf.h" is not written from src/'
says "by a way around" profile/x.c '#include "../cmd/cmd.h"\n' 'src/profile/x.c:1: "../cmd/cmd.h" is not written from src/'
says "generated headers" format/x.c '#include "assets.h"\n#include "sample.skel.h"\n' ''
says "a variable" profile/x.c 'int counter = 1;\n' 'src/profile/x.c: keeps state: counter'
says "a hidden variable" profile/x.c 'int n(void) { static int n; return n++; }\n' 'src/profile/x.c: keeps state: n.0'
says "a table of pointers to constants is none" profile/x.c 'const char *const t[] = { "a", "b" };\n' ''
says "cmd may have state" cmd/x.c 'int counter = 1;\n' ''
says "printing" base/x.c '#include <stdio.h>\nvoid p(void) { fputs("x", stderr); }\n' 'src/base/x.c: prints or exits: stderr'
says "exiting" base/x.c '#include <stdlib.h>\nvoid p(void) { exit(1); }\n' 'src/base/x.c: prints or exits: exit'
says "101 columns" base/x.c "// $(printf '%098d' 0)\n" 'src/base/x.c:1: more than 100 columns'
says "… with a tab" base/x.c "\t// $(printf '%090d' 0)\n" 'src/base/x.c:1: more than 100 columns'
says "… 100 are fine, whatever bytes they take" base/x.c "\t// $(printf '%088d' 0)…\n" ''
ring() { # SIZE: so many headers, each of which includes the next one
	find "$tmp/src" -mindepth 2 -type f -delete
	for i in $(seq "$1"); do printf '#include "base/c%d.h"\n' $((i % $1 + 1)) >"$tmp/src/base/c$i.h"; done
	: >"$tmp/src/base/x.c"
	mkdir -p "$tmp/b/src/base" && gcc -c -o "$tmp/b/src/base/x.o" "$tmp/src/base/x.c"
	check | sort
}
is "a circle of two modules" "$(ring 2)" "src/base/c1.h:1: base/c1 → base/c2: in a circle of 2 modules
src/base/c2.h:1: base/c2 → base/c1: in a circle of 2 modules"
is "… of six: each arrow is a line" "$(ring 6 | wc -l)" "6"
says "a .c and its .h are one module" base/x.c '#include "base/x.h"\n' ''
word=TO
says "unfinished" base/x.c "\n// ${word}DO: later\n" 'src/base/x.c:2: says that it is unfinished'
rm -rf "$tmp/b"
is "without objects it does not say yes" "$(check | head -1)" 'b: no objects to look at: build first'
finish
