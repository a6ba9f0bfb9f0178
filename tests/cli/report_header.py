"""The header of a report.html, as JSON: src/format/html/container.h. Says why where there is none."""
import base64
import gzip
import json
import re
import sys

page = open(sys.argv[1]).read()
data = re.search(r'id="data">([^<]*)</script>', page)
if not data:
    sys.exit("no data in this page")
plain = gzip.decompress(base64.b64decode(data.group(1)))
if plain[:4] != b"CRC1":
    sys.exit("no report")
at, length, shift = 4, 0, 0
while True:
    byte = plain[at]
    at += 1
    length |= (byte & 127) << shift
    shift += 7
    if byte < 128:
        break
json.dump(json.loads(plain[at : at + length]), sys.stdout)
