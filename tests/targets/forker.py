"""Has many children, one after the other, and waits for each; then becomes another program. Arguments: how many."""
import os
import subprocess
import sys

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    codes = []
    for number in range(int(sys.argv[1])):
        child = os.fork()
        if child == 0:
            os._exit(number % 100)
        pid, status = os.waitpid(child, 0)
        codes.append((pid == child, status >> 8 if not status & 0x7f else -(status & 0x7f)))
    print(codes, flush=True)
    print(subprocess.run(["sh", "-c", "echo from a child; exit 3"], stdout=subprocess.PIPE), flush=True)
    os.execv(sys.executable, [sys.executable, "-c", "import sys; print('another program'); sys.exit(9)"])
