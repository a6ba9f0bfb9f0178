"""Compares what samples say of spans with what threads had, by their own log (tests/live/prog/trace.h).

    trace_check.py LOG SAMPLES      SAMPLES: csv of time, length, tid, trace_id, span_id

Prints one line: right wrong missing none unsure outside. right: the span that the thread had for sure at that moment; wrong: one that it did
not have around that moment (of a wait: its middle); missing: no span though it had one, after the first that was seen; none: it had none, and none is said;
unsure: the moment is too near to a change; outside: the moment is not in the log, and no span is said.

Standard error has the first samples that are wrong or missing, each with the lines of the log around it."""
import bisect
import csv
import sys

NEAR_NS = 300_000  # between the clocks of the two, and around the changes
TOLD = 5  # samples that are printed
AROUND = 3  # lines of the log on each side of such a sample


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


def tell(what, sample, log):
    """Prints a sample beside what its thread had around it, in ms from the sample's moment."""
    time, length, tid, span = sample
    at = time + length // 2
    print(f"{what}: tid {tid} at {at}" + (f", the middle of {length / 1e6:.3f} ms" if length else "") + f": {' '.join(span or ['none'])}", file=sys.stderr)
    nearest = bisect.bisect_right(log, (at,))
    for start, end, state in log[max(nearest - AROUND, 0) : nearest + AROUND]:
        print(f"    {(start - at) / 1e6:+10.3f} to {(end - at) / 1e6:+10.3f} ms: {' '.join(state or ['none'])}", file=sys.stderr)


def judge(sample, log, starts, first):
    """first: when the first span was seen"""
    time, length, tid, span = sample
    time += length // 2
    mine = log.get(tid)
    if not mine or not mine[0][0] - NEAR_NS <= time <= mine[-1][1] + NEAR_NS:
        return "wrong" if span else "outside"
    states, sure = possible(mine, starts[tid], time)
    if not sure:
        return "wrong" if span and span not in states else "unsure"
    if span in states:
        return "right" if span else "none"
    if span:
        return "wrong"
    return "unsure" if first is None or time < first else "missing"


def main():
    log = read_log(sys.argv[1])
    starts = {tid: [s[0] for s in states] for tid, states in log.items()}
    samples = sorted((int(r["time"]), int(r["length"]), int(r["tid"]), (r["trace_id"], r["span_id"]) if r["trace_id"] else None)
                     for r in csv.DictReader(open(sys.argv[2])))
    first = min((time + length // 2 for time, length, _, span in samples if span), default=None)
    n = dict.fromkeys(["right", "wrong", "missing", "none", "unsure", "outside"], 0)
    for sample in samples:
        what = judge(sample, log, starts, first)
        n[what] += 1
        if what in ("wrong", "missing") and n["wrong"] + n["missing"] <= TOLD:
            tell(what, sample, log.get(sample[2], []))
    print(*n.values())


main()
