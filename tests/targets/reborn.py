"""Begins itself again at each line that comes in, with "after" as its argument."""
import os
import sys

print("ready", flush=True)
os.read(0, 100)
os.execv(sys.executable, [sys.executable, __file__, "after"])
