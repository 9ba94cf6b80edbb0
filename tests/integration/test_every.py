"""darter dump --every: what changed, whole documents, the ends of processes."""

import json
import re
import signal
import subprocess

import schema
from harness import DARTER, DEADLINE, SYSTEM, darter, each, target


def every(*words):
    return subprocess.Popen([DARTER, "dump", "--every", "0.01", *map(str, words)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def documents(output):
    found = [json.loads(line) for line in output.splitlines()]
    for document in found:
        schema.check(document, schema.load("dump"))
    return found


def test_every_shows_what_changes():
    with target(SYSTEM, "steps.py") as program:
        with every("--no-source", program.pid) as process:
            def until(part):
                lines = []
                for line in process.stdout:
                    lines.append(line)
                    if part in line:
                        return "".join(lines)
                raise AssertionError(f"{part} never came: {lines}")

            head = until("first (steps.py")
            assert re.match(rf"\[\d\d:\d\d:\d\d\.\d{{3}}\] Process {program.pid}: ", head)
            program.send("go on")
            change = until("second (steps.py")
            assert f"Process {program.pid}: 1 of 1 threads changed\n" in change
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE) == 0
            assert process.stderr.read() == ""


@each(["by number", "by name"])
def test_the_end_of_a_process_is_told(how):
    with target(SYSTEM, "steps.py", "needle-5c81") as program:
        with every("--json", *([program.pid] if how == "by number" else ["--name", "steps[.]py needle-5c81$"])) as process:
            (first,) = documents(process.stdout.readline())
            assert first["snapshots"][0]["pid"] == program.pid
            program.send("go on")
            program.send("and end")
            assert program.wait() == 0
            output, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0 and errors == f"darter: process {program.pid} ended\n", errors
    last = documents(output)[-1]
    assert last["snapshots"] == []
    assert [(error["pid"], error["code"]) for error in last["errors"]] == [(program.pid, "ended")]


@each([signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_round_is_whole(number):
    """The signal meets a round at any place: the process lives, so no document is without it."""
    with target(SYSTEM, "sleeper.py") as program:
        for _ in range(15):
            with subprocess.Popen([DARTER, "dump", "--every", "0.001", "--json", str(program.pid)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                process.send_signal(number)
                output, errors = process.communicate(timeout=DEADLINE)
            assert process.returncode == 0 and errors == ""
            for document in documents(output):
                assert [snapshot["pid"] for snapshot in document["snapshots"]] == [program.pid], document


def test_a_mistake_makes_no_document():
    for words in (["--name", "("], ["--quiet", "--name", "("], []):
        done = darter("dump", "--every", "1", "--json", *words, check=2)
        assert done.stdout == "" and done.stderr.startswith("darter: ")
