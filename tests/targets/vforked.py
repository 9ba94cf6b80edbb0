"""A child that works in our memory for a while (vfork), while a thread calls and returns. argv[1]: the C library."""
import ctypes
import sys

import ages


def leaf_left():
    pass


def leaf_right():
    pass


def left():
    leaf_left()


def right():
    leaf_right()


def runner():
    while True:
        left()
        right()


ages.daemon(runner)
ages.say("ready")
ctypes.CDLL(sys.argv[1]).live_in_memory_of_parent()
