"""All functions of two ELF files as two profiles, and what `cresset diff` takes to be the same, beside the truth.

Usage: same_functions.py CRESSET OLD NEW DIRECTORY SHARE (of the functions of each side, chosen by chance)

A function's truth is its name in the symbol table, without the suffixes of gcc's and clang's clones, and the name of its source file, where debug
information has it. A name that a file has twice is left out. Prints: functions of both files, percent of them found again, percent of the pairs
that are wrong, and the first wrong ones on standard error.
"""

import json
import os
import random
import re
import subprocess
import sys

CLONE = re.compile(r"(\.(isra|constprop|part|cold|lto_priv|llvm|localalias|clone|hot|abi0)(\.\d+)*|\.\d+)+$")


def symbols(path, share):
    """(name, file) of each function of an ELF file, or of a part of them."""
    chosen = random.Random(path)
    dynamic = [] if b".symtab" in subprocess.run(["readelf", "-SW", path], capture_output=True, check=True).stdout else ["-D"]
    out = subprocess.run(["nm", "-l", "--defined-only", *dynamic, path], capture_output=True, check=True).stdout
    for line in out.decode(errors="replace").splitlines():
        place = line.split("\t")
        fields = place[0].split(" ", 2)
        if len(fields) == 3 and fields[1] in "tTwWi":
            if chosen.random() >= share:
                continue
            yield re.sub(r"@.*", "", fields[2]), place[1].rsplit(":", 1)[0] if len(place) > 1 else ""


def profile(path, out, share):
    """Writes a callgrind file in which each function costs 10; a callgrind file has names, source files and binaries."""
    with open(out, "w") as f:
        print(f"# callgrind format\nversion: 1\nevents: Ir\nob={path}", file=f)
        for name, file in symbols(path, share):
            print(f"fl={file or '???'}\nfn={name}\n0 10", file=f)


def truth(name, file):
    return CLONE.sub("", re.sub(r"@.*", "", name)), os.path.basename(file or "")


def alone(path, share):
    """The truths that a side has, and that its file has once: clones of a function are one."""
    seen = {}
    for name, file in symbols(path, 1):
        seen.setdefault(truth(name, file), set()).add(file)
    return {truth(*f) for f in symbols(path, share) if len(seen[truth(*f)]) == 1}


def main(cresset, old, new, directory, share):
    share = float(share)
    sides = [os.path.join(directory, side + ".callgrind") for side in ("old", "new")]
    for path, out in zip((old, new), sides):
        profile(path, out, share)
    table = json.loads(subprocess.run([cresset, "diff", *sides, "--json", "--top", "0"], capture_output=True, check=True).stdout)
    both = alone(old, share) & alone(new, share)
    found, wrong = set(), []
    rows = [r for r in table["rows"] if r["older_total"] and r["newer_total"]]
    for r in rows:
        newer = truth(r["function"], r["file"])
        older = truth(r.get("older_function", r["function"]), r.get("older_file", r["file"]) if r["match"] == "loose" else r["file"])
        if newer[0] != older[0] or (newer[1] != older[1] and newer[1] and older[1]):
            wrong.append((older, newer))
        else:
            found.add(newer)
            found.add(older)
    for pair in wrong[:10]:
        print("wrong:", *pair, file=sys.stderr)
    for key in sorted(both - found)[:10]:
        print("not found:", *key, file=sys.stderr)
    print(len(both), f"{100 * len(both & found) / len(both):.2f}", f"{100 * len(wrong) / len(rows):.2f}")


main(*sys.argv[1:])
