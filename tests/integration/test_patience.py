"""A page of the target that never comes: darter says so after a while, and shows all the others."""

import contextlib
import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import schema
from harness import DARTER, DEADLINE, SYSTEM, alone_with, darter, pageless, process_state, skip, target, wait_for

# Alone with their like, because such a target costs every other `darter ps` its patience too.
SAID = "its memory has not answered for 5 seconds"


def blocked(pid):
    """True when a thread of darter waits for the page."""
    with contextlib.suppress(OSError):
        return any(process_state(f"{pid}/task/{tid}") == "D" for tid in os.listdir(f"/proc/{pid}/task"))
    return False


@alone_with("pages")
def test_a_page_that_never_comes_is_told():
    with pageless() as stuck, target(SYSTEM, "sleeper.py") as other, ThreadPoolExecutor() as pool:
        single = pool.submit(darter, "dump", stuck.pid, check=1)
        first = pool.submit(darter, "dump", "--json", stuck.pid, other.pid, check=1)
        listed = pool.submit(darter, "ps", "--json", check=0)
        table = pool.submit(darter, "ps", check=0)

        assert single.result().stdout == "", single.result()
        assert f"process {stuck.pid} cannot be read: {SAID}" in single.result().stderr, single.result()
        assert "userfaultfd" in single.result().stderr and "file system" in single.result().stderr, single.result()

        document = json.loads(first.result().stdout)
        schema.check(document, schema.load("dump"))
        assert [snapshot["pid"] for snapshot in document["snapshots"]] == [other.pid], document
        (error,) = document["errors"]
        assert (error["pid"], error["code"]) == (stuck.pid, "runtime") and SAID in error["message"], error

        document = json.loads(listed.result().stdout)
        schema.check(document, schema.load("ps"))
        found = {process["pid"]: process for process in document["processes"]}
        reason = "its memory does not answer (waited 3 s)"
        assert found[stuck.pid]["error"] == {"code": "runtime", "message": reason}, found[stuck.pid]
        assert found[stuck.pid]["python"] is None and found[stuck.pid]["threads"] == 1, found[stuck.pid]
        assert found[stuck.pid]["command"].endswith(stuck.script), found[stuck.pid]
        assert found[other.pid]["error"] is None and found[other.pid]["python"] == SYSTEM.text, found[other.pid]
        line = next(line for line in table.result().stdout.split("\n") if line.split()[:1] == [str(stuck.pid)])
        assert f"[{reason}]" in line, line
        # It was left alone.
        assert process_state(stuck.pid) == "S"


@alone_with("pages")
def test_every_goes_on_with_the_others():
    with pageless() as stuck, target(SYSTEM, "steps.py") as other:
        words = [DARTER, "dump", "--every", "0.05", str(stuck.pid), str(other.pid)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            shown = process.stdout.readline()
            assert f"Process {other.pid}" in shown, shown
            other.kill()
            _, told = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
            process.wait()
        assert told.count(SAID) == 1 and f"process {other.pid} ended" in told, told
        assert process.returncode == 1, told


@alone_with("pages")
def test_an_interrupt_ends_the_wait():
    with pageless() as stuck:
        process = subprocess.Popen([DARTER, "dump", str(stuck.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(lambda: blocked(process.pid) or process.poll() is not None, "darter waits for the page")
            process.send_signal(signal.SIGINT)
            out, told = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
            process.wait()
        if SAID in told:
            skip("the machine is so busy that darter was done before it could be interrupted")
        assert process.returncode == -signal.SIGINT and (out, told) == ("", ""), (process.returncode, out, told)
