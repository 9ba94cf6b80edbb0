"""Recordings of programs with many threads, some of which come and go."""

import os
import re
from pathlib import Path

from harness import ROOT, SOME_SHAPES, SYSTEM, darter, each, limit, need_root, target, wait_for
from recordings import Recorder, folder, stacks

TURNS = "go_left", "go_right"
ASAN = ROOT / os.environ.get("DARTER_BUILD_ASAN", "build-asan")


@each(SOME_SHAPES)
@limit(180)
def test_who_has_run_is_seen_where_it_is(python):
    """Of many threads only those are looked at that have run since the last time: a stack is neither a mixture nor an old one."""
    with target(python, "many_turns.py", "150") as program, folder() as place:
        with Recorder(["-r", "100", "-d", "4", "-o", "x.darter", program.pid], place) as recorder:
            recorder.end(None)
        found = stacks(place / "x.darter", "--idle", "--threads", "--no-lines")
        text = darter("report", place / "x.darter").stdout
    spent = dict.fromkeys(TURNS, 0)
    for path, weight in found:
        names = [re.split(r"[ (]", frame)[0].split(".")[-1] for frame in path]
        for turn in TURNS:
            if turn in names:
                below = names[names.index(turn) + 1:]
                assert below in ([], [turn.replace("go", "sleep")], ["[torn]"]), (path, text)
                spent[turn] += weight
    whole = sum(weight for _, weight in found)
    # Half of the time each. One that is shown where it was at first would have all of it, or none.
    assert sum(spent.values()) >= whole // 2 and min(spent.values()) * 4 >= max(spent.values()), (spent, whole, text)


@each([30, 150])
@limit(180)
def test_who_was_not_touched_is_as_before(count):
    """The build that looks for mistakes goes over all threads in each round, and ends where one changed without a word."""
    with target(SYSTEM, "many_turns.py", count) as program, folder() as place:
        done = darter("record", "-r", "1000", "-d", "4", "-o", place / "x.darter", program.pid, build=ASAN)
        assert done.returncode == 0 and "mistake" not in done.stderr, done.stderr
        counted = re.search(r"([\d,]+) samples in", darter("report", place / "x.darter").stdout)
    assert counted and int(counted[1].replace(",", "")) > 100 * count, counted


def scheduled(pid):
    """State and policy of each thread."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            fields = Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        found[tid] = fields[0], int(fields[38])
    return found


@limit(180)
def test_nobody_is_kept_from_a_cpu_while_many_are_looked_at():
    """Only the thread that runs is looked at with a real-time priority: the others take milliseconds."""
    need_root()
    brisk = set()

    def gets_up():
        now = scheduled(recorder.process.pid)
        brisk.update(tid for tid, (_, policy) in now.items() if policy == os.SCHED_FIFO)
        return any(state == "R" and policy == os.SCHED_OTHER for tid, (state, policy) in now.items() if tid in brisk)

    with target(SYSTEM, "many_turns.py", "500") as program, folder() as place:
        with Recorder(["-r", "100", "-o", "x.darter", program.pid], place) as recorder:
            recorder.wait_said("recording process")
            for _ in range(3):
                wait_for(gets_up, "the thread that samples works with an ordinary priority")
            recorder.end()
