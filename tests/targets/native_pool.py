"""native_pool.py LIBRARY COMPUTING WAITING: starts so many threads of tests/targets/pool.c, and rests."""

import ctypes
import sys
import time

import ages

if ctypes.CDLL(sys.argv[1]).pool_start(int(sys.argv[2]), int(sys.argv[3])):
    sys.exit("no threads")
ages.say("ready")
time.sleep(1000)
