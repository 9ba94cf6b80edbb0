"""What a recording makes of a target that changes while it is not looked at."""

import contextlib
import os
import platform
import re
import signal
import subprocess
import time
from pathlib import Path

from darter_file import Recording
from harness import SOME_SHAPES, SYSTEM, TARGETS, USABLE, alone, darter, each, limit, need_root, process_state, size, skip, target, \
    wait_for
from recordings import Recorder, folder, stacks

UNKNOWN, SLEEPING = 0, 4  # states in a .darter file


@each(SOME_SHAPES)
@limit(120)
def test_threads_that_follow_each_other_are_several(python):
    with target(python, "successors.py") as program, folder() as place:
        with Recorder(["-r", "500", "-d", "2", "-o", "x.darter", program.pid], place) as recorder:
            recorder.end(None)
        found = stacks(place / "x.darter", "--idle", "--threads")
    turns = {name for path, _ in found for name in re.findall(r"turn-\d+", path[0])}
    asleep = sum(weight for path, weight in found if path[-1].startswith("take_turn"))
    # There are some twenty. A thread that is taken for its predecessor has no name of its own, and its state is not known.
    assert len(turns) >= 8 and asleep >= 1000000, found


@limit(120)
def test_a_look_that_came_late_is_made_good():
    """The recorder is stopped while the target works, and goes on while it sleeps: the rest of the sleep is sleep."""
    with target(SOME_SHAPES[-1], "phases.py", "plain", "2000", "6000") as program, folder() as place:
        with Recorder(["-r", "100", "-d", "6", "-o", "x.darter", program.pid], place) as recorder:
            recorder.wait_said("recording process")
            recorder.send(signal.SIGSTOP)
            wait_for(lambda: process_state(program.pid) == "S", "the target rests")
            time.sleep(0.5)
            recorder.send(signal.SIGCONT)
            recorder.end(None)
        found = stacks(place / "x.darter", "--idle")
        text = darter("report", place / "x.darter").stdout
    rested = sum(weight for path, weight in found if path[-1].startswith("rest"))
    assert rested >= 1500000, found
    # Of the time in which it was stopped nothing is told.
    assert sum(weight for _, weight in found) <= 4500000, found
    assert re.search(r"lost \d{3}", text) and "did not take place" in text, text


SHORT_THREADS = """
import sys, threading, time
def work():
    for i in range(3000): pass
end = time.time() + float(sys.argv[1])
while time.time() < end:
    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@each(SOME_SHAPES)
def test_a_thread_that_has_not_begun_has_no_time(python):
    """Its thread state is there before: without a number, or with that of the thread that made it."""
    python.demand()
    with folder() as place:
        darter("record", "-q", "-r", 500, "-o", place / "x.darter", "--", *python.argv, "-c", SHORT_THREADS, size(2, 10), check=0)
        found = stacks(place / "x.darter", "--idle", "--threads")
    names = {path[0] for path, _ in found}
    # One that was met once, just as it ended, may stay without a number.
    unnumbered = sum(weight for path, weight in found if "thread 0x" in path[0])
    assert unnumbered * 50 <= sum(weight for _, weight in found), (unnumbered, names)
    assert len([name for name in names if "MainThread" in name]) == 1, names
    assert any(frame.startswith("work ") for path, _ in found for frame in path), found


ONE_AFTER_THE_OTHER = """
import sys, threading, time
def rest():
    time.sleep(0.03)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    thread = threading.Thread(target=rest)
    thread.start()
    thread.join()
"""


@each(SOME_SHAPES)
def test_a_thread_in_the_place_of_one_that_ended(python):
    """Its thread state lies where that of the last holder of the GIL was: it is watched, and asked what it does, as any other."""
    python.demand()
    with folder() as place:
        darter("record", "-q", "-o", place / "x.darter", "--", *python.argv, "-c", ONE_AFTER_THE_OTHER, size(2, 10), check=0)
        runs = Recording((place / "x.darter").read_bytes()).runs
    samples = {state: sum(run[4] for run in runs if run[5] == state) for state in range(8)}
    assert samples[UNKNOWN] * 20 <= sum(samples.values()), samples
    assert samples[SLEEPING] * 2 >= sum(samples.values()), samples


SHORT_JOBS = """
import sys, threading, time
spent = 0.0
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def job(seconds):
    global spent
    burn(seconds)
    spent += time.thread_time()
seconds, end = float(sys.argv[1]), time.time() + float(sys.argv[2])
while time.time() < end:
    thread = threading.Thread(target=job, args=(seconds,))
    thread.start()
    thread.join()
    time.sleep(seconds)
