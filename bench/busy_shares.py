#!/usr/bin/env python3
"""busy_shares.py FOLDED ROOTS PERF-SCRIPT COMM…: self time by function of two recordings of the same time.

FOLDED are stacks of cresset after the thread's name; ROOTS is CSV: name, function and kind of their first frames, samples. PERF-SCRIPT is the text of perf script -F comm,event,ip,sym,dso without demangling. A
function is that of the leaf; code without a name counts as its file. Prints a line for each COMM:

    COMM SAMPLES SAMPLES WHOLE WHOLE POINTS FUNCTIONS MOST NAME

Samples of both; the percentage of both that starts in _start or a thread's first function, of stacks with a user part; 3 sigma of the difference of a
share of a tenth, in points; functions compared; the largest difference, and its function.
"""
import collections
import csv
import math
import os
import re
import subprocess
import sys

MARKERS = re.compile(r'\[(exec|exit|truncated: [^]]*)\]$')
STARTS = re.compile(r'(_start|_dl_start_user|(__)?clone3?|\[exec\]|\[exit\])$')


class Whole:
    """Counts stacks with a user part, and those from the start on."""
    def __init__(self):
        self.all, self.whole = collections.Counter(), collections.Counter()

    def add(self, comm, root, n):
        self.all[comm] += n
        self.whole[comm] += n if STARTS.match(root) else 0

    def percent(self, comm):
        return 100 * self.whole[comm] / max(self.all[comm], 1)


def plain(name):
    """Without parameters, clones' endings and offsets."""
    name = re.sub(r'\+0x[0-9a-f]+$', '', name)
    name = name.split('(')[0] if not name.startswith('(') else name
    return re.sub(r'\.(cold|part|isra|constprop|lto_priv|localalias|llvm)\b.*$', '', name)


def of_cresset(path):
    shares = collections.defaultdict(collections.Counter)
    for line in open(path, errors='replace'):
        stack, n = line.rsplit(' ', 1)
        frames = stack.split(';')
        leaf = frames[-1]
        if len(frames) < 2 or MARKERS.match(leaf):
            leaf = '[unknown]'
        shares[frames[0]][plain(leaf)] += int(n)
    return shares


def demangled(names):
    """By c++filt, all of them in one run."""
    out = subprocess.run(['c++filt', '-i'], input='\n'.join(names), text=True, capture_output=True, check=True)
    return dict(zip(names, out.stdout.split('\n')))


def whole_of_cresset(path):
    whole = Whole()
    with open(path, newline='', errors='replace') as f:
        for comm, root, kind, n in list(csv.reader(f))[1:]:
            if kind != 'kernel':
                whole.add(comm, root, int(n))
    return whole


def perf_stacks(path):
    """Name of the thread, and (function, file) from the leaf on, of each sample."""
    comm, frames = None, []
    for line in open(path, errors='replace'):
        frame = re.match(r'\s+[0-9a-f]+ (.*) \((.*)\)\s*$', line)
        if frame:
            frames.append(frame.groups())
        elif line.strip():
            comm = re.sub(r'\s+\S+:\s*$', '', line.rstrip()).strip()
        elif frames:
            yield comm, frames
            frames = []
    if frames:
        yield comm, frames


def of_perf(path):
    leaves, whole = collections.Counter(), Whole()
    for comm, frames in perf_stacks(path):
        name, dso = frames[0]
        leaves[comm, os.path.basename(dso) if name == '[unknown]' else re.sub(r'\+0x[0-9a-f]+$', '', name)] += 1
        root, dso = frames[-1]
        if not dso.startswith('[') or dso in ('[unknown]', '[vdso]', '[heap]'):
            whole.add(comm, root, 1)
    names = demangled(sorted({name for _, name in leaves}))
    shares = collections.defaultdict(collections.Counter)
    for (comm, name), n in leaves.items():
        shares[comm][plain(names[name])] += n
    return shares, whole


def main():
    own, own_whole = of_cresset(sys.argv[1]), whole_of_cresset(sys.argv[2])
    peer, peer_whole = of_perf(sys.argv[3])
    for comm in sys.argv[4:]:
        a, b = sum(own[comm].values()), sum(peer[comm].values())
        if not a or not b:
            continue
        points = {f: abs(own[comm][f] / a - peer[comm][f] / b) * 100 for f in {**own[comm], **peer[comm]}}
        worst = max(points, key=points.get)
        sigma = 100 * math.sqrt(.1 * .9 * (1 / a + 1 / b))
        print(f'{comm} {a} {b} {own_whole.percent(comm):.1f} {peer_whole.percent(comm):.1f} {3 * sigma:.2f} {len(points)} {points[worst]:.2f} {worst}')


main()
