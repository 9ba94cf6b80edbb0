"""Files in a memory map whose names have line breaks, escapes and many times PATH_MAX bytes."""

import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path

import cores
import truths
from harness import FULL, SYSTEM, USABLE, darter, each, skip, target
from weigh import weighed

PATH_MAX = 4096
# What a map says has little to do with the version; one is in another root.
PYTHONS = USABLE if FULL else [python for python in USABLE if python is SYSTEM or python.version[:2] in ((2, 7), (3, 15))]

# Puts a program into a directory whose path is too long for any call, a step at a time, and becomes that program.
DESCEND = """
import os, shutil, sys
folder, program, *rest = sys.argv[1:]
before = os.open(".", os.O_RDONLY)
os.chdir(folder)
for _ in range(4 * 4096 // 200):
    os.mkdir("d\\n" * 100)
    os.chdir("d\\n" * 100)
shutil.copy(program, "a python\\n")
there = os.open("a python\\n", os.O_RDONLY)
os.fchdir(before)
os.execve(there, ["python", *rest], os.environ)
"""


@contextlib.contextmanager
def folder_for(python):
    python.demand()
    with tempfile.TemporaryDirectory(prefix="darter-names-", dir=f"{python.root}/tmp" if python.root else None) as folder:
        os.chmod(folder, 0o777)
        yield folder, folder[len(python.root):]


def longest_line(pid):
    return max(len(line) for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines())


@each(PYTHONS)
def test_the_truth_beside_odd_names(python):
    with folder_for(python) as (_, inside), target(python, "odd_names.py", inside, 4 * PATH_MAX) as program:
        assert longest_line(program.pid) > 4 * PATH_MAX, "the kernel does not show such paths"
        snapshot = truths.check(program)
        assert snapshot["warnings"] == [], snapshot["warnings"]
        run = weighed("ps", "--json")
        (listed,) = [one for one in truths.json.loads(run.out)["processes"] if one["pid"] == program.pid]
        assert run.code == 0 and listed["error"] is None and listed["python"] == python.text.rstrip("+"), listed


@each(PYTHONS)
def test_a_core_with_odd_names(python):
    with folder_for(python) as (_, inside), \
            cores.mortal(python, "odd_names.py", inside, 4 * PATH_MAX) as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        snapshot = truths.seen_core(died(), "--root", python.root or "/")
        found = truths.differences(truths.told(program), snapshot, dead=True)
        assert not found, found[:20]


def test_an_interpreter_whose_path_is_too_long():
    if SYSTEM.shared:
        skip("the system's Python is not linked statically")
    with folder_for(SYSTEM) as (folder, _):
        wrap = [sys.executable, "-c", DESCEND, folder]
        with target(SYSTEM, "truth_threads.py", "named", wrap=wrap, env={"PYTHONHOME": "/usr"}) as program:
            assert longest_line(program.pid) > 4 * PATH_MAX
            snapshot = truths.check(program)
            assert snapshot["library"].startswith(folder) and snapshot["warnings"] == [], snapshot["warnings"]
            first, second = darter("dump", program.pid, check=0).stdout.splitlines()[:2]
            assert first.startswith(f"Process {program.pid}: ") and second.startswith(f"Python {SYSTEM.text} ("), (first, second)
            run = weighed("ps", "--json")
            assert any(one["pid"] == program.pid for one in truths.json.loads(run.out)["processes"])
