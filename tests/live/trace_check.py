"""Compares what samples say of spans with what threads had, by their own log (tests/live/prog/trace.h).

    trace_check.py LOG SAMPLES      SAMPLES: csv of time, length, tid, trace_id, span_id

Prints one line: right wrong missing none unsure outside. right: the span that the thread had for sure at that moment; wrong: one that it did
not have around that moment (of a wait: its middle); missing: no span though it had one, after the first that was seen; none: it had none, and none is said;
unsure: the moment is too near to a change; outside: the moment is not in the log, and no span is said."""
import bisect
import csv
import sys

NEAR_NS = 300_000  # between the clocks of the two, and around the changes


def read_log(path):
    threads = {}
    for line in open(path):
        words = line.split()
        if words[0] == "cpu":
            continue
        tid, start, end = map(int, words[:3])
        threads.setdefault(tid, []).append((start, end, None if words[3] == "-" else (words[3], words[4])))
    return threads


def possible(log, starts, at):
    """What the thread may have had at that moment, and whether there is only one such thing. Between two lines, where a thread can lose its CPU
    for long, either holds."""
    first = max(bisect.bisect_right(starts, at - NEAR_NS) - 1, 0)
    states = set()
    for i in range(first, len(log)):
        if i > 0 and log[i - 1][1] > at + NEAR_NS:
            break
        if i + 1 == len(log) or starts[i + 1] >= at - NEAR_NS:
            states.add(log[i][2])
    around = log[bisect.bisect_right(starts, at) - 1]
    sure = len(states) == 1 and around[0] <= at - NEAR_NS and at + NEAR_NS <= around[1]
    return states, sure


def main():
    log = read_log(sys.argv[1])
    starts = {tid: [s[0] for s in states] for tid, states in log.items()}
    samples = sorted((int(r["time"]) + int(r["length"]) // 2, int(r["tid"]), (r["trace_id"], r["span_id"]) if r["trace_id"] else None)
                     for r in csv.DictReader(open(sys.argv[2])))
    first = min((time for time, _, span in samples if span), default=None)
    n = dict.fromkeys(["right", "wrong", "missing", "none", "unsure", "outside"], 0)
    for time, tid, span in samples:
        mine = log.get(tid)
        if not mine or not mine[0][0] - NEAR_NS <= time <= mine[-1][1] + NEAR_NS:
            n["wrong" if span else "outside"] += 1
            continue
        states, sure = possible(mine, starts[tid], time)
        if not sure:
            n["wrong" if span and span not in states else "unsure"] += 1
        elif span not in states:
            late = span is None and (first is None or time < first)
            n["unsure" if late else "missing" if span is None else "wrong"] += 1
        else:
            n["right" if span else "none"] += 1
    print(*n.values())


main()
