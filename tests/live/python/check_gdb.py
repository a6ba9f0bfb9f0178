"""Compares what gdb's extension for Python said of a process that it stopped (gdb_stops.py) with the recorded stacks of the same stops.

    check_gdb.py VERSION STOPS FRAMES SAMPLES

FRAMES, SAMPLES: as of check.py. A stop is a wait of the thread, and gdb looked during it, so the two stacks are of one state: functions, files
and lines have to be equal. (To 3.9 the extension takes a step back in a line table for 256 lines less than that forward: there only what is left
of lines by 256 can be compared. That to 3.11 has no line for some frames: "?".) Stops of which gdb can say nothing, or whose wait has no sample, are counted. Prints "ok WHAT" or "not ok WHAT", and
a row "| …" of figures."""
import bisect
import collections
import json
import re
import sys

ENOUGH = 50  # stops
EVERYWHERE = 0.99


def theirs(text):
    """(function, file, line) from the outermost; None where gdb could not read some."""
    if re.search(r"unable to|optimized out\)$", text, re.I | re.M):
        return None
    return [(name, file, None if line == "?" else int(line))
            for file, line, name in reversed(re.findall(r'^  File "(.*)", line (\d+|\?), in (.*)$', text, re.M))]


class Waits:
    def __init__(self, frames, samples):
        self.stacks = collections.defaultdict(list)
        for stack, _, kind, function, file, line in json.load(open(frames))["rows"]:
            self.stacks[stack].append((kind, function, file, line))
        self.waits = collections.defaultdict(list)
        for stack, kind, tid, at, value in json.load(open(samples))["rows"]:
            if kind == "wall":
                self.waits[tid].append((at, value, stack))
        for waits in self.waits.values():
            waits.sort()

    def during(self, tid, at):
        """The stack of the thread's wait at that time."""
        i = bisect.bisect(self.waits[tid], (at, 0, 0)) - 1
        since, value, stack = self.waits[tid][i] if i >= 0 else (0, 0, 0)
        return self.stacks[stack] if since <= at <= since + value else None


def is_same(got, want, turn):
    return len(got) == len(want) and all(a[:2] == b[:2] and (b[2] is None or (a[2] - b[2]) % turn == 0) for a, b in zip(got, want))


def main():
    version, stops, frames, samples = sys.argv[1:5]
    turn = 256 if tuple(map(int, version.split(".")[:2])) <= (3, 9) else sys.maxsize
    waits = Waits(frames, samples)
    equal, compared, unread, unseen = 0, 0, 0, 0
    for at, tid, text in map(json.loads, open(stops)):
        want, stack = theirs(text), waits.during(tid, at)
        unread += not want
        unseen += bool(want) and stack is None
        if not want or stack is None:
            continue
        compared += 1
        got = [(f.rpartition(".")[2], file, line) for kind, f, file, line in stack if kind == "python"]
        if is_same(got, want, turn):
            equal += 1
            continue
        odd = next(((a, b) for a, b in zip(got + [None], want + [None]) if a != b), None)
        print("# %d frames, gdb has %d: %s, gdb %s; %s" % (len(got), len(want), *odd, ";".join(f for _, f, _, _ in stack[-8:])))
    holds = compared >= ENOUGH and equal >= EVERYWHERE * compared and unseen <= compared * (1 - EVERYWHERE)
    print("%s stacks are those that gdb tells, line by line (%d of %d; %d unread by gdb, %d without a sample)" %
          ("ok" if holds else "not ok", equal, compared, unread, unseen))
    print("| %.2f %% of %d |" % (100 * equal / max(compared, 1), compared))


main()
