"""The target does not notice that it is recorded: how much it is delayed, and what is left when darter is killed.

Its delay is what the scheduler says: time in which its threads could have run and waited for a CPU, against the same time
without a recording, and the time in which darter held them. What the other programs of the machine do is in both.
"""

import json
import os
import random
import signal
import statistics
import subprocess
import time
from pathlib import Path

from harness import BUILD, FULL, SOME_SHAPES, SYSTEM, USABLE, again, alone, each, limit, need_program, need_root, \
    process_state, record_figure, size, skip, target, wait_for
from recordings import Recorder, folder, functions, wait_recorded
from unharmed import check_assault, play, run_assault

# How a recording looks: (options of darter, of tests/hammer/assault.c, what is put before both)
WEAK = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
RUNGS = {
    "perch, real-time priority": ([], [], []),
    "perch, short time slice": ([], [], WEAK),
    "beside, with pauses": (["--perch", "off"], ["no-perch"], []),
    "always with pauses": (["--perch", "off", "--pause", "always"], ["no-perch", "always-pause"], []),
}
GOALS = {("perch", 100): 0.5, ("perch", 1000): 5, ("beside", 100): 0.5, ("beside", 1000): 1}  # percent of its time
PYTHONS = [python for python in USABLE if python in (SYSTEM, USABLE[-1]) or python.version[:2] == (3, 8)] if FULL else [SYSTEM]
CASES = [(count, rate, way) for count in (1, 50, 500) for rate in (100, 1000) for way in ("perch", "beside")]
PAIRS = size(1, 4)      # of a window with and one without a recording
WINDOW = size(0.3, 2.0)  # seconds
STOPPED = 0.009  # of the time, by its own count: 0.7 %, and what a recording may have at its beginning
QUIET = 0.5      # percent of the time for that a thread may wait for a CPU without us: beyond that goals are not asserted


def demand(rung):
    need_root()
    wrap = RUNGS[rung][2]
    if wrap:
        need_program(wrap[0])
    return RUNGS[rung]


def tasks(pid):
    return list(Path(f"/proc/{pid}/task").iterdir())


def waited(pid):
    """Nanoseconds in which threads of a process waited for a CPU, by the scheduler's account."""
    return sum(int((task / "schedstat").read_text().split()[1]) for task in tasks(pid))


def window(pid):
    """Percent of the time that the process was delayed in, all threads together."""
    before, begin = waited(pid), time.monotonic_ns()
    time.sleep(WINDOW)
    return 100 * (waited(pid) - before) / (time.monotonic_ns() - begin)


def check_free(pid):
    """Nobody is stopped, nobody has a tracer; a program that is gone is not free."""
    for task in tasks(pid):
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        assert status["State"][0] not in "Tt" and status["TracerPid"] == "0", (task, status)


def record_window(pid, rate, way, here):
    """A window while it is recorded, and what the recording tells of itself."""
    file = here / "a.darter"
    options = ["--perch", "off"] if way == "beside" else []
    with Recorder(["--json", "-q", "-r", rate, "-o", file, *options, pid], here) as recorder:
        wait_recorded(file, pid)
        delay = window(pid)
        told = json.loads(recorder.end())
    file.unlink()
    return delay, told


def measure(program, rate, way, here):
    """Percent of delay without a recording, and with one; percent stopped; stops per second (medians), and the rung."""
    found = []
    for number in range(PAIRS):
        without = window(program.pid)
        delay, told = record_window(program.pid, rate, way, here)
        found.append((without, delay, 100 * told["stopped_ns"] / told["duration_ns"],
                      told["stops"] * 1e9 / told["duration_ns"]))
        assert told["rounds"] > 0 and told["samples"] > 0, told
        if not told["stops"]:
            assert told["stopped_ns"] == 0, told
        check_free(program.pid)
        program.send(f"{rate} {way} {number}")
        program.wait_line(f"answer {rate} {way} {number}")
    return *map(statistics.median, zip(*found)), told["rung"]


@alone
@each(PYTHONS)
@limit(3600)
def test_delay(python):
    """One thread computes, all others wait for a lock. Goals are beside the figures: a busy machine does not reach them, and
    they are only asserted where the thread did not wait for others before."""
    rows = ["| threads | Hz | rung | waits for a CPU % | while recorded % | stopped % | stops a second | delay % | goal % |",
            "|---|---|---|---|---|---|---|---|---|"]
    beyond = []
    cases = CASES if FULL else [(50, 100, "perch"), (50, 1000, "beside")]
    for count in sorted({case[0] for case in cases}):
        with target(python, "crowd.py", count) as program, folder() as here:
            wait_for(lambda: len(tasks(program.pid)) == count, "all threads are there")
            for _, rate, way in (case for case in cases if case[0] == count):
                without, recorded, stopped, stops, rung = measure(program, rate, way, here)
                delay = recorded - without + stopped
                rows.append(f"| {count} | {rate} | {rung} | {without:.2f} | {recorded:.2f} | {stopped:.2f} | {stops:.1f} | "
                            f"{delay:.2f} | {GOALS[way, rate]} |")
                if without < QUIET and delay > 1.2 * GOALS[way, rate] + 0.1:
                    beyond.append(rows[-1])
            program.process.stdin.close()
            assert program.wait() == 0, program.stderr
    record_figure(f"Delay while recorded, {python.label}", "\n".join(rows))
    assert not FULL or not beyond, "\n".join(beyond)


