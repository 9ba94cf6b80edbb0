"""The collector calls a finalizer, and that works on and on without giving the GIL away."""
import gc
import os
import sys
import weakref

import ages


class Garbage(object):
    def __init__(self):
        self.me = self


def __del__(self):
    os.write(1, b"ready\n")
    while True:
        pass


ages.never_switch()
if sys.version_info >= (3, 4):
    Garbage.__del__ = __del__
    Garbage()
else:  # what has a finalizer is not collected there, but whoever waits for its end is told
    reference = weakref.ref(Garbage(), __del__)
gc.collect()
