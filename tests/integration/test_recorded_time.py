"""Where the time goes in a recording, against the program's own clock (tests/targets/phases.py).

On a quiet machine, which the full tier needs, shares are right within a point; on a busy one, where the program waits for
a CPU whenever it is to change over, they are still near. Where there is no perch, what was not seen may be work or rest,
but the states of threads, which are always seen, must be right within two points.
"""

import contextlib
import json
import mmap
import os
import struct
import subprocess
from pathlib import Path

from harness import BUILD, FULL, SHAPES, SOME_SHAPES, SYSTEM, alone, each, limit, need_program, need_root, record_figure, size, \
    skip, target
from users import ordinary_user

SHARES = BUILD / "tests" / "hammer" / "shares"
CYCLES = [("plain", 0.4, 0.4), ("plain", 2, 1), ("calls", 1, 0.5), ("plain", 10, 100), ("plain", 1, 19), ("plain", 19, 1),
          ("holds", 2, 1), ("releases", 2, 1), ("syscalls", 2, 1), ("hands", 2, 0), ("plain", 1, 3)]
SECONDS = size(1.2, 16)
POINTS = size(20, 1)        # of difference that are allowed
UNSEEN = 10                 # percent on a perch: a program that goes to another CPU each time it wakes is met late
STATE_POINTS = size(20, 2)  # without a perch
SAMPLES = 10000             # that a figure of the full tier stands on: looks at one thread
STOLEN = 1.0                # percent of the machine's time that others may take from it
TAKES = size(1, 4)
TIMED = SHAPES[::3] if FULL else SOME_SHAPES


def told(programs, count=4):
    """Seconds of work and of rest, and of CPU time in them, of all programs together."""
    sums = [0.0] * count
    for program in programs:
        with open(f"{program.root}{program.lines[0]}", "rb") as file:
            with mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) as page:
                sums = [sum(pair) for pair in zip(sums, struct.unpack_from(f"{count}d", page))]
    return sums


def ready_seconds(programs):
    """How long their threads had a CPU or waited for one, by the scheduler's own account."""
    accounts = [path.read_text().split() for program in programs for path in Path(f"/proc/{program.pid}/task").glob("*/schedstat")]
    return sum(int(ran) + int(waited) for ran, waited, _ in accounts) / 1e9


def share(part, whole):
    return 100 * part / whole if whole else 0.0


