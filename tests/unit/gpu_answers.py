#!/usr/bin/env python3
"""What a program that plays a scenario (tests/live/prog/gpu_play.c) must have done: lines NAME DEVICE COUNT SUM, computed of the scenario's text alone.
SUM is ns of kernels, of whole graphs under "graph", and bytes of copies under "copy"; "calls" counts what was launched. With the word "sides" after the
scenario, kernels are NAME/even and NAME/odd, by the function that launched them. With the word "stalls", lines KERNEL OFFSET REASON SAMPLES NOT_ISSUED
alone: of all devices, each of which is sampled."""
import sys
from collections import Counter

kernels, play, devices, stalls = [], {}, 1, []
for line in open(sys.argv[1]):
    words = line.split()
    if len(words) >= 4 and words[0] == "kernel" and words[1] != "*":
        kernels.append((words[1], int(words[words.index("ns") + 1])))
    elif words[:1] == ["play"]:
        play[words[1]] = [int(word) for word in words[2:]]
    elif words[:1] == ["stall"]:
        stalls.append((words[1], int(words[2], 0), words[3], int(words[4]), int(words[5]) if len(words) > 5 else 0))
    elif words[:1] == ["device"]:
        devices = max(devices, int(words[1]) + 1)

count, total, ran = Counter(), Counter(), Counter()
side = ["/even", "/odd"] if "sides" in sys.argv else ["", ""]


def done(name, device, amount):
    count[name, device] += 1
    total[name, device] += amount


graph_every, nodes = play.get("graph", [0, 0])
copy_every, copy_bytes = play.get("copy", [0, 0])
for thread in range(play["threads"][0]):
    device = thread % devices
    for launch in range(play["launches"][0]):
        if graph_every and (launch + 1) % graph_every == 0:
            done("graph", device, sum(ns for _, ns in kernels[:nodes]))
            ran.update(name for name, _ in kernels[:nodes])
        else:
            name, ns = kernels[(7 * thread + 13 * launch + launch // 5) % len(kernels)]
            done(name + side[launch % 2], device, ns)
            ran[name] += 1
        done("calls", 0, 0)
        if copy_every and (launch + 1) % copy_every == 0:
            done("copy", device, copy_bytes)
            done("calls", 0, 0)
if "stalls" in sys.argv:
    for kernel, offset, reason, samples, not_issued in stalls:
        print(kernel, offset, reason, samples * ran[kernel], not_issued * ran[kernel])
    sys.exit()
for name, device in sorted(count):
    print(name, device, count[name, device], total[name, device])
