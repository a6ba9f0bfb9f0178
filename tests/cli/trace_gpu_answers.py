#!/usr/bin/env python3
"""A trace of GPUs against what tests/fixture/gpu_trace.c says that ran: prints what is missing, too much or elsewhere (nothing: all is right).

    trace_gpu_answers.py FILE WORKS [FROM_NS TO_NS]      of works, the part in that range, which the trace begins with
"""
import json
import re
import sys
from collections import Counter

GPU = 10000000
trace = json.load(open(sys.argv[1]))
low, high = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (0, 1 << 62)
want, want_arrows = Counter(), Counter()
for line in open(sys.argv[2]):
    gpu, stream, pid, tid, name, begin, end, launch = line.split()
    begin, end, launch = int(begin), int(end), int(launch)
    if end <= low or begin >= high:
        continue
    want[(gpu, stream, int(pid), int(tid), name, max(begin, low) - low, min(end, high) - low)] += 1
    if launch > low and begin < high:
        want_arrows[(int(pid), int(tid), launch - low, gpu, stream, begin - low)] += 1

process, thread, got, ends = {}, {}, Counter(), {}
for e in trace["traceEvents"]:
    track = (e.get("pid"), e.get("tid"))
    if e["ph"] == "M" and e["name"] == "process_name":
        process[track[0]] = e["args"]["name"]
    elif e["ph"] == "M" and e["name"] == "thread_name":
        thread[track] = e["args"]["name"]


def place(track):
    stream = re.fullmatch(r"stream (\d+)( of (train \(700\)|serve \(800\)))?(, at once \(\d\))?", thread[track])
    return process[track[0]].removeprefix("GPU "), stream.group(1)


for e in trace["traceEvents"]:
    track = (e.get("pid"), e.get("tid"))
    at = round(e.get("ts", 0) * 1000)
    if e["ph"] == "X" and track[0] >= GPU:
        name = "marker" if e["name"].startswith("[") else e["name"]
        got[(*place(track), e["args"]["pid"], e["args"]["tid"], name, at, at + round(e["dur"] * 1000))] += 1
    elif e["ph"] == "s":
        ends.setdefault(e["id"], [None, None])[0] = (*track, at)
    elif e["ph"] == "f":
        ends.setdefault(e["id"], [None, None])[1] = (*place(track), at)
arrows = Counter((*a, *b) for a, b in ends.values())
for what, x, y in (("missing", want, got), ("too much", got, want), ("arrow missing", want_arrows, arrows), ("arrow too much", arrows, want_arrows)):
    for key in list(x - y)[:5]:
        print(what, *key)
    if x - y:
        print(what, sum((x - y).values()), "of", sum(x.values()))