def run_shares(programs, names, *options, rate=1000, command=(), shares=SHARES, count=4, seconds=SECONDS):
    """What the programs told of the time of a recording, and what that says."""
    begin, ready = told(programs, count), ready_seconds(programs)
    done = subprocess.run([*command, shares, ",".join(str(program.pid) for program in programs), str(rate), str(seconds),
                           ",".join(names), *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    truth = [now - before for now, before in zip(told(programs, count), begin)]
    ready = ready_seconds(programs) - ready
    assert done.returncode == 0, done.stderr
    return truth, {**json.loads(done.stdout), "ready": ready}


def record_all(programs, kind, *options, **how):
    """Shares in percent: what is true, and what the recording says."""
    (worked, rested, worked_cpu, rested_cpu), found = run_shares(programs, [f"work_{kind}", "rest", "await_turn"], *options, **how)
    whole, by_name = found["all"], found["functions"]
    assert whole["wall"] > 0 and found["rounds"] > 0 and worked > 0, found
    found["truth"] = share(worked, worked + rested)
    found["work"] = share(by_name[f"work_{kind}"]["wall"], whole["wall"])
    found["rest"] = share(by_name["rest"]["wall"] + by_name["await_turn"]["wall"], whole["wall"])
    found["unseen"] = share(found["unseen"]["wall"], whole["wall"])
    # By its account who is stopped for a look sleeps; only who runs is.
    found["awake_truth"] = share(found["ready"] + found["stopped_ns"] / 1e9, worked + rested)
    found["awake"] = 100 - share(found["states"]["sleeping"]["wall"], whole["wall"])
    found["gil_wait"] = share(found["states"]["gil"]["wall"], whole["wall"])
    found["cpu_truth"] = share(worked_cpu, worked_cpu + rested_cpu)
    found["cpu_work"] = share(by_name[f"work_{kind}"]["cpu"], whole["cpu"])
    found["cpu_use_truth"] = share(worked_cpu + rested_cpu, worked + rested)
    found["cpu_use"] = share(whole["cpu"], whole["wall"])
    return found


def stolen():
    """(time that the machine was a guest of another one and waited for a CPU of that, all time), of all CPUs."""
    spent = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return spent[7], sum(spent)


def undisturbed(take):
    """A figure is of a quiet machine. One that is a guest may be disturbed by others: then it is taken again, and the best
    one counts."""
    best = None
    for _ in range(TAKES):
        before = stolen()
        found = take()
        gone, whole = (now - then for now, then in zip(stolen(), before))
        found["stolen"] = share(gone, whole)
        if best is None or found["stolen"] < best["stolen"]:
            best = found
        if best["stolen"] <= STOLEN:
            break
    return best


def record(python, kind, busy, idle, *options, wrap=(), script="phases.py", **how):
    with target(python, script, kind, str(busy), str(idle), wrap=wrap) as program:
        return record_all([program], kind, *options, **how)


def check(found, label):
    """By the program's own clock what it does, by the scheduler's account whether it is awake: a thread that waits for a CPU
    where it rests is ready to run there. Who waits for the GIL is not, but counts as awake.

    Unseen is running: it is somebody's work, if only because the program may have gone to rest a moment later. Of a stack
    that is torn only outer frames are there. What it does between work and rest (which takes long where it loses its CPU
    there) is one of them by its own clock."""
    torn = share(found["torn"], found["samples"])
    other = max(0, 100 - found["work"] - found["rest"] - found["unseen"] - torn)
    low, high = found["work"] - POINTS, found["work"] + other + found["unseen"] + torn + POINTS
    if not FULL:
        assert low <= found["truth"] <= high, f"{label}: {found}"
    elif found["rung"].startswith("perch"):
        assert low <= found["truth"] <= high, f"{label}: {found}"
        assert found["unseen"] < UNSEEN and found["samples"] >= SAMPLES, f"{label}: {found}"
    elif FULL:
        # Not asked in a perch: who waits for a CPU to leave its sleep is ready to run, and shown to sleep, where it is.
        awake = found["awake"] - found["gil_wait"]
        assert abs(awake - found["awake_truth"]) <= STATE_POINTS, f"{label}: {found}"


def line(label, found):
    cpu = found["cpu_ns"] / 1e3 / found["rounds"]
    return (f"| {label} | {found['truth']:.1f} | {found['work']:.1f} | {found['rest']:.1f} | {found['unseen']:.1f} | "
            f"{found['awake_truth']:.1f} | {found['awake'] - found['gil_wait']:.1f} | {found['rounds']} | {found['late']} | "
            f"{found['rung']} | {cpu:.0f} | {found['stolen']:.1f} |")


def report(name, rows):
    head = ["| work/rest in ms | truth % | work % | rest % | unseen % | awake, truth % | awake % | rounds | late | rung | "
            "own CPU, us a round | stolen % |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    record_figure(name, "\n".join(head + rows))


def measure(name, takes, judge=True):
    """takes: (label, function that records). All are taken and written down before any is judged."""
    found = [(label, undisturbed(take)) for label, take in takes]
    report(name, [line(label, figures) for label, figures in found])
    for label, figures in found:
        if judge:
            check(figures, f"{name}: {label}")
    return found


@alone
@each(TIMED)
@limit(3600)
def test_work_and_rest(python):
    measure(f"Truth of time, {python.label}",
            [(f"{kind} {busy}/{idle}", lambda kind=kind, busy=busy, idle=idle: record(python, kind, busy, idle))
             for kind, busy, idle in (CYCLES if FULL else CYCLES[::3])])


@alone
@limit(3600)
def test_as_an_ordinary_user():
    """No real-time priority: a short time slice."""
    if SYSTEM.missing:
        skip(SYSTEM.missing)
    with ordinary_user() as user:
        shares, script = user.copied(SHARES), user.script("phases.py")
        measure("Truth of time, ordinary user",
                [(f"{kind} {busy}/{idle}", lambda kind=kind, busy=busy, idle=idle: record(
                    user.python(SYSTEM), kind, busy, idle, script=script, shares=shares, command=user.wrap))
                 for kind, busy, idle in (CYCLES if FULL else CYCLES[1:2])])


# How the target, or we, are scheduled: (what is put before the target, options)
PRIORITIES = {
    "target at nice 19": (["nice", "-n", "19"], []),
    "target at nice -5": (["nice", "-n", "-5"], []),
    "target with real-time priority": (["chrt", "-f", "10"], []),
    "beside, with pauses": ([], ["no-perch"]),
    "beside, without": ([], ["no-perch", "never-pause"]),
    "always with pauses": ([], ["always-pause"]),
}


@alone
@each(PRIORITIES)
@limit(3600)
def test_priorities(which):
    need_root()
    wrap, options = PRIORITIES[which]
    if wrap:
        need_program(wrap[0])
    [(_, found)] = measure(f"Truth of time, {which}",
                           [("plain 2/1", lambda: record(SYSTEM, "plain", 2, 1, *options, wrap=wrap))])
    assert found["rung"].startswith("beside" if options or "chrt" in wrap else "perch"), found


def least_group(folder, file, weight):
    """A cgroup of the lowest weight below a folder of the file system of cgroups, or why there is none."""
    group = Path(folder) / f"darter-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        return None, f"{group}: {error.strerror}"
    try:
        (group / file).write_text(weight)
        with contextlib.suppress(OSError):  # of version 1: without it nobody in the group may have real-time priority
            (group / "cpu.rt_runtime_us").write_text("200000")
    except OSError as error:
        group.rmdir()
        return None, f"{group / file}: {error.strerror}"
    return group, ""


@contextlib.contextmanager
def least_cgroup():
    """What is put before a program to have it run with the lowest weight of all."""
    need_root()
    why = ["no cgroup file system has the CPU controller"]
    for row in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = row.split()
        if kind == "cgroup2":
            group, refused = least_group(folder, "cpu.weight", "1")
        elif kind == "cgroup" and "cpu" in options.split(","):
            group, refused = least_group(folder, "cpu.shares", "2")
        else:
            continue
        if group:
            break
        why.append(refused)
    else:
        skip("; ".join(why))
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        group.rmdir()


@alone
@limit(3600)
def test_in_a_cgroup_of_lowest_weight():
    """The kernel lets the sampler wait for its CPU: with real-time priority it does not matter, without it is noticed.
    That takes a quiet machine: on a busy one such a group may get nothing at all."""
    weak = [need_program("setpriv"), "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    with least_cgroup() as least:
        takes = [("plain 2/1", lambda: record(SYSTEM, "plain", 2, 1, command=least))]
        if FULL:
            takes += [("plain 2/1, no right to a priority", lambda: record(SYSTEM, "plain", 2, 1, command=[*least, *weak]))]
        found = measure("Truth of time, sampler in a cgroup of lowest weight", takes, judge=FULL)
        assert found[0][1]["functions"]["work_plain"]["wall"] > 0 < found[0][1]["functions"]["rest"]["wall"], found


@contextlib.contextmanager
def pinned(count, cpus):
    """Busy processes that share some CPUs."""
    burners = [subprocess.Popen([*SYSTEM.argv, "-c", "while True: pass"]) for _ in range(count)]
    try:
        for burner in burners:
            os.sched_setaffinity(burner.pid, cpus)
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@alone
@limit(3600)
def test_three_busy_processes_on_two_cpus():
    """The target shares its CPUs with others: it waits for one, and its own clock goes on. Then three targets at once."""
    cpus = set(sorted(os.sched_getaffinity(0))[:2])
    weak = [need_program("setpriv"), "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]

    def crowded(cpus, busy, idle, **how):
        with target(SYSTEM, "phases.py", "plain", busy, idle) as program, pinned(2, cpus):
            os.sched_setaffinity(program.pid, cpus)
            return record_all([program], "plain", **how)

    def three():
        with contextlib.ExitStack() as stack:
            programs = [stack.enter_context(target(SYSTEM, "phases.py", "plain", 2, 1)) for _ in range(3)]
            for program in programs:
                os.sched_setaffinity(program.pid, cpus)
            return record_all(programs, "plain")

    measure("Truth of time, three busy processes on two CPUs", [
        ("plain 2/1 beside two that are busy", lambda: crowded(cpus, 2, 1)),
        # After a look the kernel chooses anew who runs, which is often the target: it works then, and not before the next.
        ("plain 1/2 beside two on the same CPU", lambda: crowded({max(cpus)}, 1, 2)),
        ("plain 0.5/2 beside two on the same CPU", lambda: crowded({max(cpus)}, 0.5, 2)),
        # Without that right others get the CPU when we ask for it: what stands until we come is seen as it was then.
        ("plain 1/2 beside two, no right to a priority", lambda: crowded({max(cpus)}, 1, 2, command=weak)),
        ("plain 2/1 beside two, no right to a priority", lambda: crowded({max(cpus)}, 2, 1, command=weak)),
        ("three times plain 2/1", three)])


@alone
@limit(3600)
def test_beside_a_higher_priority():
    """A program that nobody keeps from its CPU takes it for 2 ms of each 10, from us as well. We come late then; what is
    shown of the target must be where it was at the moment all the same."""
    need_root()
    cpu = {max(os.sched_getaffinity(0))}
    hog = ("import time\nwhile True:\n    time.sleep(0.008)\n    end = time.perf_counter() + 0.002\n"
           "    while time.perf_counter() < end: pass")

    def take():
        with target(SYSTEM, "phases.py", "plain", 2, 1) as program:
            os.sched_setaffinity(program.pid, cpu)
            higher = subprocess.Popen([need_program("taskset"), "-c", str(max(cpu)), "chrt", "-f", "50", *SYSTEM.argv, "-c", hog])
            try:
                return record_all([program], "plain")
            finally:
                higher.kill()
                higher.wait()

    label, found = measure("Truth of time, beside a higher priority", [("plain 2/1", take)], judge=False)[0]
    other = max(0, 100 - found["work"] - found["rest"] - found["unseen"])
    assert found["work"] - POINTS <= found["truth"] <= found["work"] + other + found["unseen"] + POINTS, f"{label}: {found}"
    assert found["late"] > found["rounds"] / 50, found


@alone
@each(TIMED)
@limit(3600)
def test_cpu_time(python):
    """By CPU time sleep is nothing; and what was used in all is what the kernel says."""
    rows = ["| work/rest in ms | work, truth % | work % | CPU in use, truth % | CPU in use % | rung |", "|---|---|---|---|---|---|"]
    cycles = CYCLES[1:4] if FULL else CYCLES[1:2]
    found = [(f"{kind} {busy}/{idle}", undisturbed(lambda kind=kind, busy=busy, idle=idle: record(python, kind, busy, idle)))
             for kind, busy, idle in cycles]
    rows += [f"| {label} | {one['cpu_truth']:.1f} | {one['cpu_work']:.1f} | {one['cpu_use_truth']:.1f} | {one['cpu_use']:.1f} | "
             f"{one['rung']} |" for label, one in found]
    record_figure(f"Truth of CPU time, {python.label}", "\n".join(rows))
    for label, one in found:
        if not FULL:  # on a busy machine a thread that wants to leave its sleep waits for a CPU there, and counts as running
            assert one["cpu_work"] >= one["work"] - POINTS, f"{label}: {one}"
        elif one["rung"].startswith("perch"):
            assert one["cpu_work"] - POINTS <= one["cpu_truth"] <= one["cpu_work"] + one["unseen"] + POINTS, f"{label}: {one}"
        assert abs(one["cpu_use"] - one["cpu_use_truth"]) <= STATE_POINTS, f"{label}: {one}"


LIVES = ["long_life", "brief_life"]
LIFE_SECONDS = size(2, 40)


@alone
@each([python for python in TIMED if python.version[:2] >= (3, 7)])
@limit(3600)
def test_threads_that_live_for_some_milliseconds(python):
    """The first look at a thread is the hardest, and it may be the only one. It must not be rarer for that, nor must what
    comes after it have its time; and CPU time that no look has met belongs to such threads."""
    rows = ["| ms of life | Hz | wall, truth % | seen % | CPU, truth % | seen % | of all CPU time of both | standard error, points | "
            "unseen % | rung | stolen % |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    found = []
    for rate in (1000, 100):
        def take(rate=rate):
            with target(python, "brief_threads.py", 0.003, 0.001) as program:
                truth, one = run_shares([program], LIVES, rate=rate, seconds=LIFE_SECONDS)
            one["told"] = truth
            return one
        one = undisturbed(take)
        long_wall, brief_wall, long_cpu, brief_cpu = one["told"]
        lives = {kind: [one["functions"][name][kind] for name in LIVES] for kind in ("wall", "cpu")}
        truth = share(long_wall, long_wall + brief_wall), share(long_cpu, long_cpu + brief_cpu)
        seen = share(lives["wall"][0], sum(lives["wall"])), share(lives["cpu"][0], sum(lives["cpu"]))
        kept = share(sum(lives["cpu"]) / 1e9, long_cpu + brief_cpu)
        error = standard_error(truth[0], (long_wall + brief_wall) * rate)
        unseen = share(one["unseen"]["wall"], one["all"]["wall"])
        found.append((rate, truth, seen, kept, error, unseen, one))
        rows.append(f"| 3 / 1 | {rate} | {truth[0]:.1f} | {seen[0]:.1f} | {truth[1]:.1f} | {seen[1]:.1f} | {kept:.1f} | {error:.1f} | "
                    f"{unseen:.1f} | {one['rung']} | {one['stolen']:.1f} |")
    record_figure(f"Truth of time, brief threads, {python.label}", "\n".join(rows))
    for rate, truth, seen, kept, error, unseen, one in found:
        # Of a thread without a GIL the beginning is missed more often than its end: that is known, and not good.
        allowed = max(8 if python.threaded else size(8, 1), size(4, 3) * error) + unseen
        assert abs(truth[0] - seen[0]) <= allowed, f"wall at {rate} Hz: {truth}, seen {seen}: {one}"
        assert abs(truth[1] - seen[1]) <= allowed + size(4, 1), f"CPU at {rate} Hz: {truth}, seen {seen}: {one}"
        assert kept > size(70, 88), f"{rate} Hz: {kept} % of the CPU time: {one}"
        # To meet new threads takes longer than a look that knows them: no reason to look more seldom.
        assert rate > 100 or one["rounds"] > 0.7 * rate * LIFE_SECONDS, one


PARTS = ["part_long", "part_middle", "part_short"]
PART_SECONDS = size(1.2, 48)
TICKS = 250  # a second; some kernels have 100, others 1000


def standard_error(percent, parts):
    """Points by which a share is off by chance, of so many parts that do not depend on each other."""
    return (percent * (100 - percent) / max(parts, 1)) ** 0.5


@alone
@limit(3600)
def test_cpu_time_of_functions_on_a_shared_cpu():
    """A program stands where it was put aside for much longer than it computes there.

    It is met on its CPU by few of the samples, each of which has all its CPU time since the one before: the standard error
    of the largest share is told beside the figures. Of a thread that runs on another CPU the kernel tells new CPU time only
    at ticks of its clock (4 ms as a rule), the rest when it is put aside. So without a perch shares of parts that are
    shorter than that are judged at a rate that is lower than the ticks', and only written down at a higher one."""
    cpu = {max(os.sched_getaffinity(0))}
    rows = ["| scheduling | Hz | CPU time of three functions, truth % | seen % | standard error, points | unseen % | rung |",
            "|---|---|---|---|---|---|---|"]
    found = []
    for label, burners, options in [("alone", 0, []), ("beside two that are busy", 2, []),
                                    ("the same, without perch and pause", 2, ["no-perch", "never-pause"])]:
        for rate in (1000, 100) if FULL else (1000,):
            with target(SYSTEM, "parts.py") as program, pinned(burners, cpu):
                os.sched_setaffinity(program.pid, cpu)
                truth, one = run_shares([program], PARTS, *options, rate=rate, count=len(PARTS), seconds=PART_SECONDS)
            lost = one["unseen"]["cpu"] + one["all"]["cpu"] * one["torn"] / max(1, one["samples"])
            whole = lost + sum(one["functions"][name]["cpu"] for name in PARTS)  # without what lies between them
            seen = [share(one["functions"][name]["cpu"], whole) for name in PARTS]
            unseen = share(lost, whole)
            truth = [share(part, sum(truth)) for part in truth]
            errors = [standard_error(part, one["cpu_parts"]) for part in truth]
            found.append((label, rate, truth, seen, errors, unseen, one["rung"]))
            rows.append(f"| {label} | {rate} | {' / '.join(f'{part:.1f}' for part in truth)} | "
                        f"{' / '.join(f'{part:.1f}' for part in seen)} | {max(errors):.1f} | {unseen:.1f} | {one['rung']} |")
    record_figure("Truth of CPU time, functions on a shared CPU", "\n".join(rows))
    for label, rate, truth, seen, errors, unseen, rung in found:
        if rate > TICKS and not rung.startswith("perch"):
            continue
        for true, part, error in zip(truth, seen, errors):
            allowed = max(size(14, 0), 0.5 + 3 * error)
            assert part - allowed <= true <= part + unseen + allowed, f"{label} at {rate} Hz: {truth}, seen {seen}, {rung}"