print(spent)
"""


@alone
@each(SOME_SHAPES)
@each(["0.001", "0.008", "0.03"])
def test_cpu_time_of_threads_that_live_shortly(python, seconds):
    """Most of them, or of their time, no look meets."""
    python.demand()
    if python.version < (3, 7):
        skip("there is no clock of a thread before 3.7")
    with folder() as place:
        done = darter("record", "-q", "-o", place / "x.darter", "--", *python.argv, "-c", SHORT_JOBS, seconds, size(2, 10), check=0)
        found = stacks(place / "x.darter", "--cpu")
    truth, whole = float(done.stdout) * 1e6, sum(weight for _, weight in found)
    seen = sum(weight for path, weight in found if any(frame.startswith(("burn ", "job ", "[")) for frame in path))
    assert truth * 0.6 < seen and truth * 0.75 < whole < truth * 1.6, (truth, seen, whole, found)


def looks(pid):
    """Is the thread that samples not asleep?"""
    calls = [Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0] for tid in os.listdir(f"/proc/{pid}/task")]
    return "230" not in calls  # clock_nanosleep


@limit(120)
def test_a_look_that_was_stopped_is_not_a_long_one():
    """After a look that takes long there is a rest, or the target would not get on: how long we were stopped is no part of
    it."""
    if platform.machine() != "x86_64":
        skip("the numbers of system calls are those of x86-64")
    with target(SYSTEM, "hammer.py", "deep") as program, folder() as place:
        with Recorder(["-r", "5000", "-d", "6", "-o", "x.darter", program.pid], place) as recorder:
            recorder.wait_said("recording process")
            for _ in range(300):
                time.sleep(0.003)
                recorder.send(signal.SIGSTOP)
                wait_for(lambda: process_state(recorder.process.pid) == "T", "darter is stopped")
                if looks(recorder.process.pid):
                    break
                recorder.send(signal.SIGCONT)
            time.sleep(1.5)
            recorder.send(signal.SIGCONT)
            recorder.end(None)
        text = darter("report", place / "x.darter").stdout
    rounds = re.search(r"samples in ([\d,]+) rounds", text)
    assert int(rounds[1].replace(",", "")) >= 2000, text


@alone
@each(SOME_SHAPES)
@limit(120)
def test_who_has_only_just_woken_sleeps(python):
    """The timer that wakes the target and ours often fire together. Who is kept from its CPU by others when it wakes is
    awake there: that is counted by the kernel."""
    need_root()
    with target(python, "phases.py", "plain", "0.4", "0.4") as program, folder() as place:
        before = sched_ns(program.pid)[1]
        with Recorder(["-r", "1000", "-d", size(2, 10), "-o", "x.darter", program.pid], place) as recorder:
            recorder.end(None)
        waited = (sched_ns(program.pid)[1] - before) / 1e3
        running, all_of_it = stacks(place / "x.darter"), stacks(place / "x.darter", "--idle")
    awake = sum(weight for path, weight in running if path[-1].startswith("rest"))
    asleep = sum(weight for path, weight in all_of_it if path[-1].startswith("rest"))
    assert asleep > 500000 and awake < 0.07 * asleep + waited, (waited, running, all_of_it)


# Computes in C, without the GIL.
HASHES = """
import hashlib, os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
block = b"x" * (1 << 20)
print("ready", flush=True)
while True:
    hashlib.sha256(block).digest()
