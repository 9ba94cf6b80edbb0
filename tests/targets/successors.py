"""One thread after the other, each of which sleeps for a while: they get each other's thread state and numbers."""

import sys
import threading
import time


def take_turn():
    time.sleep(0.1)


def main():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    number = 0
    while True:
        number += 1
        thread = threading.Thread(target=take_turn, name="turn-%d" % number)
        thread.start()
        thread.join()


main()
