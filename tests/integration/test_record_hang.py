"""A process of a recording the memory of which does not come any more: the others go on being recorded, and it is named."""

import json
import os
import re
import signal
import time

import schema
from harness import SYSTEM, TARGETS, alone_with, darter, each, pageless, process_state, target, wait_for
from recordings import Recorder, folder, processes, stacks, wait_recorded

# Alone with their like, because such a target costs every `darter ps` its patience, and a page that does not come is a matter of
# time. They mostly wait.


def given_up(pid):
    return f"process {pid} is not recorded any more: its memory does not come"


def hide(program):
    """From now on the memory of the program does not come."""
    os.kill(program.pid, signal.SIGUSR1)
    program.wait_line("gone")


def spun(file):
    """Seconds in which a program was recorded that computes. Where nothing may be held, only outer frames are certain."""
    return sum(weight for path, weight in stacks(file, "-q") if any("(hum.py:" in frame for frame in path)) / 1e6


def blocked(pid):
    """Is a thread of it in a sleep that nothing ends? Who writes to a disk is there for a moment, too."""
    found = set(os.listdir(f"/proc/{pid}/task"))
    for _ in range(20):
        found = {tid for tid in found if process_state(f"{pid}/task/{tid}") == "D"}
        time.sleep(0.01)
    return bool(found)


def lost(errors):
    return int(re.search(r"\blost (\d+)", errors)[1])


@alone_with("pages")
@each([[], ["--perch", "off", "--pause", "never"], ["-r", "1000"]])
def test_the_others_go_on(how):
    with pageless("later") as stuck, target(SYSTEM, "hum.py") as other, folder() as here:
        file = here / "a.darter"
        with Recorder([*how, "-o", file, stuck.pid, other.pid], here) as recorder:
            wait_recorded(file, stuck.pid)
            wait_recorded(file, other.pid)
            hide(stuck)
            recorder.wait_said(given_up(stuck.pid))
            before, now = spun(file), time.monotonic()
            wait_for(lambda: spun(file) > before + 2, "the other one goes on being recorded")
            passed = time.monotonic() - now
            assert spun(file) - before < passed + 2, "time was invented"
            assert process_state(stuck.pid) in "SRD"  # nobody has stopped it
            recorder.end(check=1)
            assert recorder.errors.count("does not come") == 1 and "userfaultfd" in recorder.errors, recorder.errors
            assert lost(recorder.errors) > 0, recorder.errors
        assert processes(file) == {stuck.pid, other.pid}


@alone_with("pages")
def test_one_after_the_other():
    """Each of them costs a thread, and no more."""
    with pageless("later") as first, pageless("later") as second, target(SYSTEM, "hum.py") as other, folder() as here:
        file = here / "a.darter"
        with Recorder(["-o", file, first.pid, second.pid, other.pid], here) as recorder:
            for stuck in (first, second):
                wait_recorded(file, stuck.pid)
                hide(stuck)
                recorder.wait_said(given_up(stuck.pid))
            before = spun(file)
            wait_for(lambda: spun(file) > before + 1, "the other one goes on being recorded")
            recorder.end(check=1)


@alone_with("pages")
def test_both_at_once():
    """Whoever goes on with the others finds the second one."""
    with pageless("later") as first, pageless("later") as second, target(SYSTEM, "hum.py") as other, folder() as here:
        file = here / "a.darter"
        with Recorder(["-o", file, first.pid, second.pid, other.pid], here) as recorder:
            wait_recorded(file, first.pid)
            wait_recorded(file, second.pid)
            hide(first)
            hide(second)
            recorder.wait_said(given_up(first.pid))
            recorder.wait_said(given_up(second.pid))
            before = spun(file)
            wait_for(lambda: spun(file) > before + 1, "the other one goes on being recorded")
            recorder.end(check=1)


@alone_with("pages")
def test_the_only_process():
    """What was recorded before is kept."""
    with pageless("later") as stuck, folder() as here:
        file = here / "a.darter"
        with Recorder(["--json", "-o", file, stuck.pid], here) as recorder:
            wait_recorded(file, stuck.pid)
            hide(stuck)
            document = json.loads(recorder.end(None, check=1))
            schema.check(document, schema.load("record"))
            assert given_up(stuck.pid) in recorder.errors and "the process ended" not in recorder.errors, recorder.errors
            (error,) = document["errors"]
            assert (error["pid"], error["code"], document["reason"]) == (stuck.pid, "runtime", "ended"), document
        assert processes(file) == {stuck.pid}
        assert "nap" in darter("report", "--idle", "-f", "folded", file, check=0).stdout


@alone_with("pages")
def test_it_goes_while_the_recording_ends():
    """Nobody was told before: the end does not wait for long, and tells."""
    with pageless("later") as stuck, target(SYSTEM, "hum.py") as other, folder() as here:
        file = here / "a.darter"
        with Recorder(["-o", file, stuck.pid, other.pid], here) as recorder:
            wait_recorded(file, stuck.pid)
            wait_recorded(file, other.pid)
            hide(stuck)
            wait_for(lambda: blocked(recorder.process.pid), "darter waits for the page")
            recorder.end(check=1)
            assert given_up(stuck.pid) in recorder.errors, recorder.errors
        assert spun(file) > 0


@alone_with("pages")
def test_it_goes_in_a_rotation():
    with pageless("later") as stuck, target(SYSTEM, "hum.py") as other, folder() as here:
        with Recorder(["--rotate", "1", "-o", "a.darter", stuck.pid, other.pid], here) as recorder:
            wait_for(lambda: len(list(here.glob("a*.darter"))) > 1, "a file is full")
            hide(stuck)
            recorder.wait_said(given_up(stuck.pid))
            known = set(here.glob("a*.darter"))
            wait_for(lambda: len(set(here.glob("a*.darter")) - known) > 1, "there are other files")
            recorder.end(check=1)
        whole = sorted(here.glob("a*.darter"), key=os.path.getmtime)
        assert spun(whole[-2]) > 0, whole


@alone_with("pages")
def test_a_program_that_was_started():
    """Its exit code is its own."""
    with pageless(), folder() as here:  # only whether it can be: that is told
        file = here / "a.darter"
        words = ["-o", file, "--", *SYSTEM.argv, TARGETS / "pageless.py", "later"]
        with Recorder(words, here) as recorder:
            ids = f"/proc/{recorder.process.pid}/task/{recorder.process.pid}/children"
            wait_for(lambda: file.exists() and "nap" in darter("report", "-q", "--idle", file).stdout, "it is recorded")
            (pid,) = map(int, open(ids).read().split())
            os.kill(pid, signal.SIGUSR1)
            recorder.wait_said(given_up(pid))
            assert recorder.process.poll() is None
            os.kill(pid, signal.SIGTERM)
            recorder.end(None, check=7)
        assert processes(file) == {pid}
