"""darter record of a program that has more to tell than most, and what the first look costs it."""

import json
import subprocess

from harness import SYSTEM, darter, target, wait_for
from recordings import Recorder, folder, processes, stacks

THREADS, DEPTH = 320, 900

# More frames than fit into the memory that a sampling thread has for what it tells.
DEEP = f"""
import sys, threading
sys.setrecursionlimit({DEPTH + 200})
threading.stack_size(4 << 20)
ready, never = threading.Semaphore(0), threading.Event()
def down(left):
    if left: return down(left - 1)
    ready.release()
    never.wait()
for _ in range({THREADS}):
    threading.Thread(target=down, args=({DEPTH - 1},), daemon=True).start()
for _ in range({THREADS}): ready.acquire()
print("ready", flush=True)
never.wait()
"""


def depths(file):
    """For each thread but the main one, as a set: how often the function is in its stacks."""
    found = {}
    for path, _ in stacks(file, "--idle", "--threads"):
        if "MainThread" not in path[0]:
            found.setdefault(path[0], set()).add(sum(frame.startswith("down ") for frame in path))
    return found


def test_many_deep_stacks():
    """All of them are told, and none of them is told as another one or as none."""
    with folder() as here, subprocess.Popen([*SYSTEM.argv, "-c", DEEP], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            with Recorder(["--json", "-q", "-o", "a.darter", program.pid], here) as recorder:
                wait_for(lambda: recorder.process.poll() is not None or program.pid in processes(here / "a.darter"),
                         "stacks in the file")
                assert recorder.process.poll() is None, recorder.errors
                told = json.loads(recorder.end())
            found = depths(here / "a.darter")
        finally:
            program.kill()
            program.wait()
    assert len(found) == THREADS and told["lost"] == 0, (len(found), told)
    assert all(depth == {DEPTH} for depth in found.values()), found


def test_the_first_look_is_counted():
    """A busy thread that cannot be perched on is stopped for it."""
    def record():
        told = json.loads(darter("record", "-q", "-j", "-d", "0.1", "-r", "1", "--perch", "off", "-o", here / "a.svg", program.pid).stdout)
        return told["rounds"], told["stops"]

    with target(SYSTEM, "hum.py") as program, folder() as here:
        seen = set()
        wait_for(lambda: seen.add(record()) or any(rounds == 0 for rounds, _ in seen), "a recording that ends with its first look")
    assert all(stops > 0 for rounds, stops in seen if rounds == 0), seen
