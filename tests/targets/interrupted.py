"""System calls made through C, where nobody hides that one was interrupted or cut short. Until its input ends, then
JSON: for each kind how many calls, how many of them failed with EINTR or otherwise, and how many moved less than they were
asked to.

    interrupted.py [KIND...]        each in a thread of its own; without any: those that wait, and works
"""
import ctypes
import errno
import json
import os
import select
import socket
import subprocess
import sys
import threading

import ages

libc = ctypes.CDLL(None, use_errno=True)
stop = threading.Event()
counts = {}
void = os.open("/dev/null", os.O_WRONLY)
making = threading.Lock()  # in 2.7 two programs that are started at the same time have each other's pipes, and wait for ever
SIZES = {"writes": 8 << 20, "zeros": 8 << 20, "sends": 4 << 20, "randoms": 1 << 20}  # moved by each call


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def count(name, make):
    with making:
        call = make()
    mine = counts.setdefault(name, {"calls": 0, "interrupted": 0, "failed": 0, "short": 0})
    while not mine["calls"] or not stop.is_set():
        result = call()
        mine["calls"] += 1
        if result < 0:
            mine["interrupted" if ctypes.get_errno() == errno.EINTR else "failed"] += 1
        elif result < SIZES.get(name, 0):
            mine["short"] += 1


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

    ages.daemon(feed)
    return lambda: libc.read(reader, room, ctypes.c_size_t(1))


def swallow(end):
    """Somebody who reads all that comes out of it; a program of its own, which nobody looks at."""
    subprocess.Popen(["cat"], stdin=end, stdout=void)
    os.close(end)


def room_for(name):
    return ctypes.create_string_buffer(SIZES[name]), ctypes.c_size_t(SIZES[name])


def writes():
    reader, writer = os.pipe()
    swallow(reader)
    room, size = room_for("writes")
    return lambda: libc.write(writer, room, size)


def zeros():
    device = os.open("/dev/zero", os.O_RDONLY)
    room, size = room_for("zeros")
    return lambda: libc.read(device, room, size)


def sends():
    one, other = (os.dup(end.fileno()) for end in socket.socketpair())
    swallow(other)
    room, size = room_for("sends")
    return lambda: libc.send(one, room, size, 0)


def randoms():
    room, size = room_for("randoms")
    return lambda: libc.getrandom(room, size, 0)


def works():
    number = [0]

    def call():
        for number[0] in range(1000):
            pass
        return 0

    return call


if __name__ == "__main__":
    kinds = sys.argv[1:] or ["sleeps", "polls", "selects", "epolls", "reads", "works"]
    threads = [threading.Thread(target=count, args=(kind, globals()[kind])) for kind in kinds]
    for thread in threads:
        thread.start()
    ages.say("ready")
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    ages.say(json.dumps(counts))
