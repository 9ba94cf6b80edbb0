"""What was found in one process is tried first in its relatives, and must not show in what is found."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from builds import copy_of, strip
from harness import BUILD, SYSTEM, USABLE, children, each, need_program, process_state, target, wait_for

FIND = BUILD / "tests" / "hammer" / "find"
COUNT = 3


def found(pids, *options):
    """What is said of each, in the order of the question."""
    done = subprocess.run([FIND, *options, *map(str, pids)], capture_output=True, text=True, check=True)
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [int(pid) for pid, _ in lines] == list(pids), (pids, done.stdout)
    return [said for _, said in lines]


def family(program):
    return [program.pid, *wait_for(lambda: (pids := children(program.pid)) and len(pids) == COUNT and sorted(pids),
                                   "the children are there")]


def found_alike(*programs):
    families = [family(program) for program in programs]
    behind = [pid for pids in families for pid in pids]
    mixed = [pid for pids in zip(*families, strict=True) for pid in pids]
    for pids in (behind, mixed):
        alone = found(pids, "--spans")
        assert all(said.startswith("ok ") for said in alone), alone
        assert found(pids, "--spans", "--cached") == alone
        assert found(pids, "--likely", "--cached") == ["likely"] * len(pids)


@each(USABLE)
def test_relatives_are_found_as_strangers_are(python):
    with target(python, "family.py", COUNT) as one, target(python, "family.py", COUNT) as other, \
            target(SYSTEM, "family.py", COUNT) as third:
        found_alike(one, other, third)


@each([python for python in USABLE if python.version < (3, 7) and not python.root and not python.missing])
def test_relatives_of_a_stripped_one(python):
    """What no symbol names is found in all of the library's data, that which is in no file, too."""
    with copy_of(python) as copy:
        strip(copy.holder)
        with copy.start("family.py", COUNT) as one, target(SYSTEM, "family.py", COUNT) as other:
            found_alike(one, other)


@contextlib.contextmanager
def running(argv):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_another_program_of_the_same_name_at_the_same_place():
    """Without random addresses each program lies where the one before it did."""
    need_program("setarch")
    with tempfile.TemporaryDirectory(prefix="darter-trail-") as folder:
        path = Path(folder) / "python"
        shutil.copy(os.path.realpath(SYSTEM.argv[-1]), path)
        home = subprocess.run([*SYSTEM.argv, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True,
                              check=True).stdout.strip()
        plain = ["setarch", "-R", "env", f"PYTHONHOME={home}", path]
        with running([*plain, "-c", "import time; time.sleep(3600)"]) as python:
            wait_for(lambda: found([python.pid])[0].startswith("ok "), "Python has begun")
            shutil.copy("/bin/sleep", f"{path}.new")
            os.rename(f"{path}.new", path)
            with running([*plain, "3600"]) as other:
                wait_for(lambda: os.path.realpath(f"/proc/{other.pid}/exe") == str(path) and
                         process_state(other.pid) == "S", "the other program sleeps")
                pids = [python.pid, other.pid, python.pid]
                alone = found(pids)
                assert [said.startswith("ok ") for said in alone] == [True, False, True], alone
                assert found(pids, "--cached") == alone
                assert found(pids, "--likely", "--cached") == ["likely", "unlikely", "likely"]
