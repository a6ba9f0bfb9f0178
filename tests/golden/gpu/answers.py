#!/usr/bin/env python3
"""answers.py NVDISASM SASS_LINES [MNEMONICS] CUBIN…: writes CUBIN.txt beside each: what its instructions are, by programs that are not ours.

    sm 90
    text _Z5saxpyPfPKffi 1664
    symbol _ZN4deep5heavyEfi 768 640       a function within the text
    at /tmp/cresset-gpu/lines.cu:21        from here on; innermost first: "FILE:LINE FUNCTION, FILE:LINE"; FUNCTION only of inlined code
    0 LDC

Chains of lines and mnemonics: NVDISASM (12.5) -gi. It does not read files of CUDA 13, so their header is written in the older form; of sm_100 and
later it does not know the instructions, so they get NOPs and sm_90's number for this. Names of inlined functions: readelf
--debug-dump=rawline decodes the line program, and the row numbers in it are followed here. The innermost line, file and directory of every
instruction must also be what NVIDIA's library says (SASS_LINES, built from sass_lines.c with CUPTI 13). Any two that differ: no answer.
Mnemonics of sm_100 and later are those of MNEMONICS, a file "SM OPCODE NAME" that somebody made with nvdisasm 13.1; "?" where it has none."""
import os
import re
import struct
import subprocess
import sys
import tempfile

NOP = struct.pack("<QQ", 0x7918, 0x000FC00000000000)


class Elf:
    def __init__(self, path):
        self.data = d = bytearray(open(path, "rb").read())
        (offset,), (count,), (names,) = (struct.unpack_from(f, d, at) for f, at in (("<Q", 40), ("<H", 60), ("<H", 62)))
        self.sections = [list(struct.unpack_from("<IIQQQQIIQQ", d, offset + 64 * i)) for i in range(count)]
        base = self.sections[names][4]
        for s in self.sections:
            s[0] = self.string(base + s[0])
        flags = struct.unpack_from("<I", d, 48)[0]
        self.sm = flags >> 8 & 255 if d[8] >= 8 else flags & 255

    def string(self, at):
        return self.data[at:self.data.index(0, at)].decode()

    def find(self, name):
        return next((s for s in self.sections if s[0] == name), None)

    def texts(self):
        return [(i, s[0][6:], s[4], s[5]) for i, s in enumerate(self.sections) if s[0].startswith(".text.") and s[2] & 4]

    def symbols(self):
        table = self.find(".symtab")
        names = self.sections[table[6]][4]
        for at in range(table[4], table[4] + table[5], 24):
            name, info, other, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            yield self.string(names + name), info & 15, section, value, size


