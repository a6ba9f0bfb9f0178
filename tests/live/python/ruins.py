# ruins.py LIB WHAT SEED: has its own memory overwritten, and goes on in C: WHAT is what is not there any more. python_places.sh reads what
# the recorder makes of it.
import ctypes
import sys


def address_of(what):
    if what == "runtime":
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    if what == "thread":
        ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
        return ctypes.pythonapi.PyThreadState_Get()
    if what == "frame":
        return id(sys._getframe(1))
    return id(ruins.__code__)


def ruins(lib, what, seed):
    address = address_of(what)
    size = {"runtime": 200, "thread": 40, "frame": 20, "code": 24}[what]
    lib.ext_ruin(ctypes.c_void_p(address), size, seed, 150)


ruins(ctypes.PyDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
