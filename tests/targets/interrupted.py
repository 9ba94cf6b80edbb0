"""System calls made through C, where nobody hides that one was interrupted. Until its input ends, then JSON:
for each kind how many calls, and how many of them failed with EINTR or otherwise."""
import ctypes
import errno
import json
import os
import select
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
stop = threading.Event()
counts = {}


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def count(name, make):
    call = make()
    mine = counts.setdefault(name, {"calls": 0, "interrupted": 0, "failed": 0})
    while not stop.is_set():
        result = call()
        mine["calls"] += 1
        if result < 0:
            mine["interrupted" if ctypes.get_errno() == errno.EINTR else "failed"] += 1


def sleeps():
    pause = Timespec(0, 3000000)
    return lambda: libc.nanosleep(ctypes.byref(pause), None)


def polls():
    reader, _ = os.pipe()
    entry = PollFd(reader, select.POLLIN, 0)
    return lambda: libc.poll(ctypes.byref(entry), ctypes.c_ulong(1), 3)


def selects():
    def call():
        limit = Timespec(0, 3000)  # microseconds here
        return libc.select(0, None, None, None, ctypes.byref(limit))

    return call


def epolls():
    poll = select.epoll()
    reader, _ = os.pipe()
    poll.register(reader, select.EPOLLIN)
    room = ctypes.create_string_buffer(64)
    epolls.keep = poll, reader
    return lambda: libc.epoll_wait(poll.fileno(), room, 1, 3)


def reads():
    reader, writer = os.pipe()
    room = ctypes.create_string_buffer(1)

    def feed():
        while not stop.wait(0.003):
            os.write(writer, b"x")
        os.write(writer, b"x" * 100)

    threading.Thread(target=feed, daemon=True).start()
    return lambda: libc.read(reader, room, ctypes.c_size_t(1))


def works():
    number = [0]

    def call():
        for number[0] in range(1000):
            pass
        return 0

    return call


if __name__ == "__main__":
    threads = [threading.Thread(target=count, args=(function.__name__, function))
               for function in (sleeps, polls, selects, epolls, reads, works)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(counts), flush=True)
