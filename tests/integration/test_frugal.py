"""Sampling asks for no memory once nothing is new: tests/hammer/frugal.c counts."""

import json
import subprocess

from harness import BUILD, SOME_SHAPES, each, limit, target

FRUGAL = BUILD / "tests" / "hammer" / "frugal"


@each(SOME_SHAPES)
@limit(120)
def test_no_memory_is_asked_for_in_the_long_run(python):
    with target(python, "hammer.py", "threads") as program:
        done = subprocess.run([FRUGAL, str(program.pid), "1000"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # A bigger arena for a way that was not needed before is no matter; something for each look would be hundreds.
    assert found["rounds"] >= 100 and found["first"] > 0 and found["then"] < 10, found
