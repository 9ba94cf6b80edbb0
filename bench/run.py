#!/usr/bin/env python3
"""make bench: bench/run.py [--rounds N] [--full] [--dry] [dump] [ps] [take] [slowdown] [record]

Measures darter and the other profilers side by side and replaces the sections of bench/RESULTS.md (--dry prints them
only). Without names of sections all are measured; `make bench ONLY=record` measures that one. Use a quiet machine: the
intervals tell if it was none.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # tests import this file and keep their own
    os.environ.setdefault("DARTER_BUILD", "build-bench")
    os.environ.setdefault("DARTER_SID", "no")  # rivals do not read all of those, and do not look into other roots
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

import figures  # noqa: E402
import measure  # noqa: E402
import record  # noqa: E402
import rivals  # noqa: E402
from harness import BUILD, DARTER, SYSTEM, USABLE, target, wait_for  # noqa: E402

TARGETS = ROOT / "bench" / "targets"
GOAL = 3  # times faster than the fastest rival
SECONDS_PER_TOOL = 30  # of one target
DUMPS_PER_SECOND = 20


def choose_python(pythons):
    """3.12, which all of the rivals read; else the newest older one, else the system's."""
    here = [python for python in pythons if not python.root and not python.missing and python.version < (3, 13)]
    return max(here, key=lambda python: python.version) if here else SYSTEM


def verdict(ratio):
    """What an interval of "times faster" says about the goal."""
    if ratio.low >= GOAL:
        return "goal met"
    return "goal not met" if ratio.high < GOAL else "goal neither shown nor refuted: the interval holds 3"


@contextlib.contextmanager
def threads(python, count, kind):
    """bench/targets/threads.py with every thread in its place, and how often each function is on its stacks."""
    busy = 1 if kind == "computing" else 0
    expected = {"nap_for_bench": count - busy, "compute_for_bench": busy}
    tool = rivals.darter(DARTER)
    with target(python, TARGETS / "threads.py", count, kind) as program:
        wait_for(lambda: tool.complete(measure.run(tool.argv(program.pid)), expected), "every thread in its place")
        yield program, expected


def name_of(count, kind):
    return f"{count} {'thread' if count == 1 else 'threads'}{', one computing' if kind == 'computing' else ''}"


# ---- a dump, as a user has it ----


def dump_rows(what, tools, results, expected):
    """Rows of the table for one target, and the sentence about the goal. Only dumps that show all stacks count."""
    good = {tool.name: [one if one and tool.complete(one, expected) else None for one in results[tool.name]]
            for tool in tools}
    rows, against = [], []
    for tool in tools:
        made = [one for one in results[tool.name] if one]
        whole = [one for one in good[tool.name] if one]
        pairs = [(one, ours) for one, ours in zip(good[tool.name], good["darter"]) if one and ours]
        if len(whole) * 2 < len(made) or not pairs:
            rows.append([what, tool.name, "does not count", "", "", "", f"{len(whole)} of {len(made)}"])
            continue
        wall = measure.ratios([one.wall for one, _ in pairs], [ours.wall for _, ours in pairs])
        cpu = measure.ratios([one.cpu for one, _ in pairs], [ours.cpu for _, ours in pairs])
        if tool.name != "darter":
            against.append((wall, tool.name))
        rows.append([what, tool.name, measure.summary([one.wall for one in whole]).text(1e3, 2),
                     measure.summary([one.cpu for one in whole]).text(1e3, 2),
                     *(["1", "1"] if tool.name == "darter" else [wall.text(), cpu.text()]),
                     f"{len(whole)} of {len(made)}"])
    if not against:
        return rows, f"- {what}: no rival to compare with."
    ratio, fastest = min(against, key=lambda pair: pair[0].median)
    return rows, f"- {what}: {ratio.text()} times faster than {fastest}, the fastest rival; {verdict(ratio)}."


def bench_dump(args):
    python = choose_python(USABLE)
    others, missing, versions = rivals.find()
    tools = [rivals.darter(DARTER), *others]
    rows, goals = [], []
    for count in (1, 50, 500):
        for kind in ("sleeping", "computing"):
            with threads(python, count, kind) as (program, expected):
                results = measure.interleaved({tool.name: tool.argv(program.pid) for tool in tools}, args.rounds,
                                              SECONDS_PER_TOOL)
            more, goal = dump_rows(name_of(count, kind), tools, results, expected)
            rows += more
            goals.append(goal)
            print(goal, file=sys.stderr)
    used = ", ".join(f"{name} {version}" for name, version in versions.items()) or "none"
    text = [f"Target: Python {python.text}, each thread about ten calls deep. Rivals: {used}.",
            f"Wall time from start to exit of the command, output to a file; {args.rounds} rounds, the tools in turn, "
            f"at most {SECONDS_PER_TOOL} s for each. Median, and in brackets its 95 % interval. The ratio is taken round "
            f"by round. A dump counts only if it shows every stack.", "",
            f"Goal: {GOAL} times faster than the fastest rival.", "", *goals, ""]
    if missing:
        text.insert(1, f"Not installed here, so not measured: {', '.join(missing)}.")
    text.append(measure.table(["target", "tool", "wall ms", "CPU ms", "times darter's wall", "times darter's CPU",
                               "whole dumps"], rows))
    return {"A whole dump, against other profilers": "\n".join(text)}


