"""speedscope's JSON and Chrome's trace events, checked against the lines that they were made of, and read by speedscope's own
importer."""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import packages
import made_recordings as recordings
from harness import ROOT, each, size
from made_recordings import hostile, render

APP = "/srv/a.py"


def rows(lines, idle=False):
    """(thread, start in ns, ns, state, names of frames) of each run that is shown."""
    ends = defaultdict(int)
    for line in lines.splitlines():
        pid, tid, _, state, ms, *frames = line.split("\t")
        start = ends[pid, tid]
        length = int(float(ms) * 1e6)
        ends[pid, tid] += length
        if state != "gap" and (idle or state not in ("sleeping", "stopped")):
            yield (int(pid), int(tid)), start, length, state, [frame.rpartition("@")[0] for frame in frames]


def nanoseconds(ts):
    return round(float(ts) * 1000)


def slices(document):
    """Every slice as (thread, path of names, start, end); fails where events are not balanced, nested and in order."""
    open_, last, done = defaultdict(list), defaultdict(int), []
    for event in document["traceEvents"]:
        thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            continue
        at = nanoseconds(event["ts"])
        assert at >= last[thread], f"{event} goes back from {last[thread]}"
        last[thread] = at
        if event["ph"] == "B":
            open_[thread].append((event["name"], event["cat"], at))
            continue
        assert event["ph"] == "E" and open_[thread], event
        path = tuple(name for name, cat, _ in open_[thread] if cat != "state")
        name, cat, start = open_[thread].pop()
        assert name == event["name"] and at > start, (name, start, event)
        if cat != "state":
            done.append((thread, path, start, at))
    assert not any(open_.values()), "slices stay open"
    return done


def line(state, ms, *frames, tid=1):
    return recordings.line(1, tid, "t", state, ms, *(f"{name}@{APP}:{number}" for name, number in frames))


LINES = {
    "shop": recordings.shop(),
    "hostile": hostile(),
    "gaps": "".join([line("running", 10, ("a", 1), ("b", 2)), line("gap", 5), line("running", 10, ("a", 1), ("b", 2)),
                     line("sleeping", 7, ("a", 1), ("b", 2)), line("running", 0.0015, ("a", 1), ("b", 2)), line("unseen", 3),
                     line("gil", 4, ("a", 1)), line("running", 4, ("a", 1)), line("running", 4), line("running", 2, ("a", 1))]),
}


@each(LINES)
@each(["busy", "idle"])
def test_chrome_events_add_up(what, kind):
    lines, idle = LINES[what], kind == "idle"
    document = json.loads(render("chrome", lines, *(["idle"] if idle else [])))
    wanted, got, covered = defaultdict(int), defaultdict(int), defaultdict(int)
    for thread, _, length, _, names in rows(lines, idle):
        for depth in range(len(names)):
            wanted[thread, depth] += length
    for thread, path, start, end in slices(document):
        got[thread, len(path) - 1] += end - start
        covered[thread, path] += end - start
    assert got == wanted
    if what == "shop":
        of_path = defaultdict(int)
        for thread, _, length, _, names in rows(lines, idle):
            for depth in range(len(names)):
                of_path[thread, tuple(names[: depth + 1])] += length
        assert covered == of_path


