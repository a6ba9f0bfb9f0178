#!/usr/bin/env python3
"""gpu_stall_check.py SCENARIO FOLDED LAUNCHES [--not-issued]: compares folded stacks of gpu-stall with what the scenario comes to, computed of its text and of the
golden answers beside its cubins (tests/golden/gpu/answers.py), by nothing of the profiler.

LAUNCHES is a file of lines "KERNEL FUNCTION COUNT": how often a function of the program launched a kernel; each takes as long as another. What stands below
"-" must be there exactly, and as often; of each kernel a function has its part of the launches, to within 2 for each kernel and device.
Says how many samples there were; else what differs, and fails."""
import re
import subprocess
import sys
from collections import Counter, defaultdict

WORDS = {
    "long_scoreboard": "memory (long scoreboard)",
    "short_scoreboard": "shared memory or special math (short scoreboard)",
    "wait": "fixed latency (wait)",
    "selected": "running (selected)",
    "barrier": "barrier",
    "membar": "memory barrier",
}
scenario, folded, launches = sys.argv[1:4]
not_issued = "--not-issued" in sys.argv
kinds = {"G": "_[G]", "g": "_[g]"}


def plain(names):
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()


def places(path):
    """{(kernel, offset): [layers without reason and offset]} of a cubin, of its checked-in answers."""
    out, kernel, symbols, chain = {}, None, [], ""
    for line in open(path + ".txt"):
        words = line.split()
        if words[0] == "text":
            kernel, symbols = words[1], []
        elif words[0] == "symbol":
            symbols.append((words[1], int(words[2]), int(words[3])))
        elif words[0] == "at":
            chain = line[3:].strip()
        elif words[0].isdigit():
            at = int(words[0])
            steps = chain.split(", ")
            source = steps[0].split(" ")[0].rsplit(":", 1)[0]
            functions = [kernel] + [name for name, start, size in symbols if start <= at < start + size]
            functions += [step.split(" ")[1] for step in reversed(steps) if " " in step]
            out[kernel, at] = [part + "_[G]" for part in source.strip("/").split("/")] + [name + "_[G]" for name in plain(functions)] + [words[1] + "_[g]"]
    return out


known, stalls, kernels = {}, [], {}
for line in open(scenario):
    words = line.split()
    if words[:1] == ["module"]:
        known.update({key: value for key, value in places(words[1]).items() if key[0] in words[2:]})
    elif words[:1] == ["stall"]:
        stalls.append((words[1], int(words[2], 0), words[3], int(words[5]) if not_issued and len(words) > 5 else 0 if not_issued else int(words[4])))

by_function, ran = defaultdict(Counter), Counter()
for line in open(launches):
    kernel, function, count = line.split()
    by_function[kernel][function] += int(count)
    ran[kernel] += int(count)

want = Counter()
for kernel, offset, reason, samples in stalls:
    layers = known.get((kernel, offset))
    layers = layers[:] if layers else [plain([kernel])[0] + "_[G]"]
    want[kernel, ";".join(layers + [WORDS[reason] + "_[g]", f"0x{offset:x}_[g]"])] += samples * ran[kernel]
owner = {below: kernel for kernel, below in want}

got, got_by, wrong = Counter(), defaultdict(Counter), []
for line in open(folded):
    stack, count = line.rstrip("\n").rsplit(" ", 1)
    above, below = stack.split(";-;", 1)
    got[below] += int(count)
    functions = [f for f in by_function[owner.get(below)] if f";{f};" in above + ";"]
    if len(functions) != 1:
        wrong.append(f"launched by {functions}: {above}")
        continue
    got_by[owner[below]][functions[0]] += int(count)
for kernel, below in want:
    if got[below] != want[kernel, below]:
        wrong.append(f"{below}: {got[below]}, want {want[kernel, below]}")
wrong += [f"{below}: {got[below]}, which should not be" for below in got if below not in owner]
devices = 2
for kernel in {kernel for kernel, _ in want}:
    total = sum(count for (k, _), count in want.items() if k == kernel)
    for function, count in by_function[kernel].items():
        part = total * count / ran[kernel]
        if abs(got_by[kernel][function] - part) > 2 * devices:
            wrong.append(f"{kernel} by {function}: {got_by[kernel][function]}, want {part}")
if wrong or not got:
    sys.exit("\n".join(wrong) or "nothing")
print(sum(got.values()), "samples")
