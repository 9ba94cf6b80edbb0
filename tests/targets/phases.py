"""phases.py KIND WORK_MS REST_MS: goes from work to rest and back, and tells by its own clock how long each took.

What it tells lies in a shared file, the path of which it prints first: doubles, the seconds of work and of rest so far
of all its threads, and of CPU time in work and in rest, written at the end of each cycle. KIND is how it works:

plain     Python code that looks at the clock
calls     Python code that calls and returns as fast as it can
holds     one call into C after the other, with the GIL in hand
releases  the same without the GIL
syscalls  short system calls
hands     two threads that hand the GIL to each other; rest is waiting for one's turn, and CPU time is not told
"""

import hashlib
import mmap
import os
import struct
import sys
import tempfile
import threading
import time

import ages

clock = getattr(time, "perf_counter", time.time)  # 2.7 has no better one
cpu_clock = getattr(time, "process_time", None) or time.clock
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


def work_hands(until):
    while clock() < until:
        for n in range(20):
            outer(n)


def rest(seconds):
    time.sleep(seconds)


def await_turn(turn):
    turn.acquire()


def go_on(work, busy, idle, told):
    worked = rested = worked_cpu = rested_cpu = 0.0
    begin, begin_cpu = clock(), cpu_clock()
    while True:
        work(begin + busy)
        middle, middle_cpu = clock(), cpu_clock()
        if idle:
            rest(idle)
        end, end_cpu = clock(), cpu_clock()
        worked += middle - begin
        rested += end - middle
        worked_cpu += middle_cpu - begin_cpu
        rested_cpu += end_cpu - middle_cpu
        begin, begin_cpu = end, end_cpu
        told[:32] = struct.pack("dddd", worked, rested, worked_cpu, rested_cpu)


def take_turns(busy, told):
    """Each thread works while the other one waits for its turn."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]
    spent = [0.0, 0.0]
    first = clock()

    def turn(number):
        while True:
            await_turn(turns[number])
            begin = clock()
            work_hands(begin + busy)
            end = clock()
            spent[number] += end - begin
            told[:32] = struct.pack("dddd", sum(spent), 2 * (end - first) - sum(spent), 0.0, 0.0)
            turns[1 - number].release()

    ages.daemon(turn, args=(1,))
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
