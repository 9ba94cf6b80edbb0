"""Begins and ends threads as fast as it can, until it is killed."""

import sys
import threading


def breathe():
    pass


def main():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        threads = [threading.Thread(target=breathe) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
