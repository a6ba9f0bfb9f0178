#!/usr/bin/env python3
"""A program's launches, and whose GPU time it was: gpu_scenario.py SEED LAUNCHES.

    launch US PID TID CORRELATION STACK WORK NS     in the order of the calls
    answer PID STACK WORK NS                        the sum, computed here

Two processes with three threads each; a thread repeats a rhythm of calls (which stack launches what is fixed by the rhythm, lengths scatter, some
stacks launch longer kernels of the same name), and changes to another rhythm half way."""
import random
import sys
from collections import Counter

rng = random.Random(int(sys.argv[1]))
launches = int(sys.argv[2])
threads = [(pid, 10 * pid + n) for pid in (1, 2) for n in (1, 2, 3)]
answers, lines = Counter(), []


def rhythm():
    """Calls of one round: (stack, work, ns of the work, us until the next call)."""
    works = [(work, rng.randint(2_000, 60_000)) for work in range(1, 6)]
    calls = []
    for _ in range(rng.randint(8, 40)):
        work, ns = rng.choice(works)
        stack = rng.randint(1, 6)
        calls.append((stack, work, ns * (1 + stack % 3), rng.choice((3, 5, 8, 40))))
    return calls


correlation = {1: 2**32 - 1000, 2: 1}
for pid, tid in threads:
    for half in range(2):
        calls, us = rhythm(), half * 10_000_000
        for i in range(launches // len(threads) // 2):
            stack, work, ns, pause = calls[i % len(calls)]
            ns = max(1, int(ns * rng.uniform(0.8, 1.3)))
            us += pause
            lines.append((us, pid, tid, stack, work, ns))
            answers[pid, stack, work] += ns
for us, pid, tid, stack, work, ns in sorted(lines):
    print("launch", us, pid, tid, correlation[pid], stack, work, ns)
    correlation[pid] = (correlation[pid] + 1) % 2**32
for (pid, stack, work), ns in sorted(answers.items()):
    print("answer", pid, stack, work, ns)
