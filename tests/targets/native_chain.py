"""native_chain.py LIBRARY holds|releases spins|sleeps: a chain of calls from Python into a library of tests/native.py and
back, twice, that ends in chain_leaf(); with the GIL in hand or without. A second thread does nothing."""

import ctypes
import sys
import threading

import ages

CALLBACK = (ctypes.PYFUNCTYPE if sys.argv[2] == "holds" else ctypes.CFUNCTYPE)(None)
library = (ctypes.PyDLL if sys.argv[2] == "holds" else ctypes.CDLL)(sys.argv[1])


def innermost():
    ages.say("ready")
    library.chain_leaf(int(sys.argv[3] == "sleeps"))


def between():
    function = CALLBACK(innermost)
    library.chain_outer(function)


def outermost():
    function = CALLBACK(between)
    library.chain_outer(function)


def rests(event):
    event.wait()


ages.daemon(rests, args=(threading.Event(),))
outermost()
