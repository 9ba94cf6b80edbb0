"""Has children as it is told to by lines on its input, and says their ids: "fork", "spawn", "shell", "orphan",
"stranger"."""

import os
import subprocess
import sys

import ages

HERE = os.path.dirname(os.path.abspath(__file__))


def rest_here(fd):
    os.read(fd, 1)  # the writing end is the parent's alone: this ends when it does


def have(how, rest_fd, keep_fd):
    hum = [sys.executable, os.path.join(HERE, "hum.py")]
    if how == "fork":
        pid = os.fork()
        if pid == 0:
            os.close(keep_fd)
            rest_here(rest_fd)
            os._exit(0)
        return pid
    if how == "spawn":
        return subprocess.Popen(hum, stdout=open(os.devnull, "w")).pid
    if how == "shell":  # which becomes Python after a while
        line = "sleep 0.3; exec '%s' '%s'" % tuple(hum)
        return subprocess.Popen(["sh", "-c", line], stdout=open(os.devnull, "w")).pid
    if how == "orphan":  # the shell ends at once
        line = "'%s' '%s' > /dev/null & echo $!" % tuple(hum)
        return int(subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE).communicate()[0])
    return subprocess.Popen(["sleep", "3600"]).pid


def main():
    rest_fd, keep_fd = os.pipe()
    ages.say("ready")
    while True:
        line = sys.stdin.readline()
        if not line:
            break
        ages.say("child", have(line.strip(), rest_fd, keep_fd))


main()
