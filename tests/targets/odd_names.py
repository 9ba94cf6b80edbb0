"""Maps files whose names would break a reader of /proc/PID/maps: odd_names.py FOLDER LENGTH

The longest has a path of at least LENGTH bytes, which no system call takes as a whole. Its own truth (truth.py) is as
ever.
"""
import mmap
import os
import sys

import truth
from truth import write

NAMES = ["line\nbreak", "a\n00400000-00500000 r-xp 00000000 fe:00 1 python3.12", "tab\tand space ", "\\012", "\\",
         "x (deleted)", " (deleted)", "[heap]", "\x1b[31mred", "libpython3.99.so.1.0", "python3.99", "\x7f\x01",
         "\"quote'", "-", "\u202eright", "n\u00e4me", "n" * 255]
keep = []


def map_file(name):
    """As a loader would: it can be run, and is no program."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"\x7fELF" + b"\xff" * 8188)
    keep.append(mmap.mmap(descriptor, 8192, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
    os.close(descriptor)


def as_bytes(name):
    return name if isinstance(name, bytes) else name.encode("utf-8")


def main():
    folder, length = sys.argv[1], int(sys.argv[2])
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    for name in NAMES:
        map_file(as_bytes(name))
    map_file(b"not \xff\xfe text")
    used = len(folder)
    while used < length:
        name = "d\n" * 100
        os.mkdir(name)
        os.chdir(name)
        used += len(name) + 1
        map_file("libpython3.so")
    os.fchdir(before)  # where a core belongs
    write(*truth.here()), truth.rest()


main()
