"""count.py FILE THREADS: counts as fast as it can and keeps the number in the first eight bytes of FILE."""

import mmap
import sys
import threading
import time


def rest():
    while True:
        time.sleep(3600)


def count(page):
    number = 0
    while True:
        for _ in range(1000):
            pass
        number += 1000
        page[0:8] = number.to_bytes(8, "little")


def main():
    with open(sys.argv[1], "r+b") as file:
        page = mmap.mmap(file.fileno(), 4096)
    for _ in range(int(sys.argv[2]) - 1):
        threading.Thread(target=rest, daemon=True).start()
    print("ready", flush=True)
    count(page)


main()
