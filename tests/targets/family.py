"""Makes N children that rest in a known function until their parent is gone; "ready" when all of them are there."""

import os
import sys

import ages


def rest(fd):
    os.read(fd, 1)  # the writing end is the parent's alone: this ends when it does


def child(rest_fd, report_fd):
    os.write(report_fd, b".")
    os.close(report_fd)
    rest(rest_fd)


def main():
    count = int(sys.argv[1])
    rest_fd, keep_fd = os.pipe()
    hear_fd, report_fd = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.close(keep_fd)
            child(rest_fd, report_fd)
            os._exit(0)
    os.close(report_fd)
    heard = 0
    while heard < count:
        heard += len(os.read(hear_fd, count))
    ages.say("ready")
    sys.stdin.read()


main()
