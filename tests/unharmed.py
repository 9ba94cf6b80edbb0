"""What tests share that see whether a target is harmed: one who looks, or records, and is killed again and again
(tests/hammer/assault.c), and a target that would tell (tests/targets/unharmed.py)."""

import json
import subprocess
import threading
import time

from harness import BUILD, process_state, target

ASSAULT = BUILD / "tests" / "hammer" / "assault"


def run_assault(pid, rounds, *options, wrap=()):
    done = subprocess.run([*wrap, ASSAULT, str(pid), str(rounds), *options], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    return json.loads(done.stdout)


def check_assault(found, rounds, options):
    """All kills were made, nobody was left stopped, and what was to be tried was tried."""
    assert found["rounds"] >= rounds and found["left"] == 0, (options, found)
    assert found["takes"] > 0 and found["failures"] == 0, (options, found)
    if "never-pause" in options:
        assert found["pauses"] == 0, (options, found)
    elif "no-perch" in options and "idle" not in options:
        assert found["pauses"] > 0, (options, found)


def play(python, lines, disturb=None):
    """Runs unharmed.py, sends it the lines, and gives all that it wrote and its exit code."""
    with target(python, "unharmed.py") as program:
        helper = threading.Thread(target=disturb, args=(program.pid,)) if disturb else None
        if helper:
            helper.start()
        for line in lines:
            program.send(line)
            time.sleep(0.01)
        if helper:
            helper.join()
        assert process_state(program.pid) not in ("T", "t")
        program.send("stop")
        return program.lines, program.wait(), program
