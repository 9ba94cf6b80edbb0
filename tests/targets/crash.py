"""Dies in a chosen way: the stacks that it had then are those of `die` and what called it."""
import os
import signal
import sys
import threading
import time

import ages


def die():
    how = sys.argv[1].split("-")[0]
    if how == "segv":
        import ctypes
        ctypes.c_int.from_address(0).value
    elif how == "abort":
        os.abort()
    elif how == "native":  # a thread that Python does not know, and that ends us all
        import ctypes
        thread = ctypes.c_ulong()
        libc = ctypes.CDLL(None)
        libc.pthread_create(ctypes.byref(thread), None, libc.abort, None)
        time.sleep(100000)
    else:
        time.sleep(100000)


def wait():
    ages.say("ready")
    time.sleep(100000)


def main():
    if sys.argv[1].endswith("thread"):
        ages.daemon(lambda: (start.wait(), die()), name="doomed")
        start.set()
        time.sleep(100000)
    else:
        ages.daemon(time.sleep, args=(100000,), name="bystander")
        if sys.argv[1] == "sleep":
            wait()
        die()


start = threading.Event()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
main()
