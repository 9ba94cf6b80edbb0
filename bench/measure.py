"""Commands timed from start to exit, and what can be said about many such times."""

import os
import random
import re
import statistics
import tempfile
import time
from dataclasses import dataclass

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RESAMPLES = 2000


@dataclass
class Run:
    """One command: seconds from start to exit, seconds of CPU (its children's too), exit code, what it printed."""

    wall: float
    cpu: float
    code: int
    output: str


@dataclass
class Interval:
    """A median and the range in which it lies with a confidence of 95 %, by bootstrap."""

    median: float
    low: float
    high: float
    count: int

    def text(self, scale=1, digits=1):
        return f"{self.median * scale:.{digits}f} ({self.low * scale:.{digits}f} to {self.high * scale:.{digits}f})"


def run(argv):
    """Runs a command with its output in a file, as a shell with `>` would: no reader slows it down or wakes it up."""
    with tempfile.TemporaryFile() as output:
        into_file = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                     (os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        start = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=into_file)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        output.seek(0)
        text = COLOURS.sub("", output.read().decode("utf-8", "replace"))
    return Run(wall, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status), text)


def summary(values, seed=1):
    """The median of some values with its interval. The same values give the same interval."""
    values = sorted(values)
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(statistics.median(values), medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)],
                    len(values))


def ratios(those, these):
    """How many times larger those are than these, pair by pair: both of a pair met the same load of the machine."""
    return summary([that / this for that, this in zip(those, these, strict=True)])


def interleaved(commands, rounds, seconds, execute=run):
    """Runs the commands in turn, A B C, B C A, ..., after one round that does not count.

    commands: name -> argv. Gives name -> list of Run, with None in the rounds that a command did not take part in
    because it had used up its seconds.
    """
    names = list(commands)
    results = {name: [] for name in names}
    spent = dict.fromkeys(names, 0.0)
    for name in names:
        execute(commands[name])
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            one = execute(commands[name]) if spent[name] < seconds else None
            spent[name] += one.wall if one else 0
            results[name].append(one)
    return results


def table(heading, rows):
    """A table in Markdown; the columns behind the first are set to the right."""
    lines = ["| " + " | ".join(heading) + " |", "|---" + "|---:" * (len(heading) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])
