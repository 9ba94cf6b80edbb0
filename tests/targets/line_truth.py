"""Compiles files of this Python's standard library and prints, for each code object, what Python says of its lines:

    FIRST TABLE LINExCOUNT,LINExCOUNT,...

TABLE is the line table in hex ("-" if empty), then the line of each instruction in units of two bytes, 0 for none.

line_truth.py FILES: that many files, spread evenly (0: all of them).
"""

import binascii
import ctypes
import itertools
import os
import sys
import warnings

# What the compiler makes of unusual text: lines far apart, lines going backwards, very long lines and functions.
ODD = [
    "def f(a):\n" + "\n" * 5000 + "    return a\n" + "\n" * 300 + "x = f(1)\n",
    "x = (\n" + "\n" * 400 + "  1 +\n" + "\n" * 200 + "y)\n",
    "def f():\n" + "".join("    x%d = %d; y = x%d\n" % (i, i * 1000, i) for i in range(1000)),
    "def f(x):\n    with x as a, \\\n       x as b:\n        try:\n            a(\n b,\n\n a)\n        finally:\n            b()\n",
    "def f(x):\n    for i in x:\n        try:\n            if i: continue\n            break\n        except E as e:\n"
    "            raise\n        else:\n            pass\n    else:\n        return [j\n  for j in\n\n x if j]\n",
    "x = [" + "f(a)(b)[c], " * 800 + "]\n",
    "async def f(x):\n    async with x:\n        async for i in x:\n            yield await i\n",
    "@a\n@b(\n 1)\nclass C(D,\n  metaclass=M):\n    'doc'\n    @p\n    def m(self): pass\n    n: int = 3\n",
]


def lines_of(code):
    """The line of each unit, as Python itself looks it up."""
    units = len(code.co_code) // 2
    if hasattr(code, "co_lines"):
        found = [0] * units
        for start, end, line in code.co_lines():
            for unit in range(start // 2, end // 2):
                found[unit] = line or 0
        return found
    return [ADDR2LINE(code, 2 * unit) for unit in range(units)]


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            for inner in codes(constant):
                yield inner


def show(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    runs = ["%dx%d" % (line, len(list(same))) for line, same in itertools.groupby(lines_of(code))]
    sys.stdout.write("%d %s %s\n" % (code.co_firstlineno, binascii.hexlify(table).decode() or "-", ",".join(runs)))


def sources(count):
    root = os.path.dirname(os.__file__)
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
                   if name.endswith(".py") and "site-packages" not in folder and "dist-packages" not in folder)
    step = max(len(files) // count, 1) if count else 1
    for source in ODD:
        yield source
    for path in files[::step]:
        with open(path, "rb") as file:
            yield file.read()


def main():
    warnings.simplefilter("ignore")
    for source in sources(int(sys.argv[1])):
        try:
            compiled = compile(source, "source", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, UnicodeError, RuntimeError, MemoryError):
            continue  # some files of the test suite are wrong on purpose
        for code in codes(compiled):
            show(code)


if __name__ == "__main__":
    ADDR2LINE = ctypes.pythonapi.PyCode_Addr2Line
    ADDR2LINE.argtypes = [ctypes.py_object, ctypes.c_int]
    main()
