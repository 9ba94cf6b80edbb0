"""toil.py one|threads|interpreters|deep: computes in the main thread, and in 12 threads, or two interpreters with GILs of
their own (3.12 and later), beside; or in one thread, below DEPTH calls, alone; until it is killed. An interpreter tells by
a line that it has begun.
"""
import sys
import threading

import ages

DEPTH = 60000

TOIL = "def leaf(n):\n    return sum(i * i for i in range(n))\ndef toil():\n    while True:\n        leaf(200)\n"
exec(TOIL)


def run_interpreter():
    try:
        import _interpreters as inside
    except ImportError:
        import _xxsubinterpreters as inside
    inside.run_string(inside.create(), TOIL + "print('began', flush=True)\ntoil()\n")


def descend(depth):
    if depth:
        descend(depth - 1)
    ages.say("ready")
    toil()  # noqa: F821


def main(shape):
    if shape == "deep":
        sys.setrecursionlimit(10 * DEPTH)
        threading.stack_size(256 << 20)
        ages.daemon(descend, (DEPTH,)).join()
    for _ in range({"one": 0, "threads": 12, "interpreters": 2}[shape]):
        ages.daemon(run_interpreter if shape == "interpreters" else toil)  # noqa: F821
    ages.say("ready")
    toil()  # noqa: F821


main(sys.argv[1])
