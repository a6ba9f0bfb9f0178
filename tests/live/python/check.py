"""Compares recorded stacks of shapes.py with what it is (see there), and with the stacks that the interpreter itself told meanwhile.

    check.py VERSION TRUTH FRAMES SAMPLES [FAULTS]

TRUTH: what shapes.py printed. FRAMES: JSON of stack, depth, kind, function, file, line; SAMPLES: of stack, type, tid, time, value, of
cresset sql. FAULTS: what faulthandler wrote. Prints "ok WHAT" or "not ok WHAT" for each thing that was looked at, and a row "| …" of figures."""
import ast
import collections
import json
import os
import re
import sys

SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes.py")
STARTS = re.compile(r"_start|(__)?clone3?|start_thread|[^ ]+\+0x[0-9a-f]+")
EVERYWHERE = 0.99
SHARE_POINTS = 0.03
ENOUGH = 2000  # samples
FAULTS_DEPTH = 100  # frames that faulthandler writes
DEEP = 500  # calls of shape_deep


class Source:
    """What shapes.py says of itself: functions and their lines, and which call is in which line."""

    def __init__(self, qualified):
        text = open(SHAPES, encoding="utf-8").read()
        self.qualified = qualified
        self.text = text.splitlines()
        self.lines = {"<module>": (1, len(self.text))}
        self.walk(ast.parse(text), "")
        self.edges = collections.defaultdict(set)
        for number, line in enumerate(self.text, 1):
            for caller, callee in re.findall(r"(\S+) > ([^\s;]+)", line.partition("  # ")[2]):
                self.edges[self.name(caller), self.name(callee)].add(number)
        space = {}
        exec(re.search(r"^odd_names = .*$", text, re.M).group(), space)
        self.odd_names = space["odd_names"]

    def name(self, qualname):
        return qualname if self.qualified else qualname.rpartition(".")[2]

    def walk(self, node, prefix):
        for child in ast.iter_child_nodes(node):
            name = {ast.Lambda: "<lambda>", ast.GeneratorExp: "<genexpr>"}.get(type(child), getattr(child, "name", None))
            if name is None or not hasattr(child, "body") and not isinstance(child, ast.GeneratorExp):
                self.walk(child, prefix)
                continue
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno] + [d.lineno for d in getattr(child, "decorator_list", [])])
                self.lines[self.name(prefix + name)] = (first, child.end_lineno)
            self.walk(child, prefix + name + ("." if isinstance(child, ast.ClassDef) else ".<locals>."))

    def calls(self, caller, callee):
        """The lines of the calls, None where nothing calls so."""
        lines = set(self.edges.get((caller, callee), ()))
        if callee.startswith("shape_"):
            lines |= self.edges.get((caller, "shape_*"), set())
        first, last = self.lines.get(caller, (0, -1))
        call = callee.rpartition(".")[2] + "("
        lines |= {n for n in range(first, last + 1) if call in self.text[n - 1].partition("  # ")[0] and n != first}
        return lines or None

    def without_c(self):
        """Calls of functions of C are those of what these call."""
        for a, via in [k for k in self.edges if k[1].startswith("ext_")]:
            for _, b in [k for k in self.edges if k[0] == via]:
                self.edges[a, b] |= self.edges[a, via]
        return self

    def belongs(self, caller, line, ran):
        """Whether a shape that ran is the one that a line is of: the next one below it, or the last one."""
        if caller in ("main", "<module>", "run"):
            return True
        at = [(n, m.group(1)) for n, m in ((n, re.match(r"def shape_(\w+)", t)) for n, t in enumerate(self.text, 1)) if m]
        ends = {name: self.lines[self.name("shape_" + name)][1] for _, name in at}
        return any(name in ran for _, name in at if line <= ends[name] and not any(line <= ends[other] < ends[name] for other in ends))

    def judge(self, tokens, is_cut):
        """Why a list of (name, line) from the outermost cannot be; None when it can. Then names of calls are right, and their lines."""
        first = tokens[0][0]
        second = tokens[1][0] if len(tokens) > 1 else None
        if not is_cut and first != "<module>" and not (first == "[library]" and ("[library]", second) in self.edges):
            return "begins with " + first
        for (caller, line), (callee, _) in zip(tokens, tokens[1:]):
            lines = self.calls(caller, callee)
            if lines is None and callee == "[library]" and caller in ("<module>", "main"):
                continue
            if lines is None:
                return "%s does not call %s" % (caller, callee)
            if line is not None and caller in self.lines and line not in lines:
                return "line %s of %s does not call %s, but %s" % (line, caller, callee, sorted(lines))
        leaf, line = tokens[-1]
        if leaf in self.lines and not self.lines[leaf][0] <= line <= self.lines[leaf][1]:
            return "line %s is not in %s" % (line, leaf)
        return None


