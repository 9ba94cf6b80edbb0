"""Receives queued real-time signals, whose values come in order or the kernel's promise was broken. Prints them."""
import ctypes
import json
import os
import signal
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
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
            values.append(int.from_bytes(info.raw[VALUE:VALUE + 4], sys.byteorder))
    return values


def work():
    number = 0
    while True:
        number = (number * 31 + 7) % 1000003


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 1])
    signal.signal(signal.SIGRTMIN + 2, lambda number, frame: handled.append(number))
    threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    values = receive(int(sys.argv[1]))
    print(json.dumps({"values": values, "handled": len(handled), "pid": os.getpid()}), flush=True)
