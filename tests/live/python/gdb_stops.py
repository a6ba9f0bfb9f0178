"""In gdb: runs its program, stops it again and again at whatever instruction it is, and asks gdb's own extension for Python each time.

    STOPS_EXTENSION=FILE STOPS_OUT=FILE gdb -nx -batch -x gdb_stops.py --args PROGRAM ARG…

Writes a JSON line for each stop: [Unix time in ns, thread, what py-bt says]."""
import json
import os
import random
import signal
import threading
import time

import gdb


def settings():
    for line in ("displaced-stepping off", "auto-load off", "startup-with-shell off", "pagination off", "debuginfod enabled off", "host-charset UTF-8"):
        try:
            gdb.execute("set " + line, to_string=True)
        except gdb.error:  # another gdb's
            pass
    gdb.execute("handle SIGINT stop print nopass", to_string=True)


def begin():
    """To where the program has loaded what it needs, its extension in C last."""
    gdb.execute("tcatch load /python_ext", to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("source " + os.environ["STOPS_EXTENSION"])


def stopped():
    thread = gdb.selected_thread()
    return thread is not None and thread.is_valid()


def stop_soon():
    pid = gdb.selected_inferior().pid
    timer = threading.Timer(random.uniform(0.005, 0.03), lambda: os.kill(pid, signal.SIGINT))
    timer.daemon = True
    timer.start()
    gdb.execute("continue", to_string=True)
    timer.cancel()


def main():
    settings()
    begin()
    with open(os.environ["STOPS_OUT"], "w") as out:
        while True:
            stop_soon()
            if not stopped():
                break
            at = time.time_ns()
            out.write(json.dumps([at, gdb.selected_thread().ptid[1], gdb.execute("py-bt", to_string=True)]) + "\n")


main()
