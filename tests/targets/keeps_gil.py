"""Two threads: one sleeps with the GIL in hand, again and again, the other one computes in between."""

import ctypes

import ages


def keeps():
    usleep = ctypes.PyDLL(None).usleep
    while True:
        usleep(100000)


def computes():
    while True:
        sum(range(100))


ages.daemon(keeps, name="keeps")
ages.say("ready")
computes()
