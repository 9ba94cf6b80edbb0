"""A program with a page that never comes: it lies behind a userfaultfd that nobody serves, and the list of threads leads there.

Says "ready", or "refused: " and the reason where this kernel does not allow it, and sleeps until it is killed. With "later" the
list of threads leads there only after SIGUSR1, which it says with "gone"; SIGTERM ends it with exit code 7.
"""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
import time

USERFAULTFD = {"x86_64": 323, "aarch64": 282}
UFFDIO_API = 0xC018AA3F
UFFDIO_REGISTER = 0xC020AA00
API = 0xAA
MODE_MISSING = 1
SIZE = 1 << 16


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def userfaultfd():
    libc = ctypes.CDLL(None, use_errno=True)
    number = USERFAULTFD.get(os.uname().machine)
    if number is None:
        raise OSError("the number of the system call is not known for " + os.uname().machine)
    fd = libc.syscall(number, os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "userfaultfd: " + os.strerror(ctypes.get_errno()))
    fcntl.ioctl(fd, UFFDIO_API, bytearray(struct.pack("<QQQ", API, 0, 0)))
    return fd


def nap(seconds):
    while True:
        time.sleep(seconds)


try:
    fd = userfaultfd()
    memory = mmap.mmap(-1, SIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(fd, UFFDIO_REGISTER, bytearray(struct.pack("<QQQQ", address, SIZE, MODE_MISSING, 0)))
except OSError as error:
    say("refused: %s" % error)
else:
    current = ctypes.pythonapi.PyThreadState_Get
    current.restype = ctypes.c_void_p
    following = ctypes.c_void_p.from_address(current() + ctypes.sizeof(ctypes.c_void_p))  # the next thread

    def lead_astray(*_):
        following.value = address
        say("gone")

    if "later" in sys.argv:
        signal.signal(signal.SIGUSR1, lead_astray)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
    else:
        following.value = address
    say("ready")
nap(0.005 if "later" in sys.argv else 3600)  # who sleeps all the time is not looked at again
