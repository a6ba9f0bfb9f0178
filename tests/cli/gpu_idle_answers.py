#!/usr/bin/env python3
"""Readings of a GPU as CSV (time in ns, share) → [busy ns, idle ns, gaps, uncertainty in ns], by hand: each reading is of the time since the one before."""
import csv
import json
import statistics
import sys

threshold = float(sys.argv[1])
rows = [(int(r[0]), float(r[1])) for r in csv.reader(sys.stdin) if r[0].lstrip("-").isdigit()]
spans = [(b[0] - a[0], b[1] >= threshold) for a, b in zip(rows, rows[1:])]
busy = sum(ns for ns, is_busy in spans if is_busy)
idle = sum(ns for ns, is_busy in spans if not is_busy)
states = [is_busy for _, is_busy in spans]
edges = sum(a != b for a, b in zip(states, states[1:]))
gaps = sum(not s and (i == 0 or states[i - 1]) for i, s in enumerate(states))
print(json.dumps([busy, idle, gaps, edges * statistics.median_high(ns for ns, _ in spans)], separators=(",", ":")))
