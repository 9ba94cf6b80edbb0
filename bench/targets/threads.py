"""threads.py COUNT sleeping|computing: COUNT threads, ten calls deep, asleep; or all but the main one, which computes."""

import sys
import threading
import time


def nap_for_bench():
    while True:
        time.sleep(3600)


def compute_for_bench():
    n = 0
    while True:
        n = (n + 1) & 0xFFFF


def descend(depth, work):
    if depth:
        descend(depth - 1, work)
    else:
        work()


def main():
    count, kind = int(sys.argv[1]), sys.argv[2]
    threading.stack_size(256 * 1024)
    for _ in range(count - 1):
        threading.Thread(target=descend, args=(8, nap_for_bench), daemon=True).start()
    print("ready", flush=True)
    descend(8, compute_for_bench if kind == "computing" else nap_for_bench)


main()
