# Threads that stand still at known places, and what the interpreter itself says of their stacks: then waits until its input ends.
#
#     P pid                    of the process that is to be looked at
#     T id frames              one thread; its frames, innermost first:
#     F name file line         names in hex
#     U id frames              the same of another interpreter: its state may be of the thread that made it
#     E                        the end
#
# argv[1]: "fork": a child shows itself.
import os
import sys
import threading
import time

ready, gate = [], threading.Lock()
gate.acquire()
LOST, _ = os.pipe()  # nothing ever comes


def stand_still():
    ready.append(1); gate.acquire()


def deep(n):
    if n:
        deep(n - 1)
    else:
        stand_still()


def in_sort():
    sorted([3, 1, 2], key=lambda x: stand_still())


def in_generator():
    def inner():
        yield 1
        stand_still()
        yield 2

    def outer():
        yield from inner()

    for _ in outer():
        pass


def in_exception():
    try:
        raise ValueError
    except ValueError:
        try:
            1 / 0
        except ZeroDivisionError:
            stand_still()


def in_coroutine():
    import asyncio

    async def leaf():
        stand_still()

    async def task():
        await leaf()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(task())


class Made:
    def __init__(self, wait):
        self.x = [i for i in range(3)]
        if wait:
            stand_still()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        deep(3)

    @property
    def value(self):
        return in_closure()

    def __getattr__(self, name):
        return deep(2)

    def __call__(self, *args, **kwargs):
        return self.value


def in_init():
    for i in range(2000):  # long enough that the call is made the quick way
        Made(i == 1999)


def in_exit():
    with Made(False):
        pass


def in_call():
    Made(False)(1, *[2], **{"a": 3})


def in_getattr():
    return Made(False).missing


def in_comprehension():
    return [stand_still() for _ in range(1)]


def in_closure():
    x = 1

    def änder例():
        return x + stand_still()

    return änder例()


def in_exec():
    exec(compile("def made():\n\n    stand_still()\nmade()", "made \"here\".py", "exec"), globals())


def in_sleep():
    ready.append(1); time.sleep(100000)


def in_import():
    import importlib.util
    return map(lambda f: f(), [lambda: max([1], key=lambda x: stand_still())]).__next__()


def in_ctypes():
    import ctypes

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def back():
        stand_still()
        return 0
    return back()


def in_eval():
    return eval("stand_still()")


def in_del():
    class Gone:
        def __del__(self):
            deep(1)
    Gone()


def shown(frame):
    frames = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append("F %s %s %d" % (name.encode("utf-8").hex(), code.co_filename.encode("utf-8").hex(), frame.f_lineno))
        frame = frame.f_back
    return frames


def show(all_frames):
    lines = ["P %d" % os.getpid()]
    for thread, frame in all_frames.items():
        frames = shown(frame)
        # What is called here is gone when it is looked at.
        lines.append("\n".join(["T %d %d" % (thread, len(frames))] + frames))
    os.write(1, ("\n".join(lines + [""])).encode())


SUB = """
import os, sys, _thread
f = sys._getframe().f_code
def wait():
    c = sys._getframe().f_code
    text = "U %d 2\\nF %s %s %d\\nF %s %s %d\\n" % (_thread.get_ident(),
        getattr(c, "co_qualname", c.co_name).encode().hex(), c.co_filename.encode().hex(), 8,
        f.co_name.encode().hex(), f.co_filename.encode().hex(), 9); os.write(1, text.encode()); os.write(READY, b"x"); os.read(LOST, 1)
wait()
"""


# An interpreter of its own, in a thread of its own.
def in_sub_interpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return None
    told, tell = os.pipe()
    text = SUB.replace("LOST", str(LOST)).replace("READY", str(tell))
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    try:
        # One that may start threads of its own, and shares nothing else.
        sub = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create()
    except Exception:
        return None

    def run_there():
        run(sub, text)
    return run_there, told


def start(target):
    thread = threading.Thread(target=target)
    thread.daemon = True
    thread.start()


WORK = [in_sort, in_generator, in_exception, in_init, in_exit, in_call, in_getattr, in_comprehension, in_closure, in_exec, in_sleep,
        in_import, in_eval, in_del, lambda: deep(400)]
for name, work in [("asyncio", in_coroutine), ("ctypes", in_ctypes)]:
    try:
        __import__(name)
        WORK.append(work)
    except ImportError:
        pass


def main():
    sub = in_sub_interpreter()
    if sub:
        start(sub[0])
        os.read(sub[1], 1)
    for work in WORK:
        start(work)
    while len(ready) < len(WORK):
        time.sleep(0.01)
    time.sleep(0.2)  # from `ready` on it is one call to where they stand still
    show(sys._current_frames()); os.write(1, b"E\n"); os.read(0, 1)


def in_child():
    start(in_sort)
    while not ready:
        time.sleep(0.01)
    if os.fork():
        os.read(0, 1)
        return
    show(sys._current_frames()); os.write(1, b"E\n"); os.read(0, 1)


if len(sys.argv) > 1:
    in_child()
else:
    main()
