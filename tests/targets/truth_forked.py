"""A child that C forked: nothing told Python of it, so its thread state still says what was true of its parent.

truth_forked.py rests|works: what the child does, after it has said who it is.
"""
import ctypes
import json
import os
import signal
import sys

import truth
from truth import write

PR_SET_PDEATHSIG = 1
libc = ctypes.PyDLL(None)  # with the GIL in hand, as C code that forks has it


def rests():
    write(*truth.here()), truth.rest()


def works():
    first = sys._getframe().f_lineno
    write(1, (json.dumps({"native": os.getpid(), "lines": [first + 1, first + 5]}) + "\nready\n").encode())
    number = 0
    while True:
        number = max(number + 1, 0)
        number = min(number - 1, 5)


if __name__ == "__main__":
    parent = os.getpid()
    if libc.fork() == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            globals()[sys.argv[1]]()
        os._exit(1)
    os.wait()