def token(source, function, file, line):
    line = line or 0  # none: wrong
    if (file or "").endswith("/shapes.py"):
        return source.name(function), line
    if (file or "").startswith("<made ") or file == "<thread>":
        return "[made]", line
    return "[library]", line


class Stack:
    """frames: (kind, function, file, line) from the outermost."""

    def __init__(self, source, frames):
        self.frames = frames
        self.tokens = []
        self.is_cut = any(k == "marker" and f.startswith("[truncated") for k, f, _, _ in frames)
        self.is_whole = not self.is_cut and bool(STARTS.fullmatch(frames[0][1]))
        for kind, function, file, line in frames:
            if kind == "python":
                t = token(source, function, file, line)
                if t[0] != "[library]" or not self.tokens or self.tokens[-1][0] != "[library]":
                    self.tokens.append(t)
            elif kind == "native" and function.startswith("ext_"):
                self.tokens.append((function, None))
        self.python = [(f, line) for kind, f, _, line in frames if kind == "python"]
        self.names = {f for f, _ in self.python}
        self.why = source.judge(self.tokens, self.is_cut) if self.tokens else "no frame of Python"
        self.doubled = any(f.startswith("py::") for _, f, _, _ in frames)

    def __str__(self):
        return ";".join("%s:%s" % (f, line) if k == "python" else f for k, f, _, line in self.frames)


def read_faults(path, source):
    """The stacks, outermost first, as (name, line) each, and why they cannot be."""
    stacks, plain = [], Source(False).without_c()
    for dump in open(path, encoding="utf-8", errors="replace").read().split("Stack (")[1:-1]:
        tokens, names = [], []
        for file, line, name in reversed(re.findall(r'^  File "(.*)", line (\d+) in (.*)$', dump, re.M)):
            name = name.encode().decode("unicode_escape") if "\\" in name else name
            names.append((name, int(line)))
            t = token(plain, name, file, int(line))
            if t[0] != "[library]" or not tokens or tokens[-1][0] != "[library]":
                tokens.append(t)
        if tokens:
            stacks.append((tuple(names), plain.judge(tokens, len(names) >= FAULTS_DEPTH)))
    return stacks


class Report:
    def __init__(self):
        self.row = []

    def holds(self, what, condition, detail=""):
        print("%s %s%s" % ("ok" if condition else "not ok", what, " (%s)" % detail if detail else ""))

    def most(self, what, right, of, examples=(), least=20, unseen=0):
        share = right / of if of else 0
        self.holds(what, of >= least and share >= EVERYWHERE - unseen, "%d of %d" % (right, of))
        self.row.append("%.2f %%" % (100 * share))
        if share < 1:
            for why, n in collections.Counter(examples).most_common(6):
                print("# %d: %s" % (n, why))


