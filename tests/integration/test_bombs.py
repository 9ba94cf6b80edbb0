"""Programs without any Python that look like one wherever it is looked for (tests/hammer/bomb.c): darter says so in words,
and lists the other processes of the host as always."""

import contextlib
import json
import os
import subprocess

from harness import BUILD, SYSTEM, darter, each, target

BOMBS = {
    "symbol": [],
    "memory": [],
    "files": [os.path.realpath(SYSTEM.path), 2000],
}


@contextlib.contextmanager
def bomb(kind):
    argv = [BUILD / "tests/hammer/bomb", kind, *map(str, BOMBS[kind])]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n", kind
            yield program
        finally:
            program.kill()


@each(BOMBS)
def test_a_search_comes_to_its_end(kind):
    with bomb(kind) as program, target(SYSTEM, "sleeper.py") as healthy:
        # Without a bound it takes hours.
        run = darter("dump", program.pid, check=1)
        assert f"process {program.pid} (bomb)" in run.stderr and not run.stdout, run
        listed = {process["pid"]: process for process in json.loads(darter("ps", "--json", check=0).stdout)["processes"]}
        assert listed[healthy.pid]["error"] is None, listed[healthy.pid]
        assert program.pid not in listed or listed[program.pid]["error"], listed[program.pid]
