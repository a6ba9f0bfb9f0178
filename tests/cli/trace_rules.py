#!/usr/bin/env python3
"""A trace in the JSON Trace Event Format, held against its rules; prints what breaks one (nothing: all hold), then with a second argument what that asks for.

Rules: every event has a phase that is known here, and what that phase needs; times of a track do not go back; slices of a track lie inside each other or apart; every arrow
has one beginning and one end, which is not earlier, and each lies in a slice of its track; tracks that have slices have names; counters have numbers only.

    trace_rules.py FILE lanes      GPU tracks: process, thread, slices, ns
    trace_rules.py FILE arrows     arrows by names of the slices they begin and end in: FROM TO, how many
    trace_rules.py FILE counters   counters: process, name, how many, least, greatest
"""
import json
import sys
from collections import Counter, defaultdict

GPU = 10000000
trace = json.load(open(sys.argv[1]))
events = trace["traceEvents"]
broken = []
slices, arrows, names, orders, counters = defaultdict(list), defaultdict(dict), {}, {}, defaultdict(list)


def ns(us):
    return round(us * 1000)


def rule(holds, *words):
    if not holds and len(broken) < 20:
        broken.append(" ".join(map(str, words)))


for e in events:
    track = (e.get("pid"), e.get("tid"))
    if e["ph"] == "X":
        rule(e["dur"] >= 0 and e["ts"] >= 0 and e["name"], "no slice:", e)
        here = slices[track]
        rule(not here or ns(e["ts"]) >= here[-1][0], "goes back:", e)
        here.append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"]))
    elif e["ph"] in "sf":
        rule(e["ph"] not in arrows[e["id"]], "twice:", e)
        rule(e["ph"] == "s" or e["bp"] == "e", "does not bind to its slice:", e)
        arrows[e["id"]][e["ph"]] = (track, ns(e["ts"]))
    elif e["ph"] == "M":
        if "sort_index" in e["args"]:
            orders[(e["name"], track)] = e["args"]["sort_index"]
        else:
            names[(e["name"], track[0] if e["name"] == "process_name" else track)] = e["args"]["name"]
    elif e["ph"] == "C":
        value = e["args"]["value"]
        rule(isinstance(value, (int, float)) and not isinstance(value, bool), "no number:", e)
        here = counters[(track[0], e["name"])]
        rule(not here or ns(e["ts"]) > here[-1][0], "goes back:", e)
        here.append((ns(e["ts"]), value))
    else:
        rule(False, "unknown:", e)

for track, boxes in slices.items():
    inside = []
    rule(("thread_name", track) in names, "no name:", track)
    for begin, end, name in boxes:
        while inside and inside[-1] <= begin:
            inside.pop()
        rule(not inside or end <= inside[-1], "sticks out of the slice around it:", track, begin, end, name)
        inside.append(end)


def innermost(track, moments):
    """The slices that moments of a track are in: the innermost of each, or None."""
    inside, at, found = [], 0, {}
    boxes = slices[track]
    for moment in sorted(moments):
        while at < len(boxes) and boxes[at][0] <= moment:
            while inside and inside[-1][1] <= boxes[at][0]:
                inside.pop()
            inside.append(boxes[at])
            at += 1
        while inside and inside[-1][1] <= moment and inside[-1][0] < moment:
            inside.pop()
        found[moment] = inside[-1][2] if inside else None
    return found


moments = defaultdict(set)
for arrow in arrows.values():
    for track, at in arrow.values():
        moments[track].add(at)
ends_in = {track: innermost(track, at) for track, at in moments.items()}
by_name = Counter()
for number, arrow in arrows.items():
    rule(len(arrow) == 2, "half an arrow:", number, arrow)
    if len(arrow) != 2:
        continue
    rule(arrow["s"][1] <= arrow["f"][1], "ends before it begins:", number, arrow)
    rule(arrow["s"][0][0] < GPU <= arrow["f"][0][0], "not from a thread to a GPU:", number, arrow)
    ends = [ends_in[track][at] for track, at in (arrow["s"], arrow["f"])]
    rule(all(ends), "an end in no slice:", number, arrow, ends)
    by_name[tuple(ends)] += 1

asked = sys.argv[2] if len(sys.argv) > 2 else ""
if asked == "lanes":
    for track in sorted((t for t in slices if t[0] >= GPU), key=lambda t: orders[("thread_sort_index", t)]):
        boxes = slices[track]
        print(f"{names[('process_name', track[0])]}/{names[('thread_name', track)]}", len(boxes), sum(b - a for a, b, _ in boxes))
elif asked == "arrows":
    for (begin, end), n in sorted(by_name.items()):
        print(begin, "->", end, n)
elif asked == "counters":
    for (pid, name), points in sorted(counters.items(), key=lambda c: (names[("process_name", c[0][0])], c[0][1])):
        values = [v for _, v in points]
        print(f"{names[('process_name', pid)]}/{name}", len(points), min(values), max(values))
elif asked == "points":
    for (pid, name), points in sorted(counters.items()):
        for at, value in points:
            print(f"{names[('process_name', pid)]}/{name}", at, f"{value:g}")
print("\n".join(broken), end="\n" if broken else "")
