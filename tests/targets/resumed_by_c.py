"""Generators that C calls: nothing of Python is below them. One waits, one computes."""
import _thread
import time


def waits():
    time.sleep(3600)
    yield


def computes():
    i = 0
    while True:
        i += 1
        if i < 0:
            yield


kept = [waits(), computes()]
for generator in kept:
    _thread.start_new_thread(generator.__next__, ())
print("ready", flush=True)
time.sleep(3600)
