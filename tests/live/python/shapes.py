# shapes.py SHAPE… --seconds S --lib build/live/python_ext [--faults FILE]: Python programs of known structure, for 3.6 and newer. Each SHAPE
# works for S seconds of CPU time, one after another, or all of them. With --faults a timer's signal has faulthandler write the
# thread's stack, at whatever instruction it is. What is true is printed, a line each:
#
#     version 3.11.2          of the interpreter
#     shape NAME TID FROM TO  who did it and when, Unix time in s
#     cpu FUNCTION NS         what its own clock says a function used, with all it calls
#     slept FUNCTION NS       how long it waited, by the clock on the wall
#     thread TID FUNCTION     a thread and the only function below its target
#
# python_check.py reads this file, too: "# caller > callee" after a call says that this is the line of that call, and frames that follow each
# other in a stack have to be one of these pairs. [library] is any code of other files, [made] any that was made here at run time, ext_… is C.
import argparse
import asyncio
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
import types

clock = time.CLOCK_THREAD_CPUTIME_ID
truth = {}


def cpu_ns():
    return int(time.clock_gettime(clock) * 1e9)


def tid():
    return libc.syscall(186)


def tell(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # whole lines, also of many threads


def count(name, since):
    truth[name] = truth.get(name, 0) + cpu_ns() - since


# --- shares: three fifths of the time in hot_a, two fifths in hot_b ---
def hot_a(n):
    x = 0
    for i in range(n):
        x = (x * 3 + i) & 0xFFFF
    return x


def hot_b(n):
    x = 1
    while n > 0:
        x = (x * 5 + n) & 0xFFFF
        n -= 1
    return x


def middle(n):
    since = cpu_ns()
    hot_a(n * 3)  # middle > hot_a
    count("hot_a", since)
    since = cpu_ns()
    hot_b(n * 2)  # middle > hot_b
    count("hot_b", since)


def outer(n):
    middle(n)  # outer > middle


def shape_shares(until):
    n = 0
    while cpu_ns() < until:
        n = (n * 5 + 3) % 8192  # no period that comes near the samples'
        outer(3000 + n)  # shape_shares > outer


# --- methods, closures, decorators: qualified names ---
class Engine:
    class Part:
        def turn(self, n):
            return sum_up(n)  # Engine.Part.turn > sum_up

    @staticmethod
    def fixed(n):
        return sum_up(n)  # Engine.fixed > sum_up

    @property
    def power(self):
        return sum_up(4000)  # Engine.power > sum_up


def sum_up(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


def wraps(function):
    def inside(n):
        return function(n)  # wraps.<locals>.inside > decorated

    return inside


@wraps
def decorated(n):
    return (lambda m: sum_up(m))(n)  # decorated > decorated.<locals>.<lambda>; decorated.<locals>.<lambda> > sum_up


def shape_names(until):
    engine, part = Engine(), Engine.Part()
    while cpu_ns() < until:
        part.turn(4000)  # shape_names > Engine.Part.turn
        engine.fixed(4000)  # shape_names > Engine.fixed
        engine.power  # shape_names > Engine.power
        decorated(4000)  # shape_names > wraps.<locals>.inside


# --- exceptions: work while one is on its way ---
def raises(n):
    try:
        sum_up(n)  # raises > sum_up
        raise ValueError(n)
    finally:
        sum_up(n)  # raises > sum_up


def shape_exceptions(until):
    while cpu_ns() < until:
        try:
            raises(3000)  # shape_exceptions > raises
        except ValueError:
            sum_up(3000)  # shape_exceptions > sum_up


# --- recursion ---
def recurse(depth, until):
    if depth > 1:
        recurse(depth - 1, until)  # recurse > recurse
    else:
        while cpu_ns() < until:
            sum_up(1000)  # recurse > sum_up


def shape_recursion(until):
    recurse(60, until)  # shape_recursion > recurse


def shape_deep(until):
    recurse(500, until)  # shape_deep > recurse


# --- generators: their frames live on the heap ---
def numbers(n):
    for i in range(n):
        sum_up(500)  # numbers > sum_up
        yield i


def doubled(n):
    for i in numbers(n):  # doubled > numbers
        yield i * 2


def delegates(n):
    yield from doubled(n)  # delegates > doubled


def shape_generators(until):
    while cpu_ns() < until:
        for _ in delegates(5):  # shape_generators > delegates
            pass
        sum(x for x in numbers(5))  # shape_generators > shape_generators.<locals>.<genexpr>; shape_generators.<locals>.<genexpr> > numbers


# --- asyncio: the coroutines that are on the thread's stack, below the loop ---
async def leaf(n):
    sum_up(n)  # leaf > sum_up
    await asyncio.sleep(0)  # leaf > [library]


async def task_a(until):
    while cpu_ns() < until:
        await leaf(3000)  # task_a > leaf


async def task_b(until):
    while cpu_ns() < until:
        await leaf(1000)  # task_b > leaf


async def both(until):
    await asyncio.gather(task_a(until), task_b(until))  # [library] > task_a; [library] > task_b; both > [library]


def shape_asyncio(until):
    loop = asyncio.new_event_loop()  # shape_asyncio > [library]
    loop.run_until_complete(both(until))  # shape_asyncio > [library]; [library] > both
    loop.close()  # shape_asyncio > [library]


# --- C between Python: a key of sorted, and functions in C that call back ---
def key(x):
    return sum_up(300 + x)  # key > sum_up


def by_sorted():
    return sorted(range(20), key=key)  # by_sorted > key


def called_back(n):
    sum_up(n)  # called_back > sum_up
    return 0


def by_ctypes(callback):
    ext.ext_ctypes(callback, 20)  # by_ctypes > ext_ctypes; ext_ctypes > called_back


def by_extension():
    ext_held.ext_held(called_three)  # by_extension > ext_held; ext_held > called_three


def called_three():
    sum_up(2000)  # called_three > sum_up


def shape_native(until):
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(called_back)  # shape_native > [library]
    while cpu_ns() < until:
        by_sorted()  # shape_native > by_sorted
        by_ctypes(callback)  # shape_native > by_ctypes
        by_extension()  # shape_native > by_extension


# --- C that has let go of the GIL, and works ---
def lets_go():
    since = cpu_ns()
    ext.ext_spin(20)  # lets_go > ext_spin
    count("lets_go", since)


def keeps():
    since = cpu_ns()
    sum_up(100000)  # keeps > sum_up
    count("keeps", since)


def shape_released(until):
    while cpu_ns() < until:
        lets_go()  # shape_released > lets_go
        keeps()  # shape_released > keeps


# --- code made at run time, with the names nobody thinks of ---
made = """def {name}(n):
    x = 0
    for i in range(n):
        x += i
    return x
"""


def renamed(function, name):
    code = function.__code__
    if sys.version_info >= (3, 11):
        code = code.replace(co_name=name, co_qualname=name)
    elif sys.version_info >= (3, 8):
        code = code.replace(co_name=name)
    else:
        c = code
        code = types.CodeType(
            c.co_argcount, c.co_kwonlyargcount, c.co_nlocals, c.co_stacksize, c.co_flags, c.co_code, c.co_consts, c.co_names,
            c.co_varnames, c.co_filename, name, c.co_firstlineno, c.co_lnotab)
    return types.FunctionType(code, function.__globals__)


odd_names = ["größe", "Ωmega_変数", "a \"quoted\" 'name'; with\ttab", "hot \U0001F525 <b>", "l" + "o" * 250 + "ng"]


def shape_odd_names(until):
    functions = []
    for name in odd_names:
        space = {}
        exec(compile(made.format(name="plain"), "<made \"at\" run time 変数.py>", "exec"), space)
        functions.append(renamed(space["plain"], name))
    while cpu_ns() < until:
        for f in functions:
            f(4000)  # shape_odd_names > [made]


# --- many threads, each with a function of its own ---
def thread_body(i, until):
    space = {"sum_up": sum_up, "cpu_ns": cpu_ns}
    source = "def thread_{0}(until):\n    while cpu_ns() < until:\n        sum_up(2000)\n".format(i)
    exec(compile(source, "<thread>", "exec"), space)
    since = time.time()
    space["thread_%d" % i](cpu_ns() + until)  # thread_body > [made]; [made] > sum_up; [made] > cpu_ns
    tell("shape", "threads", tid(), since, time.time())
    tell("thread", tid(), "thread_%d" % i)


def shape_threads(until):
    share = (until - cpu_ns()) // 8
    threads = [threading.Thread(target=thread_body, args=(i, share)) for i in range(8)]  # [library] > thread_body
    for t in threads:
        t.start()  # shape_threads > [library]
    for t in threads:
        t.join()  # shape_threads > [library]


# --- a child without exec: same addresses, other threads ---
def in_child(until):
    since = time.time()
    while cpu_ns() < until:
        sum_up(2000)  # in_child > sum_up
    tell("shape", "fork", tid(), since, time.time())


def child_thread(n):
    in_child(cpu_ns() + n)  # child_thread > in_child


def shape_fork(until):
    n = (until - cpu_ns()) // 2
    pid = os.fork()
    if pid == 0:
        in_child(cpu_ns() + n)  # shape_fork > in_child
        t = threading.Thread(target=child_thread, args=(n,))  # shape_fork > [library]; [library] > child_thread
        t.start()  # shape_fork > [library]
        t.join()  # shape_fork > [library]
        os._exit(0)
    os.waitpid(pid, 0)


# --- waits ---
def nap():
    since = time.time()
    time.sleep(0.02)  # nap ! sleep
    truth["nap"] = truth.get("nap", 0) + int((time.time() - since) * 1e9)


def naps():
    nap()  # naps > nap


def shape_naps(until):
    end = time.time() + (until - cpu_ns()) / 1e9
    while time.time() < end:
        naps()  # shape_naps > naps


shapes = {name[6:]: f for name, f in list(globals().items()) if name.startswith("shape_")}
slept = {"nap"}


def run(shape, seconds):
    since = time.time()
    shapes[shape](cpu_ns() + int(seconds * 1e9))  # run > shape_*
    tell("shape", shape, tid(), since, time.time())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("shapes", nargs="*")
    options.add_argument("--seconds", type=float, default=0.5)
    options.add_argument("--lib", required=True)
    options.add_argument("--faults", type=argparse.FileType("w"))
    options = options.parse_args()
    global ext, ext_held
    ext, ext_held = ctypes.CDLL(options.lib), ctypes.PyDLL(options.lib)
    ext_held.ext_held.argtypes = [ctypes.py_object]
    if options.faults:
        faulthandler.register(signal.SIGPROF, file=options.faults, all_threads=False)
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    tell("version", sys.version.split()[0])
    for shape in options.shapes or list(shapes):
        run(shape, options.seconds)  # main > run
    signal.setitimer(signal.ITIMER_PROF, 0)
    for name, ns in truth.items():
        tell("slept" if name in slept else "cpu", name, ns)


libc = ctypes.CDLL(None)
if __name__ == "__main__":
    main()  # <module> > main