def shapes_of(python):
    return ["one", "threads", *(["interpreters"] if python.version >= (3, 12) else [])]


def stopped_share(program, here, *options):
    """What part of the time darter kept threads stopped, by its own count, and how often a second."""
    file = here / "a.darter"
    with Recorder(["--json", "-q", "-d", size(3, 10), "-o", file, *options, program.pid], here) as recorder:
        told = json.loads(recorder.end(None))
    file.unlink()
    assert told["samples"] > 0, told
    return told["stopped_ns"] / told["duration_ns"], told["stops"] * 1e9 / told["duration_ns"]


@alone
@each(SOME_SHAPES)
@limit(3600)
def test_nobody_is_stopped_for_long(python):
    """As docs/record.md says, whichever way threads are stopped. That is darter's own count: it holds on a busy machine."""
    rows = ["| shape | Hz | options | stopped % | stops a second |", "|---|---|---|---|---|"]
    beyond = []
    for shape in shapes_of(python):
        with target(python, "toil.py", shape) as program, folder() as here:
            for options in ((), ("--perch", "off")):
                for rate in (100, 1000)[size(1, 0):]:
                    share, stops = stopped_share(program, here, "-r", rate, *options)
                    rows.append(f"| {shape} | {rate} | {' '.join(options)} | {100 * share:.2f} | {stops:.1f} |")
                    if share >= STOPPED:
                        beyond.append(rows[-1])
    record_figure(f"Stopped while recorded, {python.label}", "\n".join(rows))
    assert not beyond, "\n".join(beyond)


@alone
@each(SOME_SHAPES)
def test_looks_that_take_long_are_fewer(python):
    """As docs/record.md says. A look at 60,000 frames takes 0.6 ms on any machine: 50 a second are three percent."""
    with target(python, "toil.py", "deep") as program, folder() as here:
        file = here / "a.darter"
        before, began = waited(program.pid), time.monotonic_ns()
        with Recorder(["--json", "-q", "-r", 100, "-d", 3, "-o", file, program.pid], here) as recorder:
            told = json.loads(recorder.end(None))
        delay = 100 * (waited(program.pid) - before) / (time.monotonic_ns() - began)
    if not told["rung"].startswith("perch"):
        skip(f"there is no perch: {told['rung']}, {told['rung_why']}")
    record_figure(f"60,000 frames recorded, {python.label}", f"{told['rounds']} rounds in 3 s, {delay:.2f} % of the time the "
                  "program waited for a CPU, of other programs as well")
    assert 0 < told["rounds"] < 150, told


def priorities(program, here, *options):
    """How the threads of darter are scheduled while it records, and the rung that it tells."""
    file = here / "a.darter"
    with Recorder(["--json", "-q", "-o", file, *options, program.pid], here) as recorder:
        wait_recorded(file, program.pid)
        policies = {os.sched_getscheduler(int(task.name)) & ~os.SCHED_RESET_ON_FORK for task in tasks(recorder.process.pid)}
        told = json.loads(recorder.end())
    file.unlink()
    return policies, told["rung"]


@alone
def test_without_a_perch_the_priority_stays():
    """As docs/record.md says: only above 5,000 samples a second there is no real-time priority."""
    need_root()
    with target(SYSTEM, "crowd.py", 2) as program, folder() as here:
        policies, rung = priorities(program, here)
        if rung != "perch, real-time priority":
            skip("there is no real-time priority to be had")
        assert os.SCHED_FIFO in policies, policies
        policies, rung = priorities(program, here, "--perch", "off")
        assert os.SCHED_FIFO in policies and rung == "beside, with pauses", (policies, rung)
        policies, _ = priorities(program, here, "--perch", "off", "-r", 6000)
        assert os.SCHED_FIFO not in policies, policies


