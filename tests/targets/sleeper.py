"""Sleeps in a known function until it is killed. Runs on every Python, 2.7 too."""

import sys
import time


def nap():
    while True:
        time.sleep(3600)


def main():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    nap()


main()
