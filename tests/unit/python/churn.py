# Functions that come and go all the time, each called what its file is called, from the line that its number says; in several threads.
import os
import sys
import threading

LINES = 50
TEXT = "def f_%d(x):\n    for i in range(20):\n        x = x + len(str(i))\n    return x\nf_%d(1)\n"


def work(first):
    n = first
    while True:
        n += 10
        exec(compile("\n" * (n % LINES) + TEXT % (n, n), "f_%d.py" % n, "exec"), {})


for first in range(3):
    thread = threading.Thread(target=work, args=(first,))
    thread.daemon = True
    thread.start()
os.write(1, b"E\n")
os.read(0, 1)
