# shellcheck shell=bash
# tests/cli/lib_page.sh: the contents of a page in one file (src/format/html/container.h).
#
#     part PAGE ID             the bytes of one of its packed parts
#     header PAGE              the container's header
#     field PAGE EXPRESSION    of the header, h, in Python
#     notes PAGE               its notes on missing parts

part() { sed -n "s,.*id=\"$2\">\([^<]*\)</script>.*,\1,p" "$1" | base64 -d | gunzip; }
header() { part "$1" data | python3 -c '
import sys
b, n, at, shift = sys.stdin.buffer.read(), 0, 4, 0
while True:
    n |= (b[at] & 127) << shift
    shift, at = shift + 7, at + 1
    if b[at - 1] < 128:
        break
assert b[:4] == b"CRC1"
sys.stdout.write(b[at:at + n].decode())'; }
notes() { header "$1" | jq -r '.meta.notes[]'; }
field() { header "$1" | python3 -c "import json, sys; h = json.load(sys.stdin); print($2)"; }