def disassembly(nvdisasm, elf):
    """{text: [(offset, mnemonic, chain, whether that was said here: not where only the outer lines differ from those before)]}"""
    d = bytearray(elf.data)
    if d[8] >= 8:
        sm = min(elf.sm, 90)
        d[7], d[8] = 0x33, 7
        struct.pack_into("<I", d, 48, sm << 16 | 0x500 | sm)
        for _, _, at, size in elf.texts() if elf.sm > 90 else []:
            d[at:at + size] = NOP * (size // 16)
    with tempfile.NamedTemporaryFile() as f:
        f.write(d)
        f.flush()
        out = subprocess.run([nvdisasm, "-gi", "-c", f.name], capture_output=True, text=True, check=True).stdout
    texts, chain, group, said = {}, (), [], False
    for line in out.splitlines():
        if m := re.match(r"\s*\.section\s+\.text\.([^,]+),", line):
            now, chain, group = texts.setdefault(m[1], []), (), []
        elif m := re.match(r'\s*//## File "(.*?)", line (\d+)( inlined at)?', line):
            group.append(f"{os.path.normpath(m[1])}:{m[2]}")
            if not m[3]:
                chain, group, said = tuple(group), [], True
        elif m := re.match(r"\s*/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", line):
            now.append((int(m[1], 16), m[2], chain, said))
            said = False
    return texts


def names(elf, path):
    """{(text, offset): (["FILE:LINE", …], [function, …])} of the rows of the line programs."""
    section, strings = elf.find(".debug_line"), elf.find(".debug_str")
    relocations = elf.find(".rela.debug_line") or elf.find(".rel.debug_line")
    target = {}
    symbols = list(elf.symbols())
    for at in range(relocations[4], relocations[4] + relocations[5], relocations[9]):
        offset, info = struct.unpack_from("<QQ", elf.data, at)
        addend, = struct.unpack_from("<q", elf.data, at + 16 if relocations[9] == 24 else section[4] + offset)
        name, _, index, value, _ = symbols[info >> 32]
        target[offset] = (elf.sections[index][0][6:], value + addend)
    raw = subprocess.run(["readelf", "--debug-dump=rawline", path], capture_output=True, text=True).stdout
    rows, out, at = [], {}, None
    for text in raw.splitlines():
        if re.match(r"\s+Offset:\s", text):
            directories, files = {}, {}
            rows, state = [], dict(file=1, line=1, context=0, name=0)
        if m := re.match(r"  (\d+)\t(\d+)\t\d+\t\d+\t(.*)", text):
            files[int(m[1])] = os.path.normpath(os.path.join(directories.get(int(m[2]), ""), m[3]))
        elif m := re.match(r"  (\d+)\t(.*)", text):
            directories[int(m[1])] = m[2]
        m = re.match(r"\s+\[0x([0-9a-f]+)\](?:\s+\[0x[0-9a-f]+\])*\s+(.*)", text)
        if not m:
            continue
        what, here = m[2], int(re.findall(r"\[0x([0-9a-f]+)\]", text)[-1], 16)
        emit = what.startswith("Copy") or what.startswith("Special")
        if "set Address to" in what:
            at = list(target[here + 3])
        if a := re.search(r"advance (?:Address|PC) by (\d+)", what, re.I):
            at[1] += int(a[1])
        if a := re.search(r"(?:Advance Line|and Line) by (-?\d+)", what):
            state["line"] += int(a[1])
        if a := re.search(r"Set File Name to entry (\d+)", what):
            state["file"] = int(a[1])
        if a := re.search(r"Extended opcode 144: .*\[ ?([0-9a-f ]+)\]", what):
            data = bytes.fromhex(a[1].replace(" ", ""))
            values, value, shift = [], 0, 0
            for byte in data:
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    values.append(value)
                    value = shift = 0
            state["context"], state["name"] = values
        if emit:
            rows.append(dict(state, where=f"{files[state['file']]}:{state['line']}"))
            out[tuple(at)] = (rows, len(rows))
        if "End of Sequence" in what:
            rows, state = [], dict(file=1, line=1, context=0, name=0)
    found = {}
    for place, (rows, number) in out.items():
        lines, functions = [], []
        while True:
            row = rows[number - 1]
            lines.append(row["where"])
            if not row["context"]:
                break
            functions.append(elf.string(strings[4] + row["name"]))
            number = row["context"]
        found[place] = (lines, functions)
    return found


def answer(nvdisasm, sass_lines, mnemonics, path):
    elf = Elf(path)
    listing, rows = disassembly(nvdisasm, elf), names(elf, path)
    asked = "".join(f"{name} {size}\n" for _, name, _, size in elf.texts())
    said = {}
    for line in subprocess.run([sass_lines, path], input=asked, capture_output=True, text=True, check=True).stdout.splitlines():
        text, at, number, file = line.split(" ", 3)
        said[text, int(at)] = (int(number), file)
    out = [f"sm {elf.sm}"]
    for index, text, start, size in elf.texts():
        out.append(f"text {text} {size}")
        for name, kind, section, value, length in sorted(elf.symbols(), key=lambda s: s[3]):
            if kind == 2 and section == index and name != text:
                out.append(f"symbol {name[name.index('$', 1) + 1:]} {value} {length}")
        before = functions = lines = None
        assert len(listing[text]) * 16 == size, text
        for at, name, chain, is_new in listing[text]:
            lines, functions = rows.get((text, at), (lines, functions))
            if chain[0] != lines[0] or (is_new and list(chain) != lines):
                sys.exit(f"{path}: {text}+{at}: {chain} and {lines}")
            number, file = said[text, at]
            if f"{file}:{number}" != lines[0]:
                sys.exit(f"{path}: {text}+{at}: {lines[0]}, but NVIDIA's library says {file}:{number}")
            shown = ", ".join(" ".join(pair) for pair in zip(lines, functions + [""])).strip()
            if shown != before:
                out.append(f"at {shown}")
            before = shown
            if elf.sm > 90:
                opcode = struct.unpack_from("<H", elf.data, start + at)[0] & 0xFFF
                name = mnemonics.get((elf.sm, opcode), "?")
            out.append(f"{at} {name}")
    with open(path + ".txt", "w") as f:
        f.write("\n".join(out) + "\n")
    print(os.path.basename(path), sum(s for _, _, _, s in elf.texts()) // 16, "instructions")


def main():
    nvdisasm, sass_lines, *rest = sys.argv[1:]
    mnemonics = {}
    for path in [p for p in rest if not p.endswith(".cubin")]:
        for line in open(path):
            sm, opcode, name = line.split()
            mnemonics[int(sm), int(opcode, 16)] = name
    for path in [p for p in rest if p.endswith(".cubin")]:
        answer(nvdisasm, sass_lines, mnemonics, path)


if __name__ == "__main__":
    main()
