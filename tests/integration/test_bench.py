"""The arithmetic of `make bench` and the page it writes. The figures themselves are reported, never asserted."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import figures
from harness import BUILD, DARTER, ROOT, SYSTEM, wait_at_rest, wait_for

sys.path.insert(0, str(ROOT / "bench"))

import measure  # noqa: E402
import profiles  # noqa: E402
import record  # noqa: E402
import recorders  # noqa: E402
import rivals  # noqa: E402
import rules  # noqa: E402

# By its path: tests/run.py has the same name.
_spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)


def test_median_and_interval():
    same = measure.summary([5.0] * 9)
    assert (same.median, same.low, same.high, same.count) == (5.0, 5.0, 5.0, 9), same
    many = measure.summary(range(1, 102))
    assert many.median == 51 and 35 < many.low < 51 < many.high < 67, many
    assert many == measure.summary(reversed(range(1, 102))), "the order of the values changed the interval"
    outlier = measure.summary([1.0] * 20 + [1000.0])
    assert outlier.median == 1.0 and outlier.high == 1.0, outlier
    few = measure.summary([1.0, 3.0])
    assert few.median == 2.0 and few.low == 1.0 and few.high == 3.0, few
    assert many.text(0.1, 2).startswith("5.10 ("), many.text(0.1, 2)


def test_ratios_are_taken_pair_by_pair():
    # The machine was ten times slower in the second half: that is no part of the ratio.
    ours = [1.0] * 10 + [10.0] * 10
    ratio = measure.ratios([3 * value for value in ours], ours)
    assert (ratio.median, ratio.low, ratio.high) == (3.0, 3.0, 3.0), ratio
    try:
        measure.ratios([1.0, 2.0], [1.0])
    except ValueError:
        pass
    else:
        raise AssertionError("pairs of different length were accepted")


def test_tools_take_turns_until_their_time_is_used_up():
    log = []

    def execute(argv):
        log.append(argv[0])
        return measure.Run(10.0 if argv[0] == "slow" else 0.1, 0, 0, "")

    results = measure.interleaved({"a": ["a"], "b": ["b"], "slow": ["slow"]}, 4, 20, execute)
    assert log[:3] == ["a", "b", "slow"], log  # the round that does not count
    assert log[3:9] == ["a", "b", "slow", "b", "slow", "a"], log
    assert [one is not None for one in results["slow"]] == [True, True, False, False], results
    assert len(results["a"]) == 4 and all(results["a"]), results


def test_the_verdict_is_honest():
    def says(low, median, high):
        return bench.verdict(measure.Interval(median, low, high, 30))

    assert says(3.0, 4.0, 5.0) == "goal met"
    assert says(1.0, 2.0, 2.9) == "goal not met"
    assert "neither" in says(2.9, 3.5, 4.0)


def test_a_dump_without_all_stacks_does_not_count():
    frames = "Thread 1\n    nap (a.py:1)\n    <module> (a.py:9)\n"
    tools = [rivals.darter("darter"), rivals.tool("quick", ["dump"], r"^ +NAME \(")]
    whole, half = measure.Run(0.010, 0.001, 0, frames * 2), measure.Run(0.001, 0.001, 0, frames)
    failed = measure.Run(0.001, 0.001, 1, frames * 2)
    expected = {"nap": 2, "compute": 0}
    assert tools[0].complete(whole, expected)
    assert not tools[0].complete(half, expected) and not tools[0].complete(failed, expected)

    results = {"darter": [whole] * 4, "quick": [half, half, half, whole]}
    rows, goal = bench.dump_rows("2 threads", tools, results, expected)
    assert rows[0][2] == "10.00 (10.00 to 10.00)" and rows[0][-1] == "4 of 4", rows
    assert rows[1][2] == "does not count" and rows[1][-1] == "1 of 4", rows
    assert "no rival" in goal, goal
    slow = measure.Run(0.050, 0.002, 0, frames * 2)
    results["quick"] = [slow, slow, failed, None]
    rows, goal = bench.dump_rows("2 threads", tools, results, expected)
    assert rows[1][4] == "5.0 (5.0 to 5.0)" and rows[1][5] == "2.0 (2.0 to 2.0)" and rows[1][-1] == "2 of 3", rows
    assert "5.0 (5.0 to 5.0) times faster than quick" in goal and "goal met" in goal, goal


def test_how_each_rival_prints_a_frame():
    printed = {
        "py-spy": "    nap_here (t.py:2)\n    <module> (t.py:5)\n",
        "austin": "    <module> (/tmp/t.py:5)\n    nap_here (/tmp/t.py:2)\n",
        "pystack": '    (Python) File "/tmp/t.py", line 5, in <module>\n        nap_here()\n'
                   '    (Python) File "/tmp/t.py", line 2, in nap_here\n        time.sleep(3600)\n',
    }
    for name, _, arguments, frame in rivals.RIVALS:
        tool = rivals.tool(name, arguments, frame)
        assert tool.frames(printed[name], "nap_here") == 1, name
        assert tool.frames(printed[name], "nap") == 0, name
        assert tool.argv(7)[-1] == "7" and tool.argv(7)[0].endswith(f"/bin/{name}"), tool.argv(7)


def test_a_command_is_timed_and_its_colours_are_removed():
    done = measure.run(["/bin/sh", "-c", r"printf '\033[33;1mnap\033[0m (a.py:1)\n'; echo more >&2; exit 3"])
    assert done.code == 3 and done.output == "nap (a.py:1)\nmore\n", done
    assert done.wall > 0 and done.cpu >= 0, done


def test_targets_have_the_stacks_that_are_counted():
    for kind, expected in (("computing", {"nap_for_bench": 2, "compute_for_bench": 1}),
                           ("sleeping", {"nap_for_bench": 3, "compute_for_bench": 0})):
        with bench.threads(SYSTEM, 3, kind) as (_, counted):
            assert counted == expected, counted


def test_a_section_says_when_and_where_and_replaces_the_older_one():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench" / "RESULTS.md"
        figures.record(path, "first", "| a |\n|---|\n| 1 |")
        figures.record(path, "second", "old")
        figures.record(path, "second", "new")
        text = path.read_text()
    assert text.startswith("# Results\n") and text.count("\n## ") == 2, text
    assert "old" not in text and text.endswith("new\n") and "| 1 |" in text, text
    assert text.count(figures.machine()) == 2 and "commit " in text, text


def test_the_python_that_every_rival_reads_is_chosen():
    class Fake:
        def __init__(self, version, root="", missing=""):
            self.version, self.root, self.missing = version, root, missing

    old, right = Fake((3, 9, 1)), Fake((3, 12, 1))
    others = [Fake((3, 13, 0)), Fake((3, 12, 9), root="/elsewhere"), Fake((3, 12, 8), missing="not here")]
    assert bench.choose_python([old, right, *others]) is right
    assert bench.choose_python(others) is SYSTEM


# ---- recordings ----

STACK = [("a.py", "main", 7), ("/b/c.py", "inner", 3)]


def test_what_each_profiler_writes_is_read():
    told = '{"rounds": 200, "lost": 2, "processes": 3}'
    found = profiles.darter(told, "main (a.py:7);inner (/b/c.py:3) 900\nmain (a.py);[torn] 100\n")
    assert (found.rounds, found.failed, found.processes) == (200, 2, 3), found
    assert found.stacks == [(STACK, 900), ([("a.py", "main", 0), None], 100)], found
    assert profiles.darter(told, "").stacks == []

    answer = "Captured 4000 samples in 4.00 seconds\nSample rate: 999\nError rate: 25.00\n"
    found = profiles.collapsed(answer, "tid:12;a.py:main:7;/b/c.py:inner:3 9\ntid:12;a.py:main:8;~:<GC>:0 1\n")
    assert (found.rounds, found.failed) == (4000, 1000), found
    assert found.stacks == [(STACK, 9), ([("a.py", "main", 8)], 1)], found

    frames = [{"name": "inner", "file": "/b/c.py", "line": 3}, {"name": "main", "file": "a.py", "line": 7}]
    threads = [{"name": f"Process {pid} Thread 1 \"\"", "samples": [[1, 0]] * 3} for pid in (5, 6)]
    answer = "py-spy> Wrote speedscope file to 'x'. Samples: 100 Errors: 4\n"
    found = profiles.speedscope(answer, json.dumps({"shared": {"frames": frames}, "profiles": threads}), 2)
    assert (found.rounds, found.failed, found.processes, found.stacks) == (54, 4, 2, [(STACK, 6)]), found
    for read, text in ((profiles.speedscope, ""), (profiles.collapsed, ""), (profiles.mojo, b"")):
        try:
            read("it has failed", text)
        except profiles.Unreadable as failure:
            assert "it has failed" in str(failure), failure
        else:
            raise AssertionError(f"{read.__name__} took an answer that says nothing")


def mojo_number(value):
    """As austin writes it: six bits and the sign first, then seven in each byte."""
    rest, first = abs(value) >> 6, (abs(value) & 0x3F) | (0x40 if value < 0 else 0)
    written = [first]
    while rest:
        written[-1] |= 0x80
        written.append(rest & 0x7F)
        rest >>= 7
    return bytes(written)


def mojo_event(kind, *values):
    return bytes([kind]) + b"".join(value.encode() + b"\0" if isinstance(value, str) else mojo_number(value) for value in values)


def test_austin_files_are_read():
    for value in (0, 1, 63, 64, 8191, 8192, 1 << 40, -5, -100000):
        file = profiles.Mojo(b"MOJ\3" + mojo_number(value) + b"\xff")
        assert file.number() == value and file.at == len(file.data) - 1, value
    data = b"MOJ\3" + mojo_event(1, "mode", "wall") + mojo_event(2, 7, 0, "1c") + mojo_event(11, 1000, "a.py")
    data += mojo_event(11, 2000, "main") + mojo_event(3, 70000, 1000, 2000, 7, 7, 1, 2)
    data += mojo_event(11, 3000, "/b/c.py") + mojo_event(11, 4000, "inner") + mojo_event(3, 5, 3000, 4000, 3, 3, 1, 2)
    sample = mojo_event(5, 70000) + mojo_event(5, 5) + mojo_event(9, 1234)
    data += sample + mojo_event(2, 8, 0, "1c") + mojo_event(8) + sample
    data += mojo_event(2, 7, 0, "1c") + mojo_event(5, 70000) + mojo_event(4) + mojo_event(9, 10)
    answer = "\x1b[1mError rate\x1b[0m . . : \x1b[1m3/6\x1b[0m (50 %)"
    found = profiles.mojo(answer, data)
    assert (found.rounds, found.failed, found.processes) == (6, 2, 2), found
    assert found.stacks == [(STACK, 2), ([("a.py", "main", 7), None], 1)], found
    assert profiles.mojo(answer, data + sample[:-1]).stacks == found.stacks, "a sample that was cut off counts"
    assert profiles.mojo(answer, b"", 3).rounds == 2
    for wrong in (b"MOJ\2", b"other", b"MOJ\3\x63"):
        try:
            profiles.mojo(answer, wrong)
        except profiles.Unreadable:
            continue
        raise AssertionError(f"{wrong} was taken for a file of austin's")


RULES = ["body\t/hammer/generated.py\tf\t1\t4", "body\t/hammer/generated.py\tg\t5\t9", "entry\t/hammer/generated.py\tf",
         "call\t/hammer/generated.py\t3\tf\tg", "away\t/hammer/generated.py\t6", "root\t/some/where/hammer.py"]


def test_stacks_are_judged_by_the_calls_that_are_possible():
    judge = rules.Rules(RULES).judge
    root, f, g, out = ("/some/where/hammer.py", "main", 90), "/hammer/generated.py", "generated.py", ("os.py", "stat", 1)
    whole = [[root, (f, "f", 3), (f, "g", 5)], [root, (g, "f", 3), (g, "g", 6), out], [root, (f, "f", 0)], [root]]
    impossible = [[root, (f, "f", 2), (f, "g", 5)], [root, (f, "f", 3), (f, "f", 1)], [root, (f, "f", 5)],
                  [root, (f, "g", 5)], [root, (f, "f", 3), (f, "g", 7), out], [root, (f, "h", 1)],
                  [root, (f, "f", 0), (f, "g", 5)], [root, (f, "f", 9), None]]
    lost = [[], [None], [root, (f, "f", 3), None], [(f, "f", 3), (f, "g", 5)]]
    for verdict, stacks in ((rules.WHOLE, whole), (rules.IMPOSSIBLE, impossible), (rules.LOST, lost)):
        for stack in stacks:
            assert judge(stack) == verdict, f"{stack}: {judge(stack)}, not {verdict}"
    # A tenth of the looks came to nothing, half of the rest are impossible, a quarter lost.
    profile = profiles.Profile(1000, 100, stacks=[(impossible[0], 2), (lost[1], 1), (whole[0], 1)])
    found = record.of_truth(record.Taken(0.01, 1, 0, 5000, profile, 4), rules.Rules(RULES))
    assert {key: round(value, 6) for key, value in found.items()} == \
        {"impossible": 45, "lost": 32.5, "bytes": 5000000}, found


def test_rules_are_those_of_the_target():
    """The program of the real target is possible, line by line, and nothing else."""
    with record.Place(SYSTEM).script("hammer.py", "single") as (program, folder):
        known = rules.Rules(program.lines[:program.lines.index("ready")])
        job = recorders.Job(program.pid, 200, 1, folder / "out.profile")

        def recorded():
            taken = record.take(recorders.darter(DARTER), job, stacks=True, warm_up=0.2, window=0.3)
            assert rules.shares(known, taken.profile.stacks)[rules.IMPOSSIBLE] == 0, taken
            return [frames for frames, _ in taken.profile.stacks if None not in frames and frames[3:]]

        seen = wait_for(recorded, "stacks that were seen")
    assert rules.shares(known, [(frames, 1) for frames in seen])[rules.LOST] == 0, seen
    turned = [(frames[:1] + frames[:0:-1], 1) for frames in seen]
    assert rules.shares(known, turned)[rules.IMPOSSIBLE] == 1, turned


def test_a_recording_is_measured():
    place = record.Place(SYSTEM)
    with place.deep(3, "computing") as (program, page, folder):
        job = recorders.Job(program.pid, 100, 1, folder / "out.profile", threads=3)
        taken = record.take(recorders.darter(DARTER), job, page, stacks=True, warm_up=0.2, window=0.3)
    depths = {len(frames) for frames, _ in taken.profile.stacks if None not in frames and frames}
    assert 30 in depths and taken.profile.processes == 1, taken
    assert 0 <= taken.share <= taken.cpu / 0.3 and taken.memory > 0 and taken.size > 0 and taken.rate > 0, taken
    assert set(record.of_busy(taken)) >= {"us", "share", "rate", "slower", "waited"}, taken


def test_a_profiler_that_fails_is_told_and_left_out():
    class Broken:
        name, title, newest = "broken", "broken 1", False

    assert record.measured([("nothing", lambda place, recorder: {"a": 1, "b": None}),
                            ("more", lambda place, recorder: {"a": 4})], [Broken], {False: None}) == [{"a": 2.5}]

    def fail(place, recorder):
        raise profiles.Unreadable("no samples")

    assert record.measured([("nothing", fail)], [Broken], {False: None}) == [{}]
    with record.Place(SYSTEM).deep(1, "sleeping") as (program, _, folder):
        quits = recorders.Recorder("quits", "", lambda job: ["/bin/sh", "-c", "echo I quit"],
                                   lambda job, answer, stacks: profiles.collapsed(answer, ""))
        try:
            record.take(quits, recorders.Job(program.pid, 100, 1, folder / "out"), warm_up=0.3, window=0.1)
        except profiles.Unreadable as failure:
            assert "I quit" in str(failure), failure
        else:
            raise AssertionError("a profiler that did nothing was measured")


def test_the_table_of_recordings_has_ratios_and_goals():
    def tool(name, newest=False):
        return recorders.Recorder(name, "", None, None, newest=newest)

    found = [tool("darter"), tool("py-spy"), tool("austin"), tool("darter", True), tool("profiling.sampling", True)]
    values = [{"100 us": 40, "1000 us": 30, "raw gathers": 250000, "50 share": 2.5, "family cpu": 0.2},
              {"100 us": 500, "1000 us": 250, "lost": 1.5}, {"100 us": 90, "1000 us": 45}, {"100 us": 20}, {"100 us": 60}]
    lines = record.table(found, values, {False: "3.12.1", True: "3.15.2"}).splitlines()
    assert "| darter, on 3.12.1 | py-spy, on 3.12.1 |" in lines[0] and "profiling.sampling, on 3.15.2 |" in lines[0], lines[0]
    assert lines[2] == "| own CPU per sample at 100 Hz, us | 40.0 | 500.0 (12x) | 90.0 (2.2x) | 20.0 | 60.0 (3x) |", lines[2]
    assert "4,000.0 (100x)" in record.table(found[:2], [{"100 us": 40}, {"100 us": 4000}], {False: ""})
    lost = next(line for line in lines if line.startswith("| lost"))
    assert lost == "| lost stacks, % | not measured | 1.50 | not measured | not measured | not measured |", lost
    assert len(lines) == 2 + len(record.ROWS) and len({row[0] for row in record.ROWS}) == len(record.ROWS)

    said = record.goals(found, values)
    assert "100 Hz, as a part of py-spy's: 0.08; goal met (under 0.1)" in said[0], said
    assert "100 Hz, as a part of austin's: 0.444; goal met" in said[1] and "1 kHz, as a part of py-spy's: 0.12; goal not met" in said[2]
    assert any("raw gathers" in line and "goal not met (over 300,000)" in line for line in said), said
    assert any("100 processes, MB: not measured" in line for line in said), said


def test_how_each_profiler_is_told_what_to_record():
    job = recorders.Job(7, 200, 4, Path("/root/tmp/x/out.profile"), "/root", children=True)
    spy, old = recorders.py_spy("1", "--nonblocking"), recorders.austin("2", ["austin"], "-b")
    asked = [recorders.darter("darter").argv(job), spy.argv(job), old.argv(job), recorders.sampling(SYSTEM).argv(job)]
    assert asked[0] == ["darter", "record", "--quiet", "--json", "-f", "darter", "-r", "200", "-d", "4", "-o",
                        "/root/tmp/x/out.profile", "--children", "7"], asked[0]
    assert {"--nonblocking", "--idle", "--subprocesses"} <= set(asked[1]) and spy.title == "py-spy --nonblocking 1", asked[1]
    assert asked[2] == ["austin", "-b", "-i", "5000", "-x", "4", "-o", "/root/tmp/x/out.profile", "-C", "-p", "7"], asked[2]
    assert asked[3][0] == "nsenter" and "/tmp/x/out.profile" in asked[3] and "200" in asked[3], asked[3]


def test_stacks_are_gathered():
    with record.Place(SYSTEM).deep(1, "sleeping") as (program, _, _):
        wait_at_rest(program.pid)
        done = subprocess.run([BUILD / "bench" / "gather", str(program.pid), "0.2"], capture_output=True, text=True)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["frames"] == 30 and told["failed"] == 0, done
    assert told["raw"] > 0 and told["proven"] > 0, told
