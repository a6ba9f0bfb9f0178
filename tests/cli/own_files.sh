#!/usr/bin/env bash
# tier: test
# Files of one build id, or of one path without an id, that are not one: a store shows the names of each, imported or uploaded.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh

# pprof FILE PATH ID FUNCTION…: a pprof file with one sample in each function, at the addresses 0x1000, 0x2000 … of a binary.
pprof() {
	python3 - "$@" <<'PY'
import sys
out, path, build_id, *functions = sys.argv[1:]
strings = [""]
def number(n):
    b = b""
    while n > 127:
        b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def field(i, v):
    return number(i << 3) + number(v) if isinstance(v, int) else number(i << 3 | 2) + number(len(v)) + v
def text(s):
    if s not in strings:
        strings.append(s)
    return strings.index(s)
p = field(1, field(1, text("samples")) + field(2, text("count")))
for i, f in enumerate(functions, 1):
    p += field(2, field(1, number(i)) + field(2, number(1)))
    p += field(4, field(1, i) + field(2, 1) + field(3, 0x400000 + 0x1000 * i) + field(4, field(1, i)))
    p += field(5, field(1, i) + field(2, text(f)) + field(3, text(f)))
p += field(3, field(1, 1) + field(2, 0x400000) + field(3, 0x500000) + field(5, text(path)) + field(6, text(build_id)) + field(7, 1))
p += b"".join(field(6, s.encode()) for s in strings) + field(9, 1795255200 * 10**9)
open(out, "wb").write(p)
PY
}
id=00112233445566778899aabbccddeeff00112233
pprof "$tmp/one.pb" /b/one $id parse check emit
pprof "$tmp/two.pb" /b/two $id read write emit
pprof "$tmp/three.pb" /b/three $id draw wait emit
pprof "$tmp/old.pb" /b/same "" parse check
pprof "$tmp/new.pb" /b/same "" read write

stored() { # STORE: functions and how often each was seen
	"$cresset" -q query --data "$1" samples --from 2026-11-21 --to 2026-11-22 -o "$tmp/stored.folded"
	sed 's/.*;//' "$tmp/stored.folded" | awk '{ n[$1] += $2 } END { for (f in n) print f, n[f] }' | sort | xargs
}
imports() { ends "$1" 0 convert "$3" --data "$2"; }

imports "a file" "$tmp/s" "$tmp/one.pb"
imports "another one with its build id" "$tmp/s" "$tmp/two.pb"
is "… each has its own names" "$(stored "$tmp/s")" "check 1 emit 2 parse 1 read 1 write 1"
has "… it is reported" "two.pb: 1 binary has the build id of another file" "$errs"
imports "a third one" "$tmp/s" "$tmp/three.pb"
is "… has its own" "$(stored "$tmp/s")" "check 1 draw 1 emit 3 parse 1 read 1 wait 1 write 1"
for f in one two three; do imports "$f again with another label" "$tmp/s" "$tmp/$f.pb" --label again=yes; done
is "… are files that the store knows" "$("$cresset" -q sql --format csv --data "$tmp/s" "SELECT count(DISTINCT stack) FROM samples" | tail -1)" 9
imports "a binary without an id" "$tmp/p" "$tmp/old.pb"
imports "another one at its path" "$tmp/p" "$tmp/new.pb"
is "… has its own names" "$(stored "$tmp/p")" "check 1 parse 1 read 1 write 1"

# --- uploaded
serve --data "$tmp/u"
for f in one two; do
	post api/v1/profiles --data-binary "@$tmp/$f.pb" >/dev/null
	is "upload of $f" "$(cat "$tmp/code")" 200
done
stop
is "uploads: each has its own names" "$(stored "$tmp/u")" "check 1 emit 2 parse 1 read 1 write 1"
finish
