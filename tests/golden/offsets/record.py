"""Prints the running interpreter's own description of itself (_Py_DebugOffsets) in hex, 32 bytes a line.

python3.15 tests/golden/offsets/record.py > tests/golden/offsets/3.15.hex
"""

import ctypes
import sys

SIZES = {13: 584, 14: 760, 15: 888}


def table():
    size = SIZES.get(sys.version_info.minor, 1024)
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")), size)


if __name__ == "__main__":
    data = table()
    print("#", "Python", sys.version.split()[0])
    for start in range(0, len(data), 32):
        print(data[start : start + 32].hex())
