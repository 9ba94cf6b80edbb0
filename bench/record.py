"""Recordings: darter and the other profilers on the same targets, at the same rates, for the same time.

What a profiler costs while it records is taken from a window in the middle of a recording, so that a long start does
not count as many samples; what its start and its end cost is told beside it.
"""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import measure
import profiles
import recorders
import rivals
import rules
from harness import BUILD, DARTER, target, wait_for
from pythons import ask

TARGETS = Path(__file__).resolve().parent / "targets"
SECONDS, WARM_UP, WINDOW = 4, 1.0, 2.5  # of a recording; what is measured of it
ALONE = 0.7  # seconds in which the target is watched without a profiler, before and after
# Seconds after its time when a profiler is interrupted (later where the whole command counts), and when it is killed.
GRACE, LONG_GRACE, DEADLINE = 1.5, 20, 40
HIGHEST = 1000000
PROCESSES = 100


@dataclass
class Place:
    """Where the target of a recorder runs: a Python, in a root with a /proc of its own if it has one."""

    python: object

    @property
    def wrap(self):
        mount = 'mount -t proc proc "$0/proc" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mount, self.python.root] if self.python.root else []

    @contextlib.contextmanager
    def folder(self):
        inside = f"{self.python.root}/tmp" if self.python.root else None
        with tempfile.TemporaryDirectory(prefix="darter-bench-", dir=inside) as path:
            yield Path(path)

    @contextlib.contextmanager
    def deep(self, threads, kind):
        """bench/targets/deep.py: the program, the page that it counts in, and a folder that it can see."""
        with self.folder() as folder, open(folder / "page", "w+b", buffering=0) as page:
            page.truncate(4096)
            inside = page.name[len(self.python.root):]
            with target(self.python, TARGETS / "deep.py", inside, threads, kind, wrap=self.wrap) as program:
                yield program, page, folder

    @contextlib.contextmanager
    def script(self, name, *args):
        with self.folder() as folder, target(self.python, name, *args, wrap=self.wrap) as program:
            yield program, folder


@dataclass
class Taken:
    """One recording, measured. share: of a core, while it recorded; cpu: seconds, of the whole command."""

    share: float
    cpu: float
    memory: int
    size: int
    profile: profiles.Profile
    seconds: float
    during: dict = field(default_factory=dict)  # of the target, per second

    @property
    def rate(self):
        return self.profile.rounds / self.seconds

    @property
    def per_sample(self):
        return self.share / self.rate

    @property
    def around(self):
        """CPU seconds of the start and the end."""
        return max(0.0, self.cpu - self.share * self.seconds)


# ---- one recording ----


def cpu_of(pid):
    """Seconds of CPU of another process, those of its ended threads included, as exact as the scheduler's account."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_of(pid):
    """Bytes; 0 if it is gone. The kernel's figure at exit would have the bench's own memory in it."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def felt(pid, page):
    """What the target's main thread has done so far: counted, waited for a CPU (ns)."""
    page.seek(0)
    waited = int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])
    return time.perf_counter(), int.from_bytes(page.read(8), "little"), waited


def per_second(before, after):
    took = after[0] - before[0]
    return {"counted": (after[1] - before[1]) / took, "waited": (after[2] - before[2]) / 1e9 / took}


def watch(pid, page, seconds):
    before = felt(pid, page)
    time.sleep(seconds)
    return per_second(before, felt(pid, page))


def until_end(pid, seconds, grace):
    """(CPU seconds, peak of memory, seconds that it took). Some take so many samples as should have been taken in their
    time, however long that lasts: they are interrupted."""
    begin, peak, due = time.monotonic(), 0, [(seconds + grace, signal.SIGINT), (seconds + DEADLINE, signal.SIGKILL)]
    interrupted = None
    while True:
        peak = max(peak, peak_of(pid))
        ended, _, usage = os.wait4(pid, os.WNOHANG)
        now = time.monotonic() - begin
        if ended:
            return usage.ru_utime + usage.ru_stime, peak, interrupted or min(now, seconds)
        if due and now > due[0][0]:
            interrupted = interrupted or now
            os.kill(pid, due.pop(0)[1])
        time.sleep(0.02)


def take(recorder, job, page=None, stacks=False, warm_up=WARM_UP, window=WINDOW):
    """Records once. page: of the target, to see what it feels."""
    output = job.output.with_suffix(".log")
    into = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2)]
    alone = [watch(job.pid, page, ALONE)] if page else []
    argv = recorder.argv(job)
    pid = os.posix_spawnp(argv[0], argv, {**os.environ, "NO_COLOR": "1"}, file_actions=into)
    spawned = time.perf_counter()
    time.sleep(warm_up)
    used, begin, before = cpu_of(pid), time.perf_counter(), felt(job.pid, page) if page else None
    time.sleep(window)
    after = felt(job.pid, page) if page else None
    used, took = cpu_of(pid) - used, time.perf_counter() - begin
    failed = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # long before its time
    passed = time.perf_counter() - spawned
    cpu, peak, rest = until_end(pid, job.seconds - passed, LONG_GRACE if job.children else GRACE)
    # Its exit code does not matter: that of austin 4 is never 0.
    answer = output.read_text(errors="replace")
    if failed:
        raise profiles.Unreadable(f"{recorder.title} has ended: {answer[-500:]}")
    profile = recorder.read(job, answer, stacks)
    if not profile.rounds:
        raise profiles.Unreadable(f"{recorder.title} has no sample: {answer[-500:]}")
    taken = Taken(used / took, cpu, peak, job.output.stat().st_size, profile, passed + rest)
    if page:
        alone.append(watch(job.pid, page, ALONE))
        during = per_second(before, after)
        counted = statistics.mean(one["counted"] for one in alone)
        taken.during = {"slower": 1 - during["counted"] / counted,
                        "waited": during["waited"] - statistics.mean(one["waited"] for one in alone)}
    return taken


