"""Dies in another interpreter than the main one, which the main thread runs. The main one had the GIL last before."""
import time

import truth_interpreters

_, run = truth_interpreters.make("shared")
run("import os")
time.sleep(0.01)  # gives the GIL away, and takes it again
run("os.abort()")
