"""A thread that blocks in C with the GIL in its hand, one that computes without it, and one that wants it.

truth_holder.py main|thread: who of the first two is the main thread. It writes who is who, and from the moment that the
holder sleeps nothing changes any more.
"""
import ctypes
import json
import os
import sys
import threading
import time

import ages

pipe_reader, pipe_writer = os.pipe()
natives = {}
compute = ages.computation()


def holds():
    while len(natives) < 3:
        time.sleep(0.001)
    os.write(1, (json.dumps(natives) + "\nready\n").encode())
    ctypes.PyDLL(None).read(pipe_reader, ctypes.create_string_buffer(1), ctypes.c_size_t(1))


def works_without_gil():
    compute()


def wants_gil():
    while True:
        time.sleep(0.01)


def body(function):
    threading.current_thread().name = function.__name__
    natives[function.__name__] = ages.native_id()
    function()


if __name__ == "__main__":
    # Who has said who it is comes to its blocking call before anybody else runs; who waits for the GIL stays asleep.
    ages.never_switch()
    first, other = (holds, works_without_gil) if sys.argv[1] == "main" else (works_without_gil, holds)
    for function in (other, wants_gil):
        ages.daemon(body, (function,))
    body(first)