# ---- what is measured; each gives name of a row -> value ----


def helper(name, *args):
    """What a program of bench/ tells; nothing if it fails."""
    done = subprocess.run([BUILD / "bench" / name, *map(str, args)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def busy(place, recorder, rate, threads, name):
    with place.deep(threads, "computing") as (program, page, folder):
        wait_for(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == threads, "all threads")
        job = recorders.Job(program.pid, rate, SECONDS, folder / "out.profile", place.python.root, threads=threads)
        values = of_busy(take(recorder, job, page))
        if recorder.name == "darter" and threads == 1:
            values["nap"] = helper("nap", program.pid, rate, 2).get("us")
        return {f"{name} {key}": value for key, value in values.items()}


def of_busy(taken):
    return {"us": taken.per_sample * 1e6, "share": taken.share * 100, "rate": taken.rate, "around": taken.around * 1e3,
            "slower": taken.during["slower"] * 100, "waited": taken.during["waited"] * 100}


def still(place, recorder):
    """The highest rate on a thread that sleeps; for darter also how often a stack alone can be read."""
    found = {}
    with place.deep(1, "sleeping") as (program, _, folder):
        job = recorders.Job(program.pid, HIGHEST, 2, folder / "out.profile", place.python.root)
        taken = take(recorder, job, warm_up=0.7, window=1.0)
        found["highest rate"] = taken.rate
        if recorder.name == "darter":
            told = helper("gather", program.pid, 2)
            found.update({"raw gathers": told.get("raw"), "proven gathers": told.get("proven")})
    return found


def truth(place, recorder):
    with place.script("hammer.py", "single") as (program, folder):
        judge = rules.Rules(program.lines[:program.lines.index("ready")])
        job = recorders.Job(program.pid, 1000, SECONDS, folder / "out.profile", place.python.root)
        return of_truth(take(recorder, job, stacks=True), judge)


def of_truth(taken, judge):
    """Looks that failed have no stack: they are lost, too."""
    shares = rules.shares(judge, taken.profile.stacks)
    seen = 1 - taken.profile.failed / max(1, taken.profile.rounds)
    return {"impossible": shares[rules.IMPOSSIBLE] * seen * 100, "lost": (1 - seen + shares[rules.LOST] * seen) * 100,
            "bytes": taken.size / max(1, taken.profile.rounds) * 1e6}


def family(place, recorder):
    if not recorder.children:
        return {}
    with place.script("family.py", PROCESSES) as (program, folder):
        job = recorders.Job(program.pid, 20, 4, folder / "out.profile", place.python.root, children=True)
        taken = take(recorder, job, stacks=True)
    return {"processes": taken.profile.processes, "family cpu": taken.cpu, "family share": taken.share * 4,
            "family memory": taken.memory / 1e6}


# ---- the table ----

# key, what it is, digits, is less better? (None: no ratio)
ROWS = [
    ("100 us", "own CPU per sample at 100 Hz, us", 1, True),
    ("1000 us", "own CPU per sample at 1 kHz, us", 1, True),
    ("100 nap", "... of which a sleep alone takes, at 100 Hz", 1, None),
    ("1000 nap", "... and at 1 kHz", 1, None),
    ("1000 around", "CPU of start and end, ms", 0, None),
    ("highest rate", "highest rate on a still thread, samples/s", 0, False),
    ("raw gathers", "raw gathers of a still stack per second of CPU", 0, False),
    ("proven gathers", "the same with all that proves it", 0, False),
    ("50 share", "50 threads at 200 Hz, % of a core", 2, None),
    ("50 rate", "... rounds per second", 1, None),
    ("50 us", "... own CPU per round, us", 0, True),
    ("500 share", "500 threads at 200 Hz, % of a core", 2, None),
    ("500 rate", "... rounds per second", 1, None),
    ("500 us", "... own CPU per round, us", 0, True),
    ("family cpu", "100 processes at 20 Hz for 4 s, CPU s", 3, True),
    ("family share", "... without start and end", 3, True),
    ("family memory", "... peak of memory, MB", 1, True),
    ("processes", "... processes seen, of 101", 0, None),
    ("impossible", "impossible stacks, %", 2, None),
    ("lost", "lost stacks, %", 2, None),
    ("100 slower", "target slower at 100 Hz by, %", 2, None),
    ("1000 slower", "target slower at 1 kHz by, %", 2, None),
    ("50 slower", "target slower, 50 threads at 200 Hz, by, %", 2, None),
    ("100 waited", "target waits for a CPU at 100 Hz, % of its time", 2, None),
    ("1000 waited", "target waits for a CPU at 1 kHz, % of its time", 2, None),
    ("bytes", "bytes for a million samples", 0, True),
]


ABOUT = """All at the same rate for {seconds} s, each on a target of its own that was started for it: {times} for one
busy thread 30 frames deep (the median is shown), once for all else. CPU time is that of the profiler's process by the
kernel's account, in a window in the middle of the recording, divided by the looks that it really took. A sleep alone is
what bench/nap.c uses, which does nothing but sleep as a recording does before each sample. With 50 and 500 threads one
computes and the others sleep, all 30 frames deep. Gathers are counted by bench/gather.c, which reads a stack
as the recorder does; the other profilers have nothing like it, but their highest rate. Stacks are judged by the calls
that tests/targets/hammer.py can make, at 1 kHz; lost are those that the profiler gave up or that do not reach the
beginning of the program. Bytes are those of the file that keeps each sample with its time. `x` is how many times
darter's figure on the same Python. How much slower the target was, and how long it waited, is against the seconds before
and after, when nobody recorded it: around 0 the machine's own noise shows."""


def plan(rounds):
    """(what is said, function(place, recorder)) in the order of measuring."""
    steps = [("one thread", lambda place, one, hz=hz: busy(place, one, hz, 1, str(hz)))
             for _ in range(rounds) for hz in (100, 1000)]
    steps += [(f"{count} threads", lambda place, one, count=count: busy(place, one, 200, count, str(count)))
              for count in (50, 500)]
    return steps + [("a still thread", still), ("true stacks", truth), (f"{PROCESSES} processes", family)]


def measured(steps, found, places):
    """[{row: [values]}], parallel to the recorders. All of them do one step before any does the next."""
    values = [{} for _ in found]
    for what, step in steps:
        print(f"bench: recording, {what}", file=sys.stderr, flush=True)
        for recorder, row in zip(found, values):
            try:
                for key, value in step(places[recorder.newest], recorder).items():
                    if value is not None:
                        row.setdefault(key, []).append(value)
            except (profiles.Unreadable, OSError, ValueError) as failure:
                rivals.say(f"bench: {recorder.title}, {what}: {failure}")
    return [{key: statistics.median(several) for key, several in row.items()} for row in values]


def own(found, values, number):
    """The values of darter on the same target."""
    return next(row for one, row in zip(found, values) if one.name == "darter" and one.newest == found[number].newest)


def cell(found, values, number, row):
    key, _, digits, less = row
    if key not in values[number]:
        return "not measured"
    value, ours = values[number][key], own(found, values, number).get(key)
    text = f"{value:,.{digits}f}"
    if less is None or found[number].name == "darter" or not ours:
        return text
    times = value / ours
    return f"{text} ({f'{times:,.0f}' if times >= 100 else f'{times:.2g}'}x)"


def table(found, values, labels):
    heading = ["", *(f"{one.title}, on {labels[one.newest]}" for one in found)]
    return measure.table(heading, [[row[1], *(cell(found, values, number, row) for number in range(len(found)))]
                                   for row in ROWS])


def goal(text, value, bound, less=True):
    if value is None:
        return f"- {text}: not measured."
    met = value < bound if less else value > bound
    return f"- {text}: {value:,.3g}; goal {'met' if met else 'not met'} ({'under' if less else 'over'} {bound:,})."


def goals(found, values):
    ours, parts = values[0], {"py-spy": 0.1, "austin": 0.5}
    lines = [goal(f"CPU per sample at {said}, as a part of {one.title}'s",
                  ours[key] / row[key] if key in ours and key in row else None, parts[one.name])
             for key, said in (("100 us", "100 Hz"), ("1000 us", "1 kHz"))
             for one, row in zip(found, values) if one.name in parts]
    return lines + [goal("raw gathers per second", ours.get("raw gathers"), 300000, less=False),
                    goal("50 threads at 200 Hz, % of a core", ours.get("50 share"), 3),
                    goal("100 processes at 20 Hz for 4 s, CPU s", ours.get("family cpu"), 0.1),
                    goal("... without start and end, CPU s", ours.get("family share"), 0.1),
                    goal("100 processes, MB", ours.get("family memory"), 20)]


def bench(rounds, python):
    sid, why = recorders.sid_root()
    newest = ask("/usr/bin/python3.15", sid) if sid else None
    found, missing = recorders.find(DARTER, newest, sid)
    places = {False: Place(python), True: Place(newest)}
    labels = {False: python.text, True: newest.text if newest else ""}
    times = max(1, rounds // 15)
    values = measured(plan(times), found, places)
    lines = [ABOUT.format(seconds=SECONDS, times=f"{times} {'time' if times == 1 else 'times'}"), "",
             *goals(found, values), ""]
    if missing:
        lines.insert(1, f"Not here, so not measured: {', '.join(missing)}.{' ' + why if why else ''}")
    return {"Recording, against other profilers": "\n".join([*lines, table(found, values, labels)])}
