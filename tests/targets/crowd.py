"""crowd.py COUNT: one thread computes, and answers each line of its input meanwhile; all others, COUNT in all, wait for a
lock that nobody lets go. Ends with its input."""
import select
import sys
import threading

import ages

lock = threading.Lock()


def wait_in_vain():
    lock.acquire()


def compute(n):
    return n if n < 2 else compute(n - 1) + compute(n - 2)


def main(count):
    threading.stack_size(256 * 1024)
    lock.acquire()
    for _ in range(count - 1):
        ages.daemon(wait_in_vain)
    ages.say("ready")
    while True:
        compute(16)
        if select.select([sys.stdin], [], [], 0)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            ages.say("answer " + line.strip())


main(int(sys.argv[1]))
