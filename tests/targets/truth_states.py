"""Threads in known states, one for each way to wait. The main thread works and never gives the GIL away.

ages.never_switch() makes a thread that wants the GIL wait for longer than any test takes, so the one that finds it
taken stays there.
"""
import json
import os
import select
import subprocess
import sys
import threading
import time

import ages

pipe_reader, pipe_writer = os.pipe()
poll = select.epoll()
poll.register(pipe_reader, select.EPOLLIN)
compute = ages.computation()
lock = threading.Lock()
lock.acquire()
# The child ends with us: it reads from a pipe that only we hold open.
child = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)


def sleeps():
    time.sleep(100000)


def reads():
    os.read(pipe_reader, 1)


def locked():
    lock.acquire()


def selects():
    select.select([pipe_reader], [], [])


def polls():
    poll.poll()


def waits_for_child():
    os.waitpid(child.pid, 0)


def works_without_gil():
    compute()


def wants_gil():
    while True:
        time.sleep(0.01)


def works():
    while True:
        pass


if __name__ == "__main__":
    # Nobody loses the GIL from here on: a thread that has said who it is comes to its blocking call before anybody else runs.
    ages.never_switch()
    natives = {}
    for function in (sleeps, reads, locked, selects, polls, waits_for_child, works_without_gil, wants_gil):
        def body(function=function):
            natives[function.__name__] = ages.native_id()
            function()
        ages.daemon(body, name=function.__name__)
    while len(natives) < 8:
        time.sleep(0.001)
    natives["works"] = ages.native_id()
    threading.current_thread().name = "works"
    os.write(1, (json.dumps(natives) + "\nready\n").encode())
    works()
