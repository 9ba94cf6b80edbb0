"""A process that is attached later than anybody waited for it, and has ended by the time it is asked for again."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

from harness import BUILD, SYSTEM, target, wait_for

NOT_FOUND, AGAIN = -4, -7  # DT_ENOTFOUND, DT_EAGAIN
STEADY = 0.3  # seconds in which nothing has changed


class Late:
    """tests/hammer/late.c, while it runs."""

    def __init__(self, process):
        self.process = process

    def ask(self, pid):
        self.process.stdin.write(f"{pid}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def comes_late(self, pid):
        """False if it has joined at once: on a busy machine who attaches may be the faster one."""
        code = self.ask(pid)
        assert code in (0, AGAIN), code
        return code == AGAIN

    def tend(self):
        assert self.ask(0) == 0

    def files_of(self, pid):
        """What it has open of a process."""
        links = []
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                links.append(os.readlink(link))
        return [link for link in links if link == f"/proc/{pid}" or link.startswith(f"/proc/{pid}/")]

    def wait_attached(self, *pids):
        """Nobody is told: files of each process are open, and stay as they are."""
        last = [], 0.0

        def steady():
            nonlocal last
            files = [sorted(self.files_of(pid)) for pid in pids]
            if files != last[0]:
                last = files, time.monotonic()
            return all(files) and time.monotonic() - last[1] > STEADY

        wait_for(steady, f"{pids} are attached")


@contextlib.contextmanager
def late():
    with subprocess.Popen([BUILD / "tests" / "hammer" / "late"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield Late(process)
            process.stdin.close()
            assert process.wait() == 0
        finally:
            process.kill()


def attach_and_end(one):
    """The number of a process that was attached and is gone."""
    while True:
        with target(SYSTEM, "hum.py") as program:
            if one.comes_late(program.pid):
                one.wait_attached(program.pid)
                return program.pid


def test_the_next_one_of_that_number_is_another_one():
    with late() as one:
        pid = attach_and_end(one)
        assert one.ask(pid) in (AGAIN, NOT_FOUND)
        wait_for(lambda: one.ask(pid) == NOT_FOUND, "it is not there")
        assert not one.files_of(pid)


def test_files_of_those_that_have_ended_are_closed():
    """When another one is asked for, and now and then."""
    with late() as one:
        gone = attach_and_end(one)
        with target(SYSTEM, "hum.py") as program:
            one.comes_late(program.pid)
            assert not one.files_of(gone)
            wait_for(lambda: one.ask(program.pid) == 0, "it joins")
        gone = attach_and_end(one)

        def closed():
            one.tend()
            return not one.files_of(gone)

        wait_for(closed, "its files are closed")


def test_they_keep_nobody_else_out():
    """There are 64 who attach: each of them was kept by one that had ended."""
    with late() as one:
        gone = set()
        while len(gone) < 66:
            with contextlib.ExitStack() as crowd:
                programs = [crowd.enter_context(target(SYSTEM, "hum.py")) for _ in range(11)]
                pids = [program.pid for program in programs if one.comes_late(program.pid)]
                one.wait_attached(*pids)
                gone.update(pids)
        with target(SYSTEM, "hum.py") as program:
            wait_for(lambda: one.ask(program.pid) == 0, "one more joins")
