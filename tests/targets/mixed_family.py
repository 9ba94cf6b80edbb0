"""A parent with a Python child, and a child that is not Python. The child's own line is passed on."""

import subprocess
import sys
import time

CHILD = "import time\ndef child_nap():\n    print('ready', flush=True)\n    time.sleep(3600)\nchild_nap()\n"


def parent_nap():
    time.sleep(3600)


other = subprocess.Popen(["sleep", "3600"], stdout=subprocess.DEVNULL)
child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
assert child.stdout.readline() == "ready\n"
print(f"child {child.pid} other {other.pid}")
print("ready")
parent_nap()