"""


@contextlib.contextmanager
def started(python, text, place, count, *args):
    """Programs with this text that have said "ready"."""
    (place / "program.py").write_text(text)
    programs = [subprocess.Popen([*python.argv, place / "program.py", *args], stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for program in programs:
            assert program.stdout.readline() == b"ready\n"
        yield [program.pid for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.wait()
            program.stdout.close()


@limit(120)
def test_who_waits_for_a_cpu_does_not_sleep():
    """Three programs share a CPU: what the kernel has put aside for another one is ready to run."""
    need_root()
    cpu = max(os.sched_getaffinity(0))
    with folder() as place:
        with started(SYSTEM, HASHES, place, 3, str(cpu)) as pids:
            with Recorder(["-r", "500", "-d", size(2, 10), "-o", "x.darter", pids[0]], place) as recorder:
                recorder.end(None)
        awake, all_of_it = (sum(weight for _, weight in stacks(place / "x.darter", *how)) for how in ([], ["--idle"]))
    assert all_of_it > 1500000 and awake > 0.9 * all_of_it, (awake, all_of_it)


NAPS = "import time\nend = time.time() + 60\nprint('ready', flush=True)\nwhile time.time() < end: time.sleep(0.01)\n"


@limit(120)
def test_processes_that_nearly_only_sleep():
    """There is no time to look at all of them in one moment; that they were not seen does not mean that they ran."""
    with folder() as place:
        with started(SYSTEM, NAPS, place, 20) as pids:
            with Recorder(["-r", "100", "-d", size(2, 10), "-o", "x.darter", *pids], place) as recorder:
                recorder.wait_said("recording 20 processes")
                before = sum(ready_ns(pid) for pid in pids)
                time.sleep(size(1.5, 9))
                ready = (sum(ready_ns(pid) for pid in pids) - before) / size(1.5, 9) / 1e9 / len(pids)
                recorder.end(None)
        awake, all_of_it = (sum(weight for _, weight in stacks(place / "x.darter", *how)) for how in ([], ["--idle"]))
    assert all_of_it > 20e6 and awake / all_of_it < ready + 0.1, (awake, all_of_it, ready)


def sched_ns(pid):
    """How long it ran, and waited for a CPU."""
    return [int(word) for word in Path(f"/proc/{pid}/schedstat").read_text().split()[:2]]


def ready_ns(pid):
    return sum(sched_ns(pid))


# Makes codes that have the address of one that has just ended; each of two functions calls its own.
CODES = """
import gc, sys, threading, time, types
pad = "    if s is None:\\n" + "        s(s, s)\\n" * 9000
sources = ["def in_%s(s):\\n    s(0.0012)\\n" % name + pad for name in "ab"]
codes = [code for source, name in zip(sources, "ab") for code in compile(source, name + ".py", "exec").co_consts
         if hasattr(code, "co_code")]
never = threading.Event()
for _ in range(120):
    threading.Thread(target=never.wait, daemon=True).start()
def run_a():
    types.FunctionType(codes[0].replace(co_firstlineno=1), {})(time.sleep)
def run_b():
    types.FunctionType(codes[1].replace(co_firstlineno=1), {})(time.sleep)
gc.disable()
gc.collect()
gc.freeze()
print("ready", flush=True)
while True:
    run_a()
    gc.collect()
    run_b()
    gc.collect()
"""


@each([python for python in USABLE if python.version >= (3, 14)])
@limit(120)
def test_a_code_that_takes_the_place_of_another(python):
    """It is noticed, also when that happens between two questions of a look."""
    python.demand()
    if python.root:
        skip("tried with the Pythons of this machine's own root")
    with folder() as place:
        with started(python, CODES, place, 1) as pids:
            with Recorder(["-r", "1000", "-d", size(5, 60), "--perch", "off", "-o", "x.darter", *pids], place) as recorder:
                recorder.end(None)
        found = ["".join(part[0] for frame in path for part in re.findall(r"(?:run|in)_([ab]) ", frame))
                 for path, _ in stacks(place / "x.darter", "--idle", "--main-thread")]
    assert "aa" in found and "bb" in found and "ab" not in found and "ba" not in found, found


# Becomes itself again, by a thread, with so much to carry over that this takes a while; at last it is to get signals.
REBORN = """
import os, signal, sys, threading, time
left = int(sys.argv[1])
def become():
    end = time.time() + 0.05
    while time.time() < end: pass
    os.execv(sys.executable, [sys.executable, "-S", "-E", __file__, str(left - 1)] + ["x" * 100000] * 14)
if left:
    thread = threading.Thread(target=become)
    thread.start()
    thread.join()
heard = []
signal.signal(signal.SIGALRM, lambda *what: heard.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
end = time.time() + 0.5
while time.time() < end: pass
signal.setitimer(signal.ITIMER_REAL, 0)  # one that comes while the interpreter ends would kill it
sys.exit(7 if heard else 8)
"""


@limit(120)
def test_a_thread_that_becomes_another_program_while_it_is_stopped():
    """It gets the number of its process; who traces it must let go of it all the same."""
    with folder() as place:
        (place / "reborn.py").write_text(REBORN)
        command = ["-q", "-r", "2000", "--pause", "always", "-o", "x.darter", "--", *SYSTEM.argv, "-S", "-E", "reborn.py"]
        for _ in range(size(2, 10)):
            with Recorder([*command, "10"], place) as recorder:
                recorder.end(None, check=7)


@each(SOME_SHAPES)
@limit(120)
def test_a_program_that_dies_while_it_is_stopped(python):
    """Its threads are stopped all the time: one that dies meanwhile, or stops late, is let go."""
    python.demand()
    if python.root:
        skip("the program is started by darter, in this machine's own root")
    with folder() as place:
        for _ in range(size(4, 50)):
            command = ["-q", "-r", "1000", "--pause", "always", "-o", "x.darter", "--", *python.argv, TARGETS / "killed.py", "0.2"]
            with Recorder(command, place) as recorder:
                recorder.end(None, check=128 + signal.SIGKILL)
