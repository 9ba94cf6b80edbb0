"""brief_threads.py LONG BRIEF: one thread after the other, each of which computes for some seconds of its CPU time.

They run long_life and brief_life in turn. What it tells lies in a shared file, the path of which it prints first:
doubles, the seconds that passed in long_life and in brief_life so far, then the seconds of CPU time.
"""

import mmap
import struct
import sys
import tempfile
import threading
import time

sums = [0.0, 0.0, 0.0, 0.0]


def spin(until):
    while time.thread_time() < until:
        pass


def live(place, seconds):
    passed, used = time.perf_counter(), time.thread_time()
    spin(used + seconds)
    sums[place] += time.perf_counter() - passed
    sums[place + 2] += time.thread_time() - used


def long_life(seconds):
    live(0, seconds)


def brief_life(seconds):
    live(1, seconds)


def main():
    lives = list(zip((long_life, brief_life), map(float, sys.argv[1:3])))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\0" * mmap.PAGESIZE)
        file.flush()
        told = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        print(file.name)
        print("ready")
        sys.stdout.flush()
        while True:
            for life, seconds in lives:
                thread = threading.Thread(target=life, args=(seconds,))
                thread.start()
                thread.join()
            told[:32] = struct.pack("dddd", *sums)


main()