class Recording:
    def __init__(self, source, truth, frames, samples):
        by_stack = collections.defaultdict(list)
        for stack, _, *frame in json.load(open(frames))["rows"]:
            by_stack[stack].append(frame)
        self.stacks = {k: Stack(source, v) for k, v in by_stack.items()}
        self.windows = collections.defaultdict(list)
        for name, tid, since, to in truth["shape"]:
            self.windows[int(tid)].append((float(since) * 1e9, float(to) * 1e9, name))
        self.samples = []  # (stack, type, tid, value, shape), while a shape was at work
        for stack, kind, tid, at, value in json.load(open(samples))["rows"]:
            shape = self.shape(tid, at)
            if shape and stack in self.stacks:
                self.samples.append((self.stacks[stack], kind, tid, value, shape))

    def shape(self, tid, at):
        return next((name for since, to, name in self.windows.get(tid, ()) if since + 2e6 < at < to - 2e6), None)

    def of(self, *kinds):
        return [s for s in self.samples if s[1] in kinds]


def read_truth(path):
    truth = collections.defaultdict(list)
    for line in open(path):
        word, *rest = line.split()
        truth[word].append(rest)
    return truth


def check_stacks(report, recording, source):
    busy = [s for s in recording.of("cpu") if s[4] != "deep"]
    with_python = [s for s in busy if s[0].python]
    report.row.append(str(len(busy)))
    report.most("stacks have frames of Python", len(with_python), len(busy), [str(s[0]) for s in busy if not s[0].python])
    report.most("stacks are what the program can be at, line by line", sum(not s[0].why for s in with_python), len(with_python),
                ["%s: %s" % (s[0].why, s[0]) for s in with_python if s[0].why])
    report.most("stacks are whole", sum(s[0].is_whole for s in busy), len(busy), [str(s[0])[:200] for s in busy if not s[0].is_whole])
    report.holds("nothing is there twice", not any(s[0].doubled for s in busy))
    seen = collections.Counter(pair for s in recording.samples for pair in
                               {(a[0], a[1], b[0]) for a, b in zip(s[0].tokens, s[0].tokens[1:])})
    ran = {s[4] for s in recording.samples}
    missing = [(a, n, b) for (a, b), lines in source.edges.items() for n in lines
               if "[library]" not in (a, b) and "*" not in b and b != "cpu_ns" and source.belongs(a, n, ran) and not seen_call(seen, a, n, b)]
    report.holds("every call is seen", not missing, "; ".join("%s:%d > %s" % m for m in missing) or "%d" % len(seen))


def seen_call(seen, caller, line, callee):
    return any(a == caller and b == callee and (n == line or n is None or caller[0] == "[") for a, n, b in seen)


def check_shares(report, recording, truth):
    told = {name: int(ns) for name, ns in truth["cpu"]}
    worst = None
    for group, shape in ((("hot_a", "hot_b"), "shares"), (("lets_go", "keeps"), "released")):
        if group[0] not in told:
            continue
        of = {g: sum(v for stack, _, _, v, s in recording.of("cpu") if s == shape and g in stack.names) for g in group}
        n = sum(of.values())
        share = told[group[0]] / sum(told[g] for g in group)
        off = of[group[0]] / n - share if n else 1
        # So few samples cannot know it to 3 points; the run beside faulthandler has enough.
        bound = SHARE_POINTS if n >= ENOUGH else max(SHARE_POINTS, 4 * (share * (1 - share) / max(n, 1)) ** 0.5)
        worst = max(abs(off), worst or 0)
        report.holds("share of %s" % group[0], n >= 100 and abs(off) <= bound, "%+.2f points, %d samples" % (off * 100, n))
    report.row.append("-" if worst is None else "%.1f" % (worst * 100))


def check_threads(report, recording, truth):
    own = {int(tid): name for tid, name in truth["thread"]}
    wrong = right = 0
    for stack, _, tid, _, _ in recording.of("cpu"):
        if tid in own:
            others = {n for n in stack.names if re.fullmatch(r"thread_\d+", n)}
            wrong += bool(others - {own[tid]})
            right += others == {own[tid]}
    if own:
        report.holds("each thread has its own function", wrong == 0 and right >= 10 * len(own), "%d right, %d wrong" % (right, wrong))


