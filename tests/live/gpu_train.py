"""gpu_train.py N: a program in Python that launches kernels through ctypes: train() N times, infer() half as often."""
import ctypes
import sys
import time

runtime = ctypes.CDLL("libcudart.so.13")


class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


launch = runtime.cudaLaunchKernel
launch.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
one = Dim(1, 1, 1)
kernel = ctypes.create_string_buffer(b"saxpy")
register = runtime["__cudaRegisterFunction"]
register(None, kernel, None, kernel, 0, None, None, None, None, None)


def step():
    launch(ctypes.addressof(kernel), one, one, None, 0, None)


def train(n):
    for _ in range(n):
        step()


def infer(n):
    for _ in range(n):
        step()


def warm():
    step()


def main():
    for _ in range(3):
        warm()
        time.sleep(0.4)
    train(int(sys.argv[1]))
    infer(int(sys.argv[1]) // 2)
    time.sleep(0.3)  # names are read from the memory of the process


main()