def test_a_frame_that_stays_is_one_slice():
    lines = "".join([
        line("running", 10, ("main", 10), ("f", 20)), line("running", 10, ("main", 10), ("f", 21)),  # f goes on
        line("running", 10, ("main", 10), ("f", 21), ("g", 30)), line("running", 10, ("main", 10), ("f", 21)),
        line("running", 10, ("main", 11), ("f", 21)),  # called again: main has moved on
        line("gap", 10), line("running", 10, ("main", 11), ("f", 21)),
    ])
    found = sorted((path, start // 10**6, end // 10**6) for _, path, start, end in slices(json.loads(render("chrome", lines))))
    assert found == [(("main",), 0, 50), (("main",), 60, 70), (("main", "f"), 0, 40), (("main", "f"), 40, 50), (("main", "f"), 60, 70),
                     (("main", "f", "g"), 20, 30)], found


def test_chrome_names_threads_and_states():
    document = json.loads(render("chrome", recordings.shop()))
    names = {(event["name"], event["tid"]): event["args"]["name"] for event in document["traceEvents"] if event["ph"] == "M"}
    assert names == {("process_name", 100): "python3 shop.py", ("thread_name", 100): "MainThread", ("thread_name", 101): "worker-0",
                     ("thread_name", 102): "worker-1", ("thread_name", 103): "worker-2"}, names
    states = {event["name"] for event in document["traceEvents"] if event.get("cat") == "state"}
    assert states == {"poll", "[waiting for the GIL]", "[running, stack not seen]"}, states


def test_many_events_take_little_memory():
    """What is kept while writing are the open slices: the peak hardly grows with the number of runs."""
    def peak(runs):
        lines = "".join(line("running", 1, ("main", 10), (f"f{number % 7}", 20), ("g", 20 + number % 3)) for number in range(runs))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "a.trace.json"
            with open(out, "wb") as file:
                program = subprocess.Popen(["/usr/bin/env", "python3", "-c", """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)""", recordings.RENDER, "chrome"],
                                           stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE)
                told = program.communicate(lines.encode())[1]
            assert program.returncode == 0, told
            return int(told), out.stat().st_size

    small, large = peak(1000), peak(size(100_000, 1_000_000))
    runs = size(100_000, 1_000_000)
    grown = (large[0] - small[0]) * 1024
    assert large[1] > 200 * runs, large
    # 48 bytes are a run in the recording itself, which may have grown by doubling.
    assert grown < 48 * 2 * runs + (8 << 20), (small, large)


# ---- speedscope's own importer ----


def imported(kind, lines, *options):
    node, package = packages.node_package("speedscope")
    bundle = next((package / "dist" / "release").glob("speedscope-*.js"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(render(kind, lines, *options))
        done = subprocess.run([node, ROOT / "tests" / "speedscope_import.js", bundle, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_thread(lines, idle=False):
    """{thread: (ns, {names: own ns})}"""
    threads = defaultdict(lambda: [0, defaultdict(int)])
    for thread, _, length, state, names in rows(lines, idle):
        threads[thread][0] += length
        threads[thread][1][tuple(names) or (f"[{state}]",)] += length
    return threads


@each(["busy", "idle"])
def test_speedscope_reads_its_own_format(kind):
    lines, idle = recordings.shop(), kind == "idle"
    group = imported("speedscope", lines, *(["idle"] if idle else []))
    wanted = by_thread(lines, idle)
    assert group["name"] == "python3 shop.py" and len(group["profiles"]) == len(wanted) == 4
    assert group["index"] == 1  # the heaviest
    for (thread, (total, stacks)), profile in zip(wanted.items(), group["profiles"]):
        heaviest = max(stacks, key=stacks.get)
        assert profile["name"].startswith(f"thread {thread[1]} \"") and profile["unit"] == "nanoseconds", profile["name"]
        assert profile["total"] == profile["inside"] == total, (thread, profile["total"], total)
        assert profile["heaviest"] == {"weight": stacks[heaviest], "stack": list(heaviest)}, profile["heaviest"]


def test_speedscope_reads_hostile_names_and_nothing():
    group = imported("speedscope", hostile())
    assert len(group["profiles"]) == len(by_thread(hostile()))
    assert group["profiles"][0]["heaviest"]["stack"] == ["</title><script>alert(1)</script>"]
    group = imported("speedscope", line("sleeping", 10, ("nap", 1)))
    assert [profile["total"] for profile in group["profiles"]] == [0]


def test_speedscope_reads_the_trace_events():
    """An independent reader of those, which pairs them by name."""
    group = imported("chrome", recordings.shop())
    wanted = by_thread(recordings.shop())
    assert len(group["profiles"]) == 4
    for (thread, (total, stacks)), profile in zip(wanted.items(), group["profiles"]):
        heaviest = max(stacks, key=stacks.get)
        assert f"(tid {thread[1]})" in profile["name"], profile["name"]
        assert round(profile["total"] * 1000) == total, profile
        names = [name.partition(" {")[0] for name in profile["heaviest"]["stack"]]
        assert names == list(heaviest) and round(profile["heaviest"]["weight"] * 1000) == stacks[heaviest], names
