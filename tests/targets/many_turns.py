"""many_turns.py COUNT: so many threads sleep, now below one function and now below another, for a second each time. Others come
and go meanwhile."""

import sys
import threading
import time

import ages


def sleep_left():
    time.sleep(1)


def sleep_right():
    time.sleep(1)


def go_left():
    sleep_left()


def go_right():
    sleep_right()


def take_turns():
    while True:
        go_left()
        go_right()


def breathe():
    time.sleep(0.03)


def main(count):
    threading.stack_size(256 * 1024)
    for _ in range(count):
        ages.daemon(take_turns)
    ages.say("ready")
    while True:
        time.sleep(0.02)
        ages.daemon(breathe)


main(int(sys.argv[1]))
