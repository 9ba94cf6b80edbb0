"""Receives queued real-time signals, whose values come in order or the kernel's promise was broken. Prints them."""
import ctypes
import json
import os
import signal
import sys
import struct

import ages

libc = ctypes.CDLL(None, use_errno=True)
SIG_BLOCK = 0
VALUE = 24  # offset of si_value in siginfo_t on 64-bit Linux
handled = []


def receive(count):
    wanted = ctypes.create_string_buffer(128)
    libc.sigemptyset(wanted)
    libc.sigaddset(wanted, signal.SIGRTMIN + 1)
    info = ctypes.create_string_buffer(128)
    values = []
    while len(values) < count:
        if libc.sigwaitinfo(wanted, info) > 0:
            values.append(struct.unpack("=I", info.raw[VALUE:VALUE + 4])[0])
    return values


def work():
    number = 0
    while True:
        number = (number * 31 + 7) % 1000003


if __name__ == "__main__":
    blocked = ctypes.create_string_buffer(128)
    libc.sigemptyset(blocked)
    libc.sigaddset(blocked, signal.SIGRTMIN + 1)
    libc.pthread_sigmask(SIG_BLOCK, blocked, None)
    signal.signal(signal.SIGRTMIN + 2, lambda number, frame: handled.append(number))
    ages.daemon(work)
    ages.say("ready")
    values = receive(int(sys.argv[1]))
    ages.say(json.dumps({"values": values, "handled": len(handled), "pid": os.getpid()}))
