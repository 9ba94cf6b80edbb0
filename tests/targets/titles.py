"""Computes, and calls itself by another title with each line that it is given, as setproctitle does: the kernel shows what lies where the
command line was."""

import ctypes
import sys
import threading

with open("/proc/self/stat", "rb") as stat:
    begin, end = map(int, stat.read().rpartition(b")")[2].split()[45:47])  # fields 48 and 49


def spin():
    while True:
        sum(range(1000))


threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    text = line.strip().encode()[:end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)
    print(line.strip(), flush=True)
