"""darter record is stopped itself, by the terminal (Ctrl-Z) or by SIGSTOP, and goes on."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

from harness import DARTER, DEADLINE, SOME_SHAPES, SYSTEM, alone, each, process_state, size, target, wait_for
from recordings import Recorder, folder, functions, stacks, wait_recorded

STOPPING = ["--perch", "off", "--pause", "always", "-r", 1000]


def held(pid):
    """States of the threads of a program that a tracer has stopped."""
    states = [process_state(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()]
    return [state for state in states if state == "t"]


@contextlib.contextmanager
def recorded(program, here, *options):
    """A recording in a process group of its own, as a shell would put it."""
    file = here / "a.darter"
    with Recorder(["-o", file, *options, program.pid], here, preexec_fn=os.setpgrp) as recorder:
        wait_recorded(file, program.pid)
        yield recorder, file


def wait_stopped(recorder):
    wait_for(lambda: process_state(recorder.process.pid) == "T", "darter is stopped")


@alone
@each(SOME_SHAPES)
@each([signal.SIGTSTP, signal.SIGTTOU])
def test_ctrl_z_waits_until_nothing_is_held(python, number):
    """A thread is stopped a thousand times a second: it does not stand while darter does."""
    with target(python, "crowd.py", 2) as program, folder() as here, recorded(program, here, *STOPPING) as (recorder, file):
        for _ in range(size(40, 400)):
            time.sleep(0.003)
            recorder.send(number)
            wait_stopped(recorder)
            assert not held(program.pid)
            recorder.send(signal.SIGCONT)
            wait_for(lambda: process_state(recorder.process.pid) != "T", "darter goes on")
        program.send("still here?")
        program.wait_line("answer still here?")
        recorder.end()
        assert "compute" in functions(file), functions(file)


@alone
def test_a_stop_that_is_called_off():
    """Both signals come while darter holds somebody, or not: in the end it goes on."""
    with target(SYSTEM, "crowd.py", 2) as program, folder() as here, recorded(program, here, *STOPPING) as (recorder, _):
        for _ in range(size(100, 1000)):
            recorder.send(signal.SIGTSTP)
            recorder.send(signal.SIGCONT)
        recorder.send(signal.SIGCONT)
        recorder.end()


@alone
def test_a_long_stop_is_no_hang():
    """SIGSTOP cannot be put off. A thread that was held all the time was not held by a look that hangs. And after Ctrl-Z
    threads are held again."""
    with target(SYSTEM, "crowd.py", 2) as program, folder() as here, recorded(program, here, *STOPPING) as (recorder, _):
        recorder.send(signal.SIGTSTP)
        wait_stopped(recorder)
        recorder.send(signal.SIGCONT)
        end = time.monotonic() + DEADLINE
        for _ in range(size(2, 10)):
            while time.monotonic() < end:
                recorder.send(signal.SIGSTOP)
                wait_stopped(recorder)
                if held(program.pid):
                    break
                recorder.send(signal.SIGCONT)
                time.sleep(0.003)
            assert held(program.pid)
            time.sleep(1.2)
            recorder.send(signal.SIGCONT)
            wait_for(lambda: not held(program.pid), "the thread goes on")
            time.sleep(0.3)
        recorder.end()
        assert "does not come" not in recorder.errors, recorder.errors


@alone
def test_a_short_stop_does_not_make_sleep_work():
    """Met running after that, a thread has still slept for as long as its account says."""
    with target(SYSTEM, "phases.py", "plain", "400", "800") as program, folder() as here, recorded(program, here) as (recorder, file):
        for _ in range(3):
            wait_for(lambda: process_state(program.pid) == "R", "the target works")
            wait_for(lambda: process_state(program.pid) == "S", "the target rests")
            recorder.send(signal.SIGSTOP)
            wait_for(lambda: process_state(program.pid) == "R", "the target works again")
            time.sleep(0.02)
            recorder.send(signal.SIGCONT)
            time.sleep(0.1)
        recorder.end()
        found = stacks(file, "--idle")
    # That it worked at the moment in question is possible, but for all of them about as likely as one in ten thousand.
    assert sum(weight for path, weight in found if path[-1] == "[running, stack not seen]") < 1600000, found


@alone
def test_ignored_stops_stay_ignored():
    """Who starts us without job control says so by ignoring them."""
    def ignore():
        os.setpgrp()
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)

    with target(SYSTEM, "hum.py") as program, folder() as here:
        file = here / "a.darter"
        with Recorder(["-o", file, program.pid], here, preexec_fn=ignore) as recorder:
            wait_recorded(file, program.pid)
            recorder.send(signal.SIGTSTP)
            recorder.end()


def read_until(terminal, pattern):
    """What is written to a terminal, up to a text that ends with the pattern."""
    seen, end = "", time.monotonic() + DEADLINE
    while not re.search(pattern + r"\Z", seen):
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 65536).decode()
    return seen


@alone
def test_the_progress_line_is_taken_away_before():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        terminal, there = pty.openpty()
        subprocess.run(["stty", "cols", "100", "-onlcr"], stdin=there, check=True)
        with subprocess.Popen([DARTER, "record", "-o", here / "a.darter", str(program.pid)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=there, preexec_fn=os.setpgrp) as process:
            try:
                read_until(terminal, r"\rrecording [^\r]* kB *")
                process.send_signal(signal.SIGTSTP)
                wait_for(lambda: process_state(process.pid) == "T", "darter is stopped")
                read_until(terminal, r"\r {40,99}\r")
                process.send_signal(signal.SIGCONT)
                read_until(terminal, r"\rrecording [^\r]* kB *")
            finally:
                process.kill()
        os.close(terminal)
        os.close(there)
