"""Threads that sit in system calls, called through C, where nobody hides that one was interrupted.

    sitting.py [busy]       busy: one more thread computes

Prints their ids as JSON and "ready" before they get there; "waits" is a thread that waits for a lock. At the end of its
input, which the main thread waits for in such a call too, it says as JSON how each call ended; null is one that has not.
"""
import ctypes
import json
import os
import select
import sys
import threading
import time

import ages

libc = ctypes.CDLL(None, use_errno=True)
reader, writer = os.pipe()
tids, ends = {}, {}


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("parts", ctypes.c_long)]


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def sleeps():
    return libc.nanosleep, ctypes.byref(Timespec(100000, 0)), None


def selects():
    return libc.select, 0, None, None, None, ctypes.byref(Timespec(100000, 0))


def polls():
    return libc.poll, ctypes.byref(PollFd(reader, select.POLLIN, 0)), ctypes.c_ulong(1), -1


def epolls():
    poll = select.epoll()
    poll.register(reader, select.EPOLLIN)
    epolls.keep = poll
    return libc.epoll_wait, poll.fileno(), ctypes.create_string_buffer(64), 1, -1


def reads():
    return libc.read, reader, ctypes.create_string_buffer(1), ctypes.c_size_t(1)


def sit(name, make):
    arguments = make()
    tids[name] = ages.native_id()
    result = arguments[0](*arguments[1:])
    ends[name] = [result, ctypes.get_errno()]


def waits(lock):
    tids["waits"] = ages.native_id()
    lock.acquire()


def works():
    while True:
        for _ in range(1000):
            pass


if __name__ == "__main__":
    sitters = {function.__name__: function for function in (sleeps, selects, polls, epolls, reads)}
    lock = threading.Lock()
    lock.acquire()
    ages.daemon(waits, (lock,))
    for name, make in sitters.items():
        ages.daemon(sit, (name, make))
    while len(tids) < len(sitters) + 1:
        time.sleep(0.001)
    tids["main"] = ages.native_id()
    if "busy" in sys.argv:
        ages.daemon(works)
    print(json.dumps(tids))
    ages.say("ready")
    room = ctypes.create_string_buffer(1)
    result = libc.read(0, room, ctypes.c_size_t(1))
    ends["main"] = [result, ctypes.get_errno()]
    ages.say(json.dumps({name: ends.get(name) for name in list(sitters) + ["main"]}))
    os._exit(0)