# ---- darter ps ----


def bench_ps(args):
    rows = []
    for count in (100, 500) if args.full else (100,):
        with target(SYSTEM, "family.py", count) as _:
            commands = {"darter ps --cpu 0": [str(DARTER), "ps", "--cpu", "0"], "darter ps": [str(DARTER), "ps"]}
            results = measure.interleaved(commands, args.rounds, SECONDS_PER_TOOL)
        for name, runs in results.items():
            whole = [one for one in runs if one and one.code == 0 and one.output.count("family.py:") >= count]
            seen = f"{len(whole)} of {sum(one is not None for one in runs)}"
            if not whole:
                rows.append([count, name, "does not count", "", seen])
                continue
            rows.append([count, name, measure.summary([one.wall for one in whole]).text(1e3, 1),
                         measure.summary([one.cpu for one in whole]).text(1e3, 1), seen])
    text = ("Wall time from start to exit; median, in brackets its 95 % interval. Without `--cpu 0` the command waits "
            "0.1 s to measure CPU use.\nGoal: 500 processes in under half a second.\n\n")
    heading = ["Python processes", "command", "wall ms", "CPU ms", "whole lists"]
    return {"darter ps": text + measure.table(heading, rows)}


# ---- one sample through the library ----


def bench_take(args):
    python, rows, looks = choose_python(USABLE), [], 20 * args.rounds
    for count in (1, 50, 500):
        for kind in ("sleeping", "computing"):
            with threads(python, count, kind) as (program, _):
                done = subprocess.run([BUILD / "bench" / "take", str(program.pid), str(looks)], capture_output=True,
                                      text=True, check=True)
            answer = json.loads(done.stdout)
            ordered = sorted(answer["us"])
            rows.append([name_of(count, kind), measure.summary(ordered).text(),
                         f"{ordered[len(ordered) * 99 // 100]:.1f}", len(ordered), answer["torn"]])
    text = f"`dt_take` on an attached target, Python {python.text}; median, in brackets its 95 % interval.\n\n"
    heading = ["target", "us", "99 % below, us", "samples", "torn"]
    return {"One sample through the library": text + measure.table(heading, rows)}


# ---- what the target feels ----


def counted(page):
    page.seek(0)
    return int.from_bytes(page.read(8), "little")


def window(page, argv, seconds):
    """Counts of the target and dumps, per second, while it is dumped 20 times a second (argv None: not at all)."""
    start, before, dumps = time.perf_counter(), counted(page), 0
    while (now := time.perf_counter()) < start + seconds:
        if argv is None:
            time.sleep(start + seconds - now)
            continue
        time.sleep(max(0, start + dumps / DUMPS_PER_SECOND - now))
        measure.run(argv)
        dumps += 1
    took = time.perf_counter() - start
    return (counted(page) - before) / took, dumps / took


def bench_slowdown(args):
    python = choose_python(USABLE)
    others, _, _ = rivals.find()
    tools = [rivals.darter(DARTER), *(tool for tool in others if tool.name == "py-spy")]
    rounds, seconds, rows = max(3, args.rounds // 3), 1 if args.rounds >= 30 else 0.5, []
    for count in (1, 50):
        with tempfile.NamedTemporaryFile(buffering=0) as page:
            page.truncate(4096)
            with target(python, TARGETS / "count.py", page.name, count) as program:
                slower, rate = {tool.name: [] for tool in tools}, {tool.name: [] for tool in tools}
                for _ in range(rounds):
                    for tool in tools:
                        alone, _ = window(page, None, seconds)
                        watched, dumps = window(page, tool.argv(program.pid), seconds)
                        slower[tool.name].append(1 - watched / alone)
                        rate[tool.name].append(dumps)
        rows += [[count, name, measure.summary(slower[name]).text(100, 1), measure.summary(rate[name]).text(1, 1)]
                 for name in slower]
    text = (f"A loop that counts, Python {python.text}, with other threads asleep: how much less it counts while it is "
            f"dumped {DUMPS_PER_SECOND} times a second than in the window before ({rounds} pairs of {seconds} s). Median, in "
            "brackets its 95 % interval; around 0 the machine's own noise shows. The tool's own CPU time is part of it "
            "where all cores are busy.\n\n")
    heading = ["threads", "tool", "slower by, %", "dumps per second"]
    return {"What a target feels of being dumped": text + measure.table(heading, rows)}


# ---- recordings ----


def bench_record(args):
    return record.bench(args.rounds, choose_python(USABLE))


SECTIONS = {"dump": bench_dump, "ps": bench_ps, "take": bench_take, "slowdown": bench_slowdown, "record": bench_record}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="rounds of each measurement (30)")
    parser.add_argument("--full", action="store_true", help="darter ps with 500 processes, too")
    parser.add_argument("--dry", action="store_true", help="print the sections, do not write them")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    args = parser.parse_args()
    unknown = set(args.sections) - set(SECTIONS)
    if unknown or args.rounds < 1:
        parser.error(f"there is no section {', '.join(sorted(unknown))}" if unknown else "at least one round")
    for name in args.sections or SECTIONS:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        for title, text in SECTIONS[name](args).items():
            print(f"\n## {title}\n\n{text}", flush=True)
            if not args.dry:
                figures.record(ROOT / "bench" / "RESULTS.md", title, text)


if __name__ == "__main__":
    main()
