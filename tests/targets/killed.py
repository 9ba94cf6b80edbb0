"""killed.py SECONDS: computes in two threads, and dies of SIGKILL."""

import os
import signal
import sys
import threading
import time


def spin(until):
    while time.time() < until:
        pass


end = time.time() + float(sys.argv[1])
threading.Thread(target=spin, args=(end + 60,)).start()
spin(end)
os.kill(os.getpid(), signal.SIGKILL)