def check_odd_names(report, recording, source, ran):
    if "odd_names" not in ran:
        return
    seen = {f for s in recording.of("cpu") if s[4] == "odd_names" for k, f, file, _ in s[0].frames if k == "python" and
            file == "<made \"at\" run time 変数.py>"}
    report.holds("names nobody thinks of", seen == set(source.odd_names), repr(seen ^ set(source.odd_names)) if seen ^ set(source.odd_names) else "")


def check_deep(report, recording):
    deep = [s[0] for s in recording.of("cpu") if s[4] == "deep"]
    if deep:
        right = [sum(t[0] == "recurse" for t in s.tokens) == DEEP and s.is_whole and not s.why for s in deep]
        report.holds("all of %d calls are there, from _start on" % DEEP, len(deep) >= 20 and sum(right) >= len(deep) * EVERYWHERE,
                     "%d of %d" % (sum(right), len(deep)))


def check_naps(report, recording, truth):
    for name, ns in truth["slept"]:
        waits = [s for s in recording.of("off-cpu", "sched-wait") if s[4] == "naps" and s[2] in recording.windows]
        mine = [s for s in waits if name in s[0].names]
        got = sum(s[3] for s in mine)
        report.holds("waits have frames of Python", mine and all(not s[0].why for s in mine), "%d" % len(mine))
        report.holds("time in %s" % name, abs(got - int(ns)) <= SHARE_POINTS * int(ns) + 2e7, "%d of %d ms" % (got / 1e6, int(ns) / 1e6))


def check_faults(report, recording, path, source):
    """The interpreter's own view: its stacks are legal, ours are among them, and as often."""
    faults = read_faults(path, source)
    report.most("stacks of faulthandler can be, too", sum(not why for _, why in faults), len(faults), [why for _, why in faults if why])
    simple = [tuple((f.rpartition(".")[2], line) for f, line in s[0].python) for s in recording.of("cpu")
              if s[4] == "shares" and s[0].python]
    theirs = collections.Counter(stack for stack, _ in faults if any(f == "shape_shares" for f, _ in stack))
    ours = collections.Counter(simple)
    # A busy machine merges its signals. By Good and Turing, the share of stacks that so few have not met is that of those met once.
    written = sum(theirs.values())
    unseen = sum(n == 1 for n in theirs.values()) / written if 0 < written < len(simple) / 2 else 0
    print("# faulthandler wrote %d stacks" % written)
    report.most("stacks are those of faulthandler", sum(n for s, n in ours.items() if s in theirs), len(simple),
                [str(s[-3:]) for s in simple if s not in theirs], 100, unseen)
    n, m = len(simple), sum(theirs.values())
    off = {s: abs(ours[s] / n - theirs[s] / m) for s in theirs if n and m}
    worst = max(off, key=off.get, default=None)
    if worst:
        p = theirs[worst] / m
        bound = 0.01 + 4 * (p * (1 - p) * (1 / n + 1 / m)) ** 0.5
        report.holds("each as often", off[worst] <= bound, "%.1f points at %s" % (off[worst] * 100, worst[-1]))


def main():
    version, truth, frames, samples = sys.argv[1:5]
    source = Source(tuple(map(int, re.findall(r"\d+", version)[:2])) >= (3, 11))
    truth = read_truth(truth)
    recording = Recording(source, truth, frames, samples)
    report = Report()
    check_stacks(report, recording, source)
    check_shares(report, recording, truth)
    check_threads(report, recording, truth)
    check_odd_names(report, recording, source, {name for name, *_ in truth["shape"]})
    check_deep(report, recording)
    check_naps(report, recording, truth)
    if len(sys.argv) > 5:
        check_faults(report, recording, sys.argv[5], source)
    print("| " + " | ".join(report.row) + " |")


main()
