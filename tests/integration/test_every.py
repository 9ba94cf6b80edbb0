"""darter dump --every: what changed, whole documents, the ends of processes."""

import contextlib
import json
import re
import signal
import subprocess

import schema
from harness import BUILD, DARTER, DEADLINE, SYSTEM, USABLE, darter, each, process_state, skip, target, wait_for


@contextlib.contextmanager
def every(*words, wrap=()):
    with subprocess.Popen([*wrap, DARTER, "dump", "--every", "0.01", *map(str, words)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def rest(process):
    """What it says until its end. (communicate() leaves out what readline() has taken out of the pipe beyond its line.)"""
    output, errors = process.stdout.read(), process.stderr.read()
    process.wait(DEADLINE)
    return output, errors


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
            output, errors = rest(process)
    assert process.returncode == 0 and errors == f"darter: process {program.pid} ended\n", errors
    last = documents(output)[-1]
    assert last["snapshots"] == []
    assert [(error["pid"], error["code"]) for error in last["errors"]] == [(program.pid, "ended")]


@each(USABLE)
@each(["process_vm_readv", "/proc/PID/mem"])
def test_a_process_lives_as_long_as_its_last_thread(python, way):
    """Its main thread ends, then the one it is read through; the last one execs the same Python, mostly at the same
    addresses. None of that is the end of it."""
    wrap = [] if way == "process_vm_readv" else [BUILD / "tests" / "hammer" / "refuse_vm", "EPERM"]
    if wrap and subprocess.run([*wrap, "true"], capture_output=True).returncode == 77:
        skip("a seccomp filter cannot be set here")
    with target(python, "resigning.py") as program, every("--json", program.pid, wrap=wrap) as process:
        def until(condition):
            for line in process.stdout:
                (document,) = documents(line)
                assert all(error["code"] == "not ready" for error in document["errors"]), document
                if document["snapshots"] and condition(document["snapshots"][0]):
                    return
            raise AssertionError(process.stderr.read())

        def functions(snapshot):
            return {frame["name"] for thread in snapshot["threads"] for frame in thread["frames"]}

        until(lambda snapshot: {"early", "late"} <= functions(snapshot))
        program.send("the main thread ends")
        wait_for(lambda: process_state(program.pid) == "Z", "the main thread has ended")
        program.send("it has ended")
        until(lambda snapshot: {"early", "without_main"} <= functions(snapshot))
        program.send("a thread ends")
        until(lambda snapshot: "late" in functions(snapshot) and "early" not in functions(snapshot))
        program.send("the last thread execs")
        until(lambda snapshot: "again" in functions(snapshot) and snapshot["command"].endswith(" again"))
        program.send("the end")
        output, errors = rest(process)
    assert process.returncode == 0 and errors == f"darter: process {program.pid} ended\n", errors
    assert documents(output)[-1]["errors"][-1]["code"] == "ended", output


def test_another_program_is_shown_whole():
    with target(SYSTEM, "reborn.py", "before") as program, every("--no-source", program.pid) as process:
        assert process.stdout.readline().endswith("reborn.py before\n")
        program.send("become another program")
        head = next(line for line in process.stdout if line.startswith("[") and " changed" not in line)
        assert re.search(rf"\] Process {program.pid}: .*reborn.py after\n", head), head
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0
        assert process.stderr.read() == ""


@each([signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_round_is_whole(number):
    """The signal meets a round at any place: the process lives, so no document is without it."""
    with target(SYSTEM, "sleeper.py") as program:
        for _ in range(15):
            with subprocess.Popen([DARTER, "dump", "--every", "0.001", "--json", str(program.pid)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                process.send_signal(number)
                output, errors = rest(process)
            assert process.returncode == 0 and errors == ""
            for document in documents(output):
                assert [snapshot["pid"] for snapshot in document["snapshots"]] == [program.pid], document


def test_a_mistake_makes_no_document():
    for words in (["--name", "("], ["--quiet", "--name", "("], []):
        done = darter("dump", "--every", "1", "--json", *words, check=2)
        assert done.stdout == "" and done.stderr.startswith("darter: ")
