"""Has many children, one after the other, and waits for each; then becomes another program. Arguments: how many."""
import os
import subprocess
import sys

import ages

if __name__ == "__main__":
    ages.say("ready")
    sys.stdin.readline()
    codes = []
    for number in range(int(sys.argv[1])):
        child = os.fork()
        if child == 0:
            os._exit(number % 100)
        pid, status = os.waitpid(child, 0)
        codes.append((pid == child, status >> 8 if not status & 0x7f else -(status & 0x7f)))
    ages.say(codes)
    child = subprocess.Popen(["sh", "-c", "echo from a child; exit 3"], stdout=subprocess.PIPE)
    ages.say(child.communicate(), child.returncode)
    os.execv(sys.executable, [sys.executable, "-c", "import sys; print('another program'); sys.exit(9)"])
