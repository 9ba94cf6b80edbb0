"""Generators that C calls: nothing of Python is below them. One waits, one computes."""
import functools
import time

import ages


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
    ages.start_new_thread(functools.partial(next, generator), ())
ages.say("ready")
time.sleep(3600)
