"""The target does not notice: not stopped, not interrupted, the same output, the same exit code.

tests/hammer/assault.c kills the one who looks at a random moment, over and over.
"""

import contextlib
import ctypes
import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from harness import BUILD, DEADLINE, SHAPES, SOME_SHAPES, SYSTEM, alone, children, each, limit, \
    process_state, record_figure, size, target, visible, wait_for
from unharmed import ASSAULT, check_assault, play, run_assault

FOLLOW = BUILD / "tests" / "hammer" / "follow"
WAYS = {"ladder": [], "pause": ["no-perch"], "never-pause": ["never-pause"]}


@contextlib.contextmanager
def looked_at(pid, *options):
    """Somebody looks at the process, and is killed and replaced, as long as the block runs."""
    with subprocess.Popen([ASSAULT, str(pid), "1000000000", *options], stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@alone
@each(SHAPES)
@limit(3600)
def test_killed_while_looking(python):
    rows = []
    lines = [f"line {number}" for number in range(20)]
    output, code, program = play(python, lines)
    expected = list(program.lines), code
    assert code == 7 and program.lines[-1] == "end []", program.lines
    for way, options in WAYS.items():
        found = {}
        _, code, program = play(python, lines,
                                lambda pid: found.update(run_assault(pid, size(50, 1200), *options)))
        assert (program.lines, code) == expected, (way, program.lines, code)
        check_assault(found, size(50, 1200), options)
        rows.append(f"| {way} | {found['rounds']} | {found['attaches']} | {found['takes']} | {found['pauses']} | "
                    f"{found['soon']} | {found['left']} |")
    record_figure(f"Target unharmed, {python.label}", "\n".join(
        ["| way | kills | attached | snapshots | threads paused | stopped just after a kill | left stopped |",
         "|---|---|---|---|---|---|---|", *rows]))


@alone
def test_a_thread_that_is_left_stopped_is_noticed():
    """The judge is judged."""
    with target(SYSTEM, "unharmed.py") as program:
        assert run_assault(program.pid, 3)["left"] == 0
        os.kill(program.pid, signal.SIGSTOP)
        wait_for(lambda: process_state(program.pid) == "T", "it is stopped")
        found = run_assault(program.pid, 3)
        assert found["left"] == found["rounds"] >= 3, found
        os.kill(program.pid, signal.SIGCONT)
        wait_for(lambda: process_state(program.pid) != "T", "it goes on")
        assert run_assault(program.pid, 3)["left"] == 0


@alone
@each(SHAPES)
@each(WAYS)
def test_system_calls_are_not_interrupted(python, way):
    with target(python, "interrupted.py") as program:
        found = run_assault(program.pid, size(60, 1000), *WAYS[way])
        check_assault(found, size(60, 1000), WAYS[way])
        program.process.stdin.close()
        assert program.wait() == 0, program.stderr
        counts = json.loads(program.lines[-1])
    assert set(counts) == {"sleeps", "polls", "selects", "epolls", "reads", "works"}, counts
    for name, mine in counts.items():
        assert mine["calls"] > 0 and mine["failed"] == 0, (name, mine)
        # epoll_wait is the one call that the kernel does not take up again after a pause. A pause is for a thread that
        # is not in a system call, but it may just enter one: that is counted, and impossible without a pause.
        if name != "epolls" or way == "never-pause":
            assert mine["interrupted"] == 0, (name, mine)
    record_figure(f"epoll_wait interrupted, {python.label}, {way}",
                  f"{counts['epolls']['interrupted']} of {counts['epolls']['calls']} calls, {found['takes']} snapshots")


def call_of(pid, tid):
    """The number of the system call that a thread waits in, or "running"."""
    return Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0]


def all_sit(pid, tids):
    """In a call each, and not in the one in which threads wait for a lock: that might be the GIL."""
    futex = call_of(pid, tids["waits"])
    return futex != "running" and all(call_of(pid, tid) not in ("running", futex)
                                      for name, tid in tids.items() if name != "waits")


@alone
@each(SHAPES)
@each(["", "busy"])
@each(["ladder", "pause"])
def test_calls_that_wait_are_left_alone(python, busy, way):
    """A thread that waits in a system call when it is looked at stays there, whoever else runs."""
    with target(python, "sitting.py", busy) as program:
        tids = json.loads(program.lines[0])
        wait_for(lambda: all_sit(program.pid, tids), "all are in their calls")

        def look():
            found = run_assault(program.pid, size(25, 500), *WAYS[way], "idle")
            assert found["left"] == 0 and found["failures"] == 0, found
            return found["takes"] and (found["pauses"] or not busy or way != "pause")

        wait_for(look, "somebody is looked at, and stopped where it has to be")
        program.process.stdin.close()
        assert program.wait() == 0, program.stderr
        ends = json.loads(program.lines[-1])
    assert ends.pop("main") == [0, 0], ends
    assert ends == dict.fromkeys(["sleeps", "selects", "polls", "epolls", "reads"]), ends


# Each by itself is the last one that had the GIL, and so the one to be stopped; then all of them and one that has it.
TRANSFERS = [["writes"], ["zeros"], ["sends"], ["randoms"], ["writes", "zeros", "sends", "randoms", "works"]]


