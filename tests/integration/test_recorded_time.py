"""Where the time goes in a recording, against the program's own clock (tests/targets/phases.py).

On a quiet machine, which the full tier needs, shares are right within a point; on a busy one, where the program waits for
a CPU whenever it is to change over, they are still near. What was not seen is added to the tolerance: it may be either.
"""

import json
import mmap
import os
import struct
import subprocess

from harness import BUILD, FULL, SOME_SHAPES, SYSTEM, alone, each, limit, need_program, need_root, record_figure, size, target

SHARES = BUILD / "tests" / "hammer" / "shares"
CYCLES = [("plain", 0.4, 0.4), ("plain", 2, 1), ("calls", 1, 0.5), ("plain", 10, 100), ("plain", 1, 19), ("plain", 19, 1),
          ("holds", 2, 1), ("releases", 2, 1), ("syscalls", 2, 1)]
SECONDS = size(1.5, 12)
POINTS = size(15, 1)  # of difference that are allowed


def told(path, root):
    with open(f"{root}{path}", "rb") as file, mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) as page:
        return struct.unpack("dd", page[:16])


def record(python, kind, busy, idle, *options, rate=1000, wrap=(), command=()):
    """Shares in percent: what is true, and what the recording says."""
    with target(python, "phases.py", kind, str(busy), str(idle), wrap=wrap) as program:
        path = program.lines[0]
        begin = told(path, python.root)
        done = subprocess.run([*command, SHARES, str(program.pid), str(rate), str(SECONDS), f"work_{kind},rest", *options],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        end = told(path, python.root)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    everything = found["all"]["wall"]
    worked, rested = end[0] - begin[0], end[1] - begin[1]
    found["truth"] = 100 * worked / (worked + rested)
    found["work"] = 100 * found["functions"][f"work_{kind}"]["wall"] / everything
    found["rest"] = 100 * found["functions"]["rest"]["wall"] / everything
    found["unseen"] = 100 * found["unseen"]["wall"] / everything
    return found


def check(found, label):
    low, high = found["work"] - POINTS, found["work"] + found["unseen"] + POINTS
    assert low <= found["truth"] <= high, f"{label}: {found}"
    if FULL and found["rung"].startswith("perch"):
        assert found["unseen"] < 1 and found["rounds"] >= 10000, f"{label}: {found}"


def line(label, found):
    cpu = found["cpu_ns"] / 1e3 / found["rounds"]
    return (f"| {label} | {found['truth']:.1f} | {found['work']:.1f} | {found['rest']:.1f} | {found['unseen']:.1f} | "
            f"{found['rounds']} | {found['late']} | {found['rung']} | {cpu:.0f} |")


def report(name, rows):
    head = ["| work/rest in ms | truth % | work % | rest % | unseen % | rounds | late | rung | own CPU, us a round |",
            "|---|---|---|---|---|---|---|---|---|"]
    record_figure(name, "\n".join(head + rows))


@alone
@each(SOME_SHAPES)
@limit(3600)
def test_work_and_rest(python):
    rows = []
    for kind, busy, idle in CYCLES if FULL else CYCLES[::3]:
        found = record(python, kind, busy, idle)
        check(found, f"{python.label} {kind} {busy}/{idle}")
        rows.append(line(f"{kind} {busy}/{idle}", found))
    report(f"Truth of time, {python.label}", rows)


# How the target, or we, are scheduled: (what is put before the target, options, what is put before us)
PRIORITIES = {
    "target at nice 19": (["nice", "-n", "19"], [], []),
    "target at nice -5": (["nice", "-n", "-5"], [], []),
    "target with real-time priority": (["chrt", "-f", "10"], [], []),
    "beside, with pauses": ([], ["no-perch"], []),
    "always with pauses": ([], ["always-pause"], []),
}


@alone
@each(PRIORITIES)
@limit(3600)
def test_priorities(which):
    need_root()
    wrap, options, command = PRIORITIES[which]
    if wrap:
        need_program(wrap[0])
    found = record(SYSTEM, "plain", 2, 1, *options, wrap=wrap, command=command)
    report(f"Truth of time, {which}", [line("plain 2/1", found)])
    check(found, which)


@alone
@limit(3600)
def test_three_busy_processes_on_few_cpus():
    """The target shares its CPU with others: it waits for one, and its own clock goes on."""
    cpu = min(os.sched_getaffinity(0))
    burners = [subprocess.Popen([*SYSTEM.argv, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for burner in burners:
            os.sched_setaffinity(burner.pid, {cpu})
        found = record(SYSTEM, "plain", 2, 1)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    report("Truth of time, beside two busy processes", [line("plain 2/1", found)])
    check(found, "busy")
