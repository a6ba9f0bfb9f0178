#!/usr/bin/env bash
# tier: live
# A CPython with an unknown layout of its structures, as the next version may have: it has native frames; the recorder, the recording and `up` name it.
. tests/live/lib.sh
. tests/live/lib_python.sh
. tests/live/lib_always.sh
needs_recording
chmod 755 "$tmp" # the store process is not root

interpreters >"$tmp/interpreters"
read -r version build path < <(awk '{ split($1, v, ".") } v[2] >= 13 && $2 == "shared"' "$tmp/interpreters" | tail -1)
[ -n "${path-}" ] || { echo "1..0 # SKIP no shared CPython from 3.13 on"; exit 0; }

# A copy that declares frames of 7 bytes. Its own code does not read the declaration.
library=$(ldd "$path" | awk '/libpython3/ { print $3 }')
mkdir "$tmp/lib"
python3 - "$library" "$tmp/lib/$(basename "$library")" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"xdebugpy")
while struct.unpack_from("<Q", data, at + 8)[0] >> 24 != 3:  # another text
    at = data.index(b"xdebugpy", at + 1)
for word in range(20, 40):
    data[at + 8 * word:at + 8 * word + 8] = struct.pack("<Q", 7)
open(sys.argv[2], "wb").write(data)
END
export LD_LIBRARY_PATH=$tmp/lib
timeout "$most_s" "$cresset" record -F 499 -o "$tmp/out.cresset" -- "$path" -c 'sum(i * i % 7 for i in range(4000000))' >"$tmp/out" 2>"$tmp/err"
is "$version $build: recorded" $? 0
holds "the recorder names it" grep -q "libpython${version%.*}.*: CPython ${version%.*} is not known" "$tmp/err"
holds "and what is missing" grep -q "a Python or Java has native frames only" "$tmp/err"
"$cresset" convert -q "$tmp/out.cresset" -o "$tmp/out.pb.gz"
holds "the recording has it, too" sh -c "gzip -dc '$tmp/out.pb.gz' | grep -aq 'CPython ${version%.*} is not known'"
begin_always up --data "$tmp/data" --listen 127.0.0.1:0
url=$(grep -o 'http://127.0.0.1:[0-9]*' "$tmp/log" | head -1)
start "$path" -c 'while True: sum(i * i % 7 for i in range(1000))'
until_said "CPython ${version%.*} is not known"
holds "up names it" grep -q "CPython ${version%.*} is not known" "$tmp/log"
for _ in $(seq 300); do
	curl -s "$url/api/v1/status" >"$tmp/status"
	grep -q "is not known" "$tmp/status" && break
	sleep 0.1
done
holds "the page names it" grep -q "CPython ${version%.*} is not known" "$tmp/status"
end_always
finish
