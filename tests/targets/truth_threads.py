# -*- coding: utf-8 -*-
"""Threads of all kinds and names. Each stands in its own function."""
import ctypes
import sys
import threading

import ages
import truth
from truth import write


def stand():
    write(*truth.here()), truth.rest()


def known_to_threading():
    """A foreign thread that asks threading about itself becomes a dummy there."""
    threading.current_thread()
    stand()


def foreign(function):
    """A thread that C made and that calls into Python: PyGILState_Ensure gives it a thread state."""
    pthread_create = ctypes.CDLL(None).pthread_create
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

    def body(argument):
        function()

    callback = kind(body)
    foreign.keep.append(callback)
    thread = ctypes.c_ulong()
    if pthread_create(ctypes.byref(thread), None, callback, None):
        raise SystemExit("pthread_create failed")


foreign.keep = []


class Crowded(threading.Thread):
    """Its attributes do not fit where an ordinary object keeps them."""

    def __init__(self, name):
        threading.Thread.__init__(self, name=name)
        self.daemon = True
        for number in range(200):
            setattr(self, "attribute%d" % number, number)

    def run(self):
        stand()


class Slotted(threading.Thread):
    __slots__ = ("one", "two")

    def run(self):
        stand()


def named():
    for name in ("plain", "", "with space, \"quotes\" and \\", "Müller", "线程", "\U0001f40d\U0001f986", "\x1b[31mred\n",
                 "x" * 10000, "蛇" * 10000):
        truth.start(stand, name)
    truth.start(stand)  # named by threading itself
    renamed = truth.start(stand, "old name")
    Crowded("crowded").start()
    slotted = Slotted(name="slotted")
    slotted.daemon = True
    slotted.start()
    seen = truth.start(stand, "dict was looked at")
    seen.__dict__["more"] = 1
    removed = threading.Thread(target=stand, name="first")
    removed.daemon = True
    attribute = "_name" if hasattr(removed, "_name") else "_Thread__name"
    delattr(removed, attribute)
    setattr(removed, attribute, "set again")
    removed.start()
    truth.wait_for(15)
    renamed.name = "new name"
    threading.current_thread().name = "the first thread"


def churned():
    """Threads that came and went leave holes in threading's table."""
    for number in range(100):
        truth.start(int, "gone %d" % number).join()
    kept = [truth.start(stand, "kept %d" % number) for number in range(25)]
    for number in range(100):
        truth.start(int, "gone again %d" % number).join()
    kept += [truth.start(stand, "kept late %d" % number) for number in range(25)]
    truth.wait_for(50)


def strange():
    foreign(stand)
    foreign(known_to_threading)
    ages.start_new_thread(stand, ())
    ages.start_new_thread(known_to_threading, ())
    truth.start(stand, "not a daemon", daemon=False)
    truth.wait_for(5)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    write(*truth.here()), truth.rest()
