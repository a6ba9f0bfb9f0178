#!/usr/bin/env python3
"""fatbin.py OUT ENTRY…: writes a fat binary as fatbinary of CUDA 13.0 does (src/gpu/fatbin.h), by nothing of the profiler: the packing is lz4's and zstd's own programs'.

ENTRY is PACKING:SM:FILE for a cubin in a container, ptx:PACKING:SM:FILE for PTX, and / for the next container. PACKING is plain, lz4 or zstd; cut-lz4 and cut-zstd are
packed and then spoiled; tail is plain, with a byte more that nobody reads. --broken as the last ENTRY: a container that says it is longer than the file.
With OUT a program, ELF:PROGRAM as the first ENTRY copies PROGRAM with a section .nv_fatbin."""
import struct
import subprocess
import sys
import tempfile

LZ4, ZSTD = 0x2000, 0x8000


def run(command, data):
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def lz4_block(data):
    """The block of a frame that has one: magic, flags, block size, checksum of these, length, block, end."""
    frame = run(["lz4", "-9", "-B7", "--no-frame-crc", "-c"], data)
    assert frame[:4] == b"\x04\x22\x4d\x18" and not frame[4] & 0x09, "no dictionary, no size of the content"
    (size,) = struct.unpack_from("<I", frame, 7)
    assert not size >> 31 and frame[11 + size :] == bytes(4), "one packed block"
    return frame[11 : 11 + size]


def pack(packing, data):
    """(bytes, flags): what cut-… has lost its second half's meaning."""
    if packing == "plain":
        return data, 0
    if packing == "tail":
        return data + bytes(8), 0
    kind = packing.removeprefix("cut-")
    packed = lz4_block(data) if kind == "lz4" else run(["zstd", "-19", "-c"], data)
    if packing != kind:
        packed = packed[: len(packed) // 2] + b"\xff" * (len(packed) - len(packed) // 2)
    return packed, LZ4 if kind == "lz4" else ZSTD


def entry(spec):
    words = spec.split(":")
    is_ptx = words[0] == "ptx"
    packing, sm, path = words[is_ptx:]
    data = open(path, "rb").read()
    packed, flags = pack(packing, data)
    padded = packed + bytes(-len(packed) % 8)
    options = struct.pack("<I", 0x48).ljust(16, b"\0") if is_ptx else b""
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        1 if is_ptx else 2,
        0x101,
        64 + len(options),
        len(padded),
        len(packed) if flags else 0,
        64 if is_ptx else 0,
        *((0, 9) if is_ptx else (8, 1)),
        int(sm),
        0,
        0,
        0x11 | flags,
        0,
        len(data) if flags else 0,
    )
    return head + options + padded


def container(entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


out, specs = sys.argv[1], sys.argv[2:]
program = specs.pop(0)[4:] if specs and specs[0].startswith("ELF:") else None
data, entries = b"", []
for spec in specs:
    if spec == "--broken":
        data += container(entries) if entries else b""
        entries = []
        data += struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 40)
    elif spec == "/":
        data += container(entries)
        entries = []
    else:
        entries.append(entry(spec))
if entries:
    data += container(entries)
if not program:
    open(out, "wb").write(data)
else:
    with tempfile.NamedTemporaryFile() as section:
        section.write(data)
        section.flush()
        flags = "--set-section-flags=.nv_fatbin=readonly,data"
        subprocess.run(["objcopy", f"--add-section=.nv_fatbin={section.name}", flags, program, out], check=True)
