# Many code objects, kept in memory, and what the interpreter itself says of each: then waits until its input ends.
#
#     C address name file first_line bytes begins      one code object; names in hex; begins: the first instruction of a complete frame
#     L offset line offset line …                      from which instruction on which line; 0: none
#     E                                                the end
import dis
import os
import sys

MOST = 20  # files of the library

ODD = [
    'def plain():\n    return 1\n',
    'def \u00e4\u00f6\u00fc\u00df(): pass\n',
    'def \u4f8b\u3048(): pass\n',
    'def \U00020000(): pass\n',
    'class A:\n    class B:\n        def m(self):\n            return [x for x in (lambda: 1,)]\n',
    'def gen():\n    yield 1\n    try:\n        yield 2\n    finally:\n        yield 3\n',
    'async def co():\n    async with a as b:\n        await b\n',
    'def closure():\n    x = 1\n    def inner():\n        return x\n    return inner\n',
    'def far():' + '\n' * 400 + '    return (1 +\n' + '\n' * 200 + '            f())\n',
    'def back():\n    return f(\n        a,\n\n\n        b\n    ) + g(\n        1)\n',
    'x = 1\n' * 500,
    'def long_body():\n' + '    x = y.z(1, 2)\n' * 300,
    'def ' + 'n' * 1000000 + '(): pass\n',
    'def loop():\n    for i in a:\n        if i: continue\n        while b:\n            break\n    else:\n        c\n',
    'with a as b, c as d:\n    try:\n        raise E from f\n    except (G, H) as e:\n        pass\n',
]


def sources():
    for i, text in enumerate(ODD):
        yield "odd \"%d\" \u00e9\u4f8b.py" % i, text
    library = os.path.dirname(os.__file__)
    n = 0
    for name in sorted(os.listdir(library)):
        if not name.endswith(".py") or n == MOST:
            continue
        n += 1
        with open(os.path.join(library, name), "rb") as f:
            yield os.path.join(library, name), f.read()


def codes(code):
    wanted = [code]
    while wanted:
        code = wanted.pop()
        yield code
        wanted.extend(c for c in code.co_consts if hasattr(c, "co_code"))


# The line of every instruction, as { offset: line } where it changes.
def lines(code):
    if hasattr(code, "co_positions"):
        return [(i * 2, p[0] or 0) for i, p in enumerate(code.co_positions())]
    if hasattr(code, "co_lines"):
        return [(start, line or 0) for start, end, line in code.co_lines() if end > start]
    return list(dis.findlinestarts(code))


# At the RESUME with number 4 of Python 3.15 a generator expression only takes its iterator: it starts at the next one.
def begins(code):
    if "RESUME" not in dis.opmap:
        return 0
    all_of_it = code.co_code
    at = [i for i in range(0, len(all_of_it), 2) if all_of_it[i] == dis.opmap["RESUME"] and all_of_it[i + 1] != 4]
    return at[0] if at else len(all_of_it)


def show(code):
    name = getattr(code, "co_qualname", code.co_name)
    print("C", id(code), name.encode("utf-8").hex(), code.co_filename.encode("utf-8").hex(), code.co_firstlineno,
          len(code.co_code), begins(code))
    last, parts = None, ["L"]
    for offset, line in lines(code):
        if line != last:
            parts.append("%d %d" % (offset, line))
        last = line
    print(" ".join(parts))


kept = []
for name, text in sources():
    try:
        top = compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        continue
    for code in codes(top):
        kept.append(code)
        show(code)
print("E")
sys.stdout.flush()
os.read(0, 1)