@alone
@again("other programs may keep darter from its CPU")
def test_who_waits_for_a_cpu_is_seen_with_pauses():
    """A thread that waits for a CPU does not stop in time, but stands: it is looked at as it is."""
    need_root()
    cpu = max(os.sched_getaffinity(0))
    with target(SYSTEM, "toil.py", "one") as program, target(SYSTEM, "toil.py", "one") as rival, folder() as here:
        for pid in (program.pid, rival.pid):
            os.sched_setaffinity(pid, {cpu})
        with Recorder(["--json", "-q", "-d", 3, "--pause", "always", "-o", "a.darter", program.pid], here) as recorder:
            told = json.loads(recorder.end(None))
    assert told["stops"] > 10, told
    assert 8 * told["unseen"] < told["samples"], told


@alone
@each(SOME_SHAPES)
@limit(3600)
def test_killed_while_recording(python):
    """As test_unharmed.test_killed_while_looking, of a recording."""
    rows = ["| rung | kills | recordings | rounds | threads stopped | stopped just after a kill | left stopped |",
            "|---|---|---|---|---|---|---|"]
    lines = [f"line {number}" for number in range(20)]
    _, code, program = play(python, lines)
    expected = list(program.lines), code
    assert code == 7 and program.lines[-1] == "end []", program.lines
    for rung in RUNGS:
        _, options, wrap = demand(rung)
        found = {}
        _, code, program = play(python, lines, lambda pid: found.update(
            run_assault(pid, size(8, 200), "record", *options, wrap=wrap)))
        assert (program.lines, code) == expected, (rung, program.lines, code)
        check_assault(found, size(8, 200), options)
        rows.append(f"| {rung} | {found['rounds']} | {found['attaches']} | {found['takes']} | {found['pauses']} | "
                    f"{found['soon']} | {found['left']} |")
    record_figure(f"Target unharmed while recorded, {python.label}", "\n".join(rows))


@alone
@each(SOME_SHAPES if FULL else SOME_SHAPES[1::2])
@each(RUNGS)
@limit(3600)
def test_system_calls_are_not_interrupted(python, rung):
    _, options, wrap = demand(rung)
    with target(python, "interrupted.py") as program:
        found = run_assault(program.pid, size(10, 200), "record", *options, wrap=wrap)
        check_assault(found, size(10, 200), options)
        program.process.stdin.close()
        assert program.wait() == 0, program.stderr
        counts = json.loads(program.lines[-1])
    assert set(counts) == {"sleeps", "polls", "selects", "epolls", "reads", "works"}, counts
    for name, mine in counts.items():
        assert mine["calls"] > 0 and mine["failed"] == 0, (name, mine)
        # See test_unharmed: a thread that is to be stopped may just enter a call, and this is the one that shows it.
        if name != "epolls":
            assert mine["interrupted"] == 0, (name, mine)
    record_figure(f"epoll_wait interrupted while recorded, {python.label}, {rung}",
                  f"{counts['epolls']['interrupted']} of {counts['epolls']['calls']} calls, {found['takes']} rounds, "
                  f"{found['pauses']} threads stopped")


def lasted(file):
    done = subprocess.run([BUILD / "tests" / "hammer" / "lasted", file], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def kill_recorder(program, rung, here, seconds):
    """Kills darter so many seconds after its file has begun. How much is missing at the end of it, in seconds."""
    options, _, wrap = RUNGS[rung]
    file = here / "a.darter"
    with Recorder(["-q", "-r", 500, "-o", file, *options, program.pid], here, wrap=wrap) as recorder:
        wait_recorded(file, program.pid)
        time.sleep(seconds)
        killed = time.time_ns()
        recorder.end(signal.SIGKILL, check=-signal.SIGKILL)
    check_free(program.pid)
    found = lasted(file)
    assert not found["ended"] and 0 < found["samples"] and found["last_ns"] <= found["duration_ns"], found
    assert "compute" in functions(file, "--idle"), functions(file, "--idle")
    file.unlink()
    # One is by the clock of the day, the other by one that nobody sets: a machine that does so is not for the full tier.
    return (killed - found["began_realtime_ns"] - found["last_ns"]) / 1e9


@alone
@each(RUNGS)
@limit(3600)
def test_what_a_killed_recording_leaves(rung):
    """A file that can be read, of all but the last second."""
    demand(rung)
    chance = random.Random(os.getpid())
    with target(SYSTEM, "crowd.py", 4) as program, folder() as here:
        missing = [kill_recorder(program, rung, here, chance.uniform(0, 1.5)) for _ in range(size(1, 30))]
        assert process_state(program.pid) in "RS"
        program.send("still here?")
        program.wait_line("answer still here?")
        program.process.stdin.close()
        assert program.wait() == 0, program.stderr
    record_figure(f"Lost by a kill, {rung}", f"{max(missing):.2f} s at most, in {len(missing)} recordings")
    assert not FULL or max(missing) <= 1, missing
