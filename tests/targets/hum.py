"""Computes in a known function, with two more threads that wait; until it is killed."""

import threading

import ages


def spin():
    ages.say("ready")
    n = 0
    while True:
        n = (n + 1) & 0xFFFF


def wait_here(event):
    event.wait()


def main():
    event = threading.Event()
    for _ in range(2):
        ages.daemon(wait_here, (event,))
    spin()


main()
