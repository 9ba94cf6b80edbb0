"""The collector calls a finalizer, and that works on and on without giving the GIL away."""
import gc
import os
import sys


class Garbage:
    def __init__(self):
        self.me = self

    def __del__(self):
        os.write(1, b"ready\n")
        while True:
            pass


sys.setswitchinterval(1000)
Garbage()
gc.collect()
