"""phases.py KIND WORK_MS REST_MS: goes from work to rest and back, and tells by its own clock how long each took.

What it tells lies in a shared file, the path of which it prints first: doubles, the seconds of work and of rest so far,
written at the end of each phase. KIND is how it works:

plain     Python code that looks at the clock
calls     Python code that calls and returns as fast as it can
holds     one call into C after the other, with the GIL in hand
releases  the same without the GIL
syscalls  short system calls
hands     two threads that take turns with the GIL; rest is waiting for the other one
"""

import hashlib
import mmap
import os
import struct
import sys
import tempfile
import threading
import time

clock = getattr(time, "perf_counter", time.time)  # 2.7 has no better one
NUMBERS = list(range(2000))
BLOCK = b"\0" * (1 << 16)


def inner(n):
    return n + 1


def outer(n):
    return inner(n) + 1


def work_plain(until):
    while clock() < until:
        pass


def work_calls(until):
    while clock() < until:
        for n in range(20):
            outer(n)


def work_holds(until):
    while clock() < until:
        sum(NUMBERS)


def work_releases(until):
    while clock() < until:
        hashlib.sha256(BLOCK)


def work_syscalls(until):
    with open("/dev/zero", "rb", 0) as zero:
        while clock() < until:
            zero.read(256)


def rest(seconds):
    time.sleep(seconds)


def go_on(work, busy, idle, told):
    worked = rested = 0.0
    begin = clock()
    while True:
        work(begin + busy)
        middle = clock()
        if idle:
            rest(idle)
        end = clock()
        worked += middle - begin
        rested += end - middle
        begin = end
        told[:16] = struct.pack("dd", worked, rested)


def take_turns(busy, told):
    """Each thread works while the other one waits for its turn."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]
    spent = [0.0, 0.0]

    def turn(number):
        while True:
            turns[number].acquire()
            begin = clock()
            work_calls(begin + busy)
            spent[number] += clock() - begin
            told[:16] = struct.pack("dd", *spent)
            turns[1 - number].release()

    threading.Thread(target=turn, args=(1,), daemon=True).start()
    turn(0)


def main():
    kind, busy, idle = sys.argv[1], float(sys.argv[2]) / 1e3, float(sys.argv[3]) / 1e3
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\0" * mmap.PAGESIZE)
        file.flush()
        told = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        print(file.name)
        print("ready")
        sys.stdout.flush()
        if kind == "hands":
            take_turns(busy, told)
        else:
            go_on(globals()["work_" + kind], busy, idle, told)


main()
