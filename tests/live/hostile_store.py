#!/usr/bin/env python3
"""Speaks for the store process of `cresset up`, as one that was taken over would: hostile_store.py PID stream|control SECONDS

It takes the process's own end of a socket (pidfd_getfd) and says more and more over it: asks for files, or that it is ready."""
import ctypes
import os
import socket
import struct
import sys
import time

SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438
WIRE_WANT, CONTROL_READY = 6, 4  # agent/wire.h
KIND = {"stream": socket.SOCK_STREAM, "control": socket.SOCK_SEQPACKET}


def end_of(pid, kind):
    libc = ctypes.CDLL(None, use_errno=True)
    process = libc.syscall(SYS_PIDFD_OPEN, pid, 0)
    for fd in sorted(int(f) for f in os.listdir(f"/proc/{pid}/fd")):
        mine = libc.syscall(SYS_PIDFD_GETFD, process, fd, 0)
        if mine < 0:
            continue
        try:
            s = socket.socket(fileno=mine)
            if s.family == socket.AF_UNIX and s.type & 0xF == KIND[kind] and not s.getsockname():
                return s
            s.detach()
        except OSError:
            pass
        os.close(mine)
    sys.exit(f"process {pid} has no {kind}")


def main():
    pid, kind, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    want = struct.pack("=IIQII", WIRE_WANT, 16, 1, 0, 0)
    message = want * 8 if kind == "stream" else bytes([CONTROL_READY])
    s, sent, end = end_of(pid, kind), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            # Whole messages only: the other side takes what is broken for the end.
            s.sendall(message)
            sent += 1
        except OSError:
            break
    print(sent)


main()
