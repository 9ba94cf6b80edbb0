"""Is in first() until a line comes in, then in second(); with another line it ends."""

import sys


def first():
    print("ready")
    sys.stdin.readline()


def second():
    print("second")
    sys.stdin.readline()


first()
second()
