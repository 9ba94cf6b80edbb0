"""Computes within a function that C has called: no call leads out of the evaluation loop from then on. Or sleeps there."""
import sys
import time

import ages


def spin(_):
    ages.say("ready")
    while "sleep" in sys.argv:
        time.sleep(100000)
    while True:
        pass


def outer():
    list(map(spin, [1]))


def main():
    outer()


main()
