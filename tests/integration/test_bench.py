"""The arithmetic of `make bench` and the page it writes. The figures themselves are reported, never asserted."""

import importlib.util
import sys
import tempfile
from pathlib import Path

import figures
from harness import ROOT, SYSTEM

sys.path.insert(0, str(ROOT / "bench"))

import measure  # noqa: E402
import rivals  # noqa: E402

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
