#!/usr/bin/env python3
"""page_idle_answers.py PAGE LENGTH_NS: when GPUs were busy, from what a page's timeline draws alone: the rows of gpu-time (src/format/html/container.h).

A line for each GPU that something ran on, synchronizations included: its label, ns watched (all of LENGTH_NS), busy and idle, and how many gaps there are.
"""
import base64
import gzip
import json
import re
import sys


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def column(data, at, n):
    size, at = varint(data, at)
    out, end = [], at + size
    for _ in range(n):
        value, at = varint(data, at)
        out.append(value)
    assert at == end
    return out, at


text = open(sys.argv[1], encoding="utf-8").read()
data = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', text).group(1)))
size, at = varint(data, 4)
header = json.loads(data[at : at + size])
at += size
length_ns = int(sys.argv[2])
for kind in header["types"]:
    at += kind["tree_bytes"]
    line = kind.get("timeline")
    if kind["name"] == "gpu-time":
        n = line["rows"]
        time, next_at = column(data, at, n)
        thread, next_at = column(data, next_at, n)
        _, next_at = column(data, next_at, n)
        _, next_at = column(data, next_at, n)
        length, _ = column(data, next_at, n)
        time[0] = -(time[0] + 1) // 2 if time[0] % 2 else time[0] // 2
        for i in range(1, n):
            time[i] += time[i - 1]
        works = {}
        for i in range(n):
            works.setdefault(header["threads"][thread[i]]["gpu"], []).append((time[i], time[i] + length[i]))
        for gpu, list_of in sorted(works.items()):
            busy, gaps, now = 0, 0, 0
            for begin, end in sorted(list_of):
                gaps += begin > now
                busy += max(0, end - max(begin, now))
                now = max(now, end)
            gaps += now < length_ns
            print(gpu, length_ns, busy, length_ns - busy, gaps)
    at += line["bytes"] if line else 0