@alone
@each(SOME_SHAPES)
@each(WAYS)
@limit(1800)
def test_transfers_are_not_cut_short(python, way):
    """A large transfer that is disturbed returns early, and a program that does not look at how much was moved has lost
    the rest."""
    rows = []
    for kinds in TRANSFERS:
        options = WAYS[way] if "works" in kinds else [*WAYS[way], "idle"]
        with target(python, "interrupted.py", *kinds) as program:
            found = run_assault(program.pid, size(40, 1000), *options)
            program.process.stdin.close()
            assert program.wait() == 0, program.stderr
            counts = json.loads(program.lines[-1])
        check_assault(found, size(40, 1000), options)
        assert set(counts) == set(kinds), counts
        for name, mine in counts.items():
            assert mine["calls"] > 0, (name, mine)
            assert mine["failed"] == 0, (kinds, name, mine, found)
            # A thread that has the GIL may give it away and enter a call in the microsecond before it is stopped.
            cut = mine["short"] + mine["interrupted"]
            assert cut == 0 if way == "never-pause" else cut * 20 <= max(20, found["pauses"]), (kinds, name, mine, found)
        calls, cut = (sum(mine[key] for mine in counts.values()) for key in ("calls", "short"))
        rows.append(f"{' '.join(kinds)}: {cut} of {calls} calls, {found['takes']} snapshots, "
                    f"{found['pauses']} threads paused")
    record_figure(f"Transfers cut short, {python.label}, {way}", "; ".join(rows))


def queue_signals(pid, count):
    """A value with each; where the queue is full, the next one waits."""
    libc = ctypes.CDLL(None, use_errno=True)
    end = time.monotonic() + DEADLINE
    for value in range(count):
        while libc.sigqueue(pid, signal.SIGRTMIN + 1, ctypes.c_void_p(value)) != 0:
            assert ctypes.get_errno() == errno.EAGAIN and time.monotonic() < end, ctypes.get_errno()
            time.sleep(0.001)
        if value % 10 == 0:
            time.sleep(0.005)


@alone
@each(SHAPES)
@each(WAYS)
def test_signals_arrive_in_order(python, way):
    count = size(500, 5000)
    with target(python, "signals.py", count + 1) as program, looked_at(program.pid, *WAYS[way]):
        os.kill(program.pid, signal.SIGRTMIN + 2)
        queue_signals(program.pid, count + 1)
        found = json.loads(program.wait_line(lambda line: line.startswith("{")))
        assert program.wait() == 0
    assert found["values"] == list(range(count + 1)), found["values"]
    assert found["handled"] == 1, found["handled"]


@alone
@each(SHAPES)
@each(WAYS)
def test_children_and_other_programs(python, way):
    """fork, wait and exec while somebody looks."""
    results = []
    for options in (None, WAYS[way]):
        with target(python, "forker.py", size(100, 1000)) as program:
            with looked_at(program.pid, *options) if options is not None else contextlib.nullcontext():
                program.send("go")
                results.append((program.wait(), program.lines))
    assert results[0] == results[1], results
    assert results[0][0] == 9 and results[0][1][-1] == "another program", results[0]


@alone
@each(SHAPES)
@limit(1800)
def test_a_program_that_ends_meanwhile(python):
    python.demand()
    sums = {}
    with visible(python, "short.py") as path:
        for _ in range(size(30, 300)):
            with subprocess.Popen([*python.argv, path], stdout=subprocess.PIPE) as process:
                done = subprocess.run([FOLLOW, str(process.pid)], capture_output=True, text=True, timeout=DEADLINE,
                                      stdin=subprocess.DEVNULL)
                output, _ = process.communicate(timeout=DEADLINE)
            assert output == b"5000\n" and process.returncode == 0, (output, process.returncode)
            assert done.returncode == 0, (done.stdout, done.stderr)
            for name, value in json.loads(done.stdout).items():
                sums[name] = sums.get(name, 0) + value
    assert sums["seen"] > 0 and sums["stacks"] > 0 and sums["ended"] + sums["not_found"] > 0, sums
    assert children(os.getpid()) == [], children(os.getpid())
    record_figure(f"Programs that end meanwhile, {python.label}", json.dumps(sums))


@contextlib.contextmanager
def followed(pid):
    """darter dump --every, in a process group of its own as a shell would put it."""
    with subprocess.Popen([BUILD / "darter", "dump", "--every", "0.001", "--no-source", "--quiet", str(pid)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=os.setpgrp) as process:
        try:
            yield process
        finally:
            process.kill()


@alone
@each([python for python in SHAPES if python.version >= (3, 12)])
def test_ctrl_z_waits_until_nothing_is_held(python):
    """Two interpreters that compute must be stopped for each look: none of them stands while darter does."""
    with target(python, "hammer.py", "interpreters") as program, followed(program.pid) as process:
        time.sleep(0.2)
        for _ in range(size(30, 300)):
            time.sleep(0.005)
            process.send_signal(signal.SIGTSTP)
            wait_for(lambda: process_state(process.pid) == "T", "darter is stopped")
            states = [process_state(task.name) for task in Path(f"/proc/{program.pid}/task").iterdir()]
            assert "t" not in states, states
            process.send_signal(signal.SIGCONT)
        assert process.poll() is None


@alone
@each([python for python in SHAPES if python.version >= (3, 12)])
def test_two_at_the_same_program(python):
    """Each finds threads that the other one holds: for a moment, which is no reason to give up."""
    with target(python, "hammer.py", "interpreters") as program, followed(program.pid) as process:
        for _ in range(size(20, 200)):
            done = subprocess.run([BUILD / "darter", "dump", "--json", str(program.pid)], capture_output=True, text=True,
                                  check=True)
            (snapshot,) = json.loads(done.stdout)["snapshots"]
            assert snapshot["torn"] == 0 and snapshot["warnings"] == [], snapshot
        assert process.poll() is None
