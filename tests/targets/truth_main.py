"""Situations that belong to the main thread, or that happen only once in a process. One argument: which."""
import atexit
import functools
import gc
import os
import signal
import sys
import threading
import weakref

import truth
from truth import write


def importing():
    import truth_import  # noqa: F401  (stays inside)


def importing_by_name():
    import importlib

    importlib.import_module("truth_import")


def signal_handler():
    def handler(number, frame):
        write(*truth.here()), truth.rest()

    signal.signal(signal.SIGUSR1, handler)
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(1000):
        pass


class Garbage(object):
    def __init__(self):
        self.me = self

    def __del__(self):
        write(*truth.here()), truth.rest()


def collected():
    Garbage()
    gc.collect()


def collected_unasked():
    """The collector starts by itself, wherever an object happens to be made."""
    gc.set_threshold(50)
    Garbage()
    keep = []
    while True:
        keep.append([keep])


def deleted():
    thing = Garbage()
    thing.me = None
    del thing


def weak_callback():
    def gone(reference):
        write(*truth.here()), truth.rest()

    thing = Garbage.__new__(Garbage)
    Garbage.__del__ = lambda self: None
    reference = weakref.ref(thing, gone)
    del thing
    return reference


def trace_function():
    def tracer(frame, event, argument):
        sys.settrace(None)
        write(*truth.here()), truth.rest()

    def traced():
        return 1

    sys.settrace(tracer)
    traced()


def profile_function():
    def profiler(frame, event, argument):
        sys.setprofile(None)
        write(*truth.here()), truth.rest()

    sys.setprofile(profiler)
    len("")


def error_hook():
    def hook(*details):
        write(*truth.here()), truth.rest()

    sys.excepthook = hook
    raise ValueError("nobody catches this")


def at_exit():
    def last():
        write(*truth.here()), truth.rest()

    atexit.register(last)
    sys.exit(0)


def deep_in_main(depth=100000):
    """Pure Python calls need no C stack from 3.11 on."""
    sys.setrecursionlimit(depth + 1000)

    def down(left):
        if left:
            down(left - 1)
        else:
            write(*truth.here()), truth.rest()

    down(depth)


def deep_in_thread(depth=100000):
    """Before 3.11 each call needs half a kilobyte of C stack, which a thread can be given."""
    sys.setrecursionlimit(depth + 1000)
    threading.stack_size(1 << 30)
    truth.start(functools.partial(deep_in_main, depth), "deep")
    truth.wait_for(1)
    write(*truth.here()), truth.rest()


def callbacks_nested(depth=60):
    """C and Python take turns."""

    def down(left):
        if left:
            return sorted([left], key=lambda value: list(map(down, [value - 1])))
        write(*truth.here()), truth.rest()

    down(depth)


def greenlets():
    import greenlet

    def first():
        second_greenlet.switch()

    def second():
        inner()

    def inner():
        write(*truth.here()), truth.rest()

    second_greenlet = greenlet.greenlet(second)
    greenlet.greenlet(first).switch()


if __name__ == "__main__":
    if sys.argv[1:] == ["module_level"]:
        write(*truth.here()), truth.rest()
    globals()[sys.argv[1]]()
