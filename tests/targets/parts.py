"""parts.py: computes in three functions, one after the other, then sleeps, and tells how much CPU time each of them had.

What it tells lies in a shared file, the path of which it prints first: doubles, the seconds of CPU time in part_long,
part_middle and part_short so far, written at the end of each cycle.
"""

import mmap
import struct
import sys
import tempfile
import time

cpu_clock = getattr(time, "process_time", None) or time.clock


def part_long(until):
    while cpu_clock() < until:
        pass


def part_middle(until):
    while cpu_clock() < until:
        pass


def part_short(until):
    while cpu_clock() < until:
        pass


PARTS = [(part_long, 0.0012), (part_middle, 0.0007), (part_short, 0.0003)]


def main():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\0" * mmap.PAGESIZE)
        file.flush()
        told = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        print(file.name)
        print("ready")
        sys.stdout.flush()
        sums = [0.0] * len(PARTS)
        while True:
            for i, (part, seconds) in enumerate(PARTS):
                begin = cpu_clock()
                part(begin + seconds)
                sums[i] += cpu_clock() - begin
            told[:24] = struct.pack("ddd", *sums)
            time.sleep(0.002)


main()
