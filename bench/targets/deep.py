"""deep.py FILE THREADS sleeping|computing: THREADS threads, each 30 frames deep. All sleep, or the main one counts as
fast as it can and keeps the number in the first eight bytes of FILE."""

import mmap
import sys
import threading
import time

DEPTH = 30


def rest(page):
    while True:
        time.sleep(3600)


def count(page):
    number = 0
    while True:
        for _ in range(1000):
            pass
        number += 1000
        page[0:8] = number.to_bytes(8, "little")


def descend(depth, work, page):
    if depth:
        descend(depth - 1, work, page)
    else:
        work(page)


def main():
    with open(sys.argv[1], "r+b") as file:
        page = mmap.mmap(file.fileno(), 4096)
    threading.stack_size(256 * 1024)
    for _ in range(int(sys.argv[2]) - 1):  # under the two frames of threading's own
        threading.Thread(target=descend, args=(DEPTH - 4, rest, page), daemon=True).start()
    print("ready", flush=True)
    descend(DEPTH - 4, count if sys.argv[3] == "computing" else rest, page)  # <module> and main are above


main()
