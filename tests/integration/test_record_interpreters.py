"""Recordings of programs with several interpreters: what computes is seen, and a thread's time is counted once, however
many thread states it has."""

from pathlib import Path

from darter_file import Recording
from harness import SHAPES, alone, darter, each, skip, target, wait_for
from recordings import folder

RUNNING, UNSEEN = 1, 8  # a state, a flag
KINDS = ["beside", "inside", "lent", "own", "orphan"]


def cpu_time(pid):
    """Of each thread, in nanoseconds."""
    return {int(task.name): int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()}


def take(pid, *options):
    """A recording, and the time that each thread had while it was made."""
    with folder() as place:
        before = cpu_time(pid)
        darter("record", pid, "--duration", "1", "--rate", "500", "--output", place / "a.darter", *options)
        after = cpu_time(pid)
        made = Recording((place / "a.darter").read_bytes())
    return made, {tid: after[tid] - before.get(tid, 0) for tid in after}


def check_time(made, spent):
    """A thread runs one of its thread states at a time, and has no more time than it had."""
    last, cpu = {}, {}
    for thread, start, length, cpu_ns, _, state, *_ in sorted(made.runs, key=lambda run: run[1]):
        tid = made.threads[thread][1]
        cpu[tid] = cpu.get(tid, 0) + cpu_ns
        if state != RUNNING:
            continue
        assert last.get(tid, 0) <= start, f"thread {tid} runs twice at {start}"
        last[tid] = start + length
    for tid, ns in cpu.items():
        assert not tid or ns <= spent[tid], f"thread {tid}: {ns} ns are told, it had {spent[tid]}"


def computing(made):
    """(interpreter, tid, name) of those that were seen to compute -> nanoseconds, and of how many in all."""
    seen, everything = {}, 0
    for thread, _, length, _, _, state, flags, _, stack in made.runs:
        if state != RUNNING:
            continue
        everything += length
        functions = [location[3] for location in stack]
        if functions and functions[0] in (b"compute", b"within") and not flags & UNSEEN:
            _, tid, _, interpreter, _, name = made.threads[thread]
            seen[interpreter, tid, name] = seen.get((interpreter, tid, name), 0) + length
    return seen, everything


@alone
@each(SHAPES)
@each(KINDS)
def test_what_computes_is_seen(python, kind):
    if python.version < (3, 8):
        skip("Python code makes interpreters from 3.8 on")
    if kind == "own" and python.version < (3, 12):
        skip("an interpreter with a GIL of its own needs 3.12")
    with target(python, "another_interpreter.py", kind) as program:
        if kind == "own":
            wait_for(lambda: program.lines.count("ready") == 2, "both interpreters compute")
        made, spent = take(program.pid)
        pid = program.pid
    check_time(made, spent)
    seen, everything = computing(made)
    # Two that compute at once are on two CPUs, and there is one to look: not all of it is seen.
    assert (8 if kind == "own" else 2) * sum(seen.values()) > everything > 0, f"{seen} of {everything}"
    where = {(interpreter != 0, tid == pid) for interpreter, tid, _ in seen}
    assert where == {"beside": {(False, True)}, "inside": {(True, True)}, "lent": {(True, False)}, "own": {(True, False)},
                     "orphan": {(True, True)}}[kind], seen
    if kind == "lent":  # the main thread made it, and does not run it
        assert all(name != b"MainThread" for _, _, name in seen), seen
    assert len(made.threads) <= 5, made.threads
