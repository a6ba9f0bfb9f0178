# python_work.py rounds LOOPS: for each line of input, a fixed amount of work some ten calls deep, and the CPU time that it took in ns.
# python_work.py deep FRAMES: works below that many frames, until it is ended.
# python_work.py threads BUSY: four threads that wake ten times a second for next to nothing; if BUSY, one of them works all the time.
import sys
import threading
import time


def leaf(n):
    x = 0
    for i in range(n):
        x = (x * 3 + i) & 0xFFFF
    return x


def node(depth, n):
    return leaf(n) if depth == 0 else node(depth - 1, n) + len([k for k in range(3)])


def work(loops):
    words = {}
    for i in range(loops):
        words[i & 255] = node(8, 60)
    return words


def rounds(loops):
    for _ in sys.stdin:
        since = time.thread_time_ns()
        work(loops)
        print(time.thread_time_ns() - since, flush=True)


def deep(frames):
    if frames > 1:
        deep(frames - 1)
    while True:
        leaf(100000)


def wakes():
    while True:
        node(8, 60)
        time.sleep(0.1)


def threads(is_busy):
    for _ in range(3):
        threading.Thread(target=wakes, daemon=True).start()
    while is_busy:
        work(1000)
    wakes()


if sys.argv[1] == "rounds":
    rounds(int(sys.argv[2]))
elif sys.argv[1] == "threads":
    threads(sys.argv[2] == "1")
else:
    deep(int(sys.argv[2]) - 2)  # the module and the leaf are frames, too
