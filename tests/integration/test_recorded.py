"""Recordings of programs that call and return as fast as they can (tests/targets/hammer.py): no stack in them is a
mixture, and every sample has a stack or is counted as one that has none.

tests/hammer/recorded.c records through the library, reads the file back and knows the calls that are possible, caller
lines included.
"""

import contextlib
import json
import os
import subprocess
import tempfile

from harness import BUILD, FULL, SHAPES, SOME_SHAPES, USABLE, again, alone, each, limit, record_figure, size, skip, target
from users import ordinary_user

RECORDED = BUILD / "tests" / "hammer" / "recorded"
VARIANTS = ["single", "naps", "threads", "generators", "callbacks", "exceptions", "fresh", "twins", "churn"]
SAMPLES = 2000000  # over all Pythons, in the full tier
SECONDS = size(0.3, 1.0)
BUSY = {"single": 1, "threads": 4, "sixteen": 16}
PERCH, PAUSE, BESIDE = [], ["no-perch"], ["no-perch", "never-pause"]
FIGURES = ("samples", "seen", "unseen", "torn", "impossible", "rounds", "stops", "stopped_ns")


@contextlib.contextmanager
def hammer(python, variant, script="hammer.py"):
    """The program, and a file with the rules of its stacks."""
    with target(python, script, variant) as program, tempfile.NamedTemporaryFile("w") as rules:
        rules.write("\n".join(program.lines[:program.lines.index("ready")]) + "\n")
        rules.flush()
        os.chmod(rules.name, 0o644)
        yield program.pid, rules.name


def record(running, label, rate, seconds, options=(), command=(RECORDED,)):
    pid, rules = running
    done = subprocess.run([*command, str(pid), rules, str(rate), str(seconds), *options], capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL)
    label = f"{label}, {rate} Hz {' '.join(options)}"
    assert done.returncode in (0, 1), f"{label}: exit code {done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    assert found["impossible"] == 0, f"{label}: {found['impossible']} impossible, the first: {found['first']}"
    # What was told and what is in the file are the same; a sample of a thread that has only just begun stands for no time.
    assert found["samples"] <= found["told_samples"] and found["unseen"] <= found["told_unseen"], f"{label}: {found}"
    assert found["seen"] + found["unseen"] + found["torn"] == found["samples"], f"{label}: {found}"
    assert found["rounds"] > 0 and found["samples"] > 0 and found["lost"] == 0, f"{label}: {found}"
    if "never-pause" in options:
        assert found["stops"] == 0 == found["stopped_ns"], f"{label}: {found}"
    return found


def line(name, found):
    cpu = found["cpu_ns"] / 1e3 / found["rounds"]
    return (f"| {name} | {found['samples']} | {found['stacks']} | {found['impossible']} | {found['unseen']} | {found['torn']} | "
            f"{found['late']} | {found['settled']} | {found['rung']} | {cpu:.0f} |")


@alone
@each(SHAPES)
@limit(600)
def test_no_recorded_stack_is_a_mixture(python):
    rows = ["| target | samples | stacks | impossible | unseen | torn | late rounds | settled | rung | own CPU, us a round |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    for variant in VARIANTS[:size(5, None)]:
        with hammer(python, variant) as running:
            found = record(running, f"{python.label} {variant}", 1000, SECONDS)
        # Had the target stood still, nothing would be shown by this.
        assert found["stacks"] > 10 and found["checked"] > 1, f"{python.label} {variant}: {found}"
        if variant == "single":
            assert 2 * found["seen"] > found["samples"], f"{python.label} {variant}: {found}"
        rows.append(line(variant, found))
    record_figure(f"Truth of recorded stacks, {python.label}", "\n".join(rows))


@alone
@each(SHAPES)
@again("what is seen of several interpreters that compute at once is a matter of chance")
def test_no_stack_of_several_interpreters_is_a_mixture(python):
    if python.version < (3, 8):
        skip("Python code makes interpreters from 3.8 on")
    for variant in ["lent", "interpreters", "swapping"][:3 if python.version >= (3, 12) else 1]:
        with hammer(python, variant) as running:
            for options in (PERCH, PAUSE):
                # Beside, few stops are allowed in so short a time, and what they find is a matter of chance.
                seconds = SECONDS if options == PERCH else max(SECONDS, 1.5)
                found = record(running, f"{python.label} {variant}", 1000, seconds, options)
                assert found["checked"] > 1, found


class Table:
    """What recordings came to, by Python, user and rung; each of them tells its own rung."""

    def __init__(self):
        self.rows, self.failures = {}, []

    def add(self, python, user, found):
        row = self.rows.setdefault((python.label, user, found["rung"]), dict.fromkeys(FIGURES, 0))
        for name in FIGURES:
            row[name] += found[name]

    def take(self, python, user, *how, **where):
        """A failure is kept for the end: what the other Pythons do is to be known, too."""
        try:
            self.add(python, user, record(*how, **where))
        except AssertionError as failure:
            self.failures.append(str(failure))

    @property
    def samples(self):
        return sum(row["samples"] for row in self.rows.values())

    def __str__(self):
        lines = ["| Python | user | rung | samples | impossible | unseen % | torn % | stops | us a stop |",
                 "|---|---|---|---|---|---|---|---|---|"]
        for key, row in self.rows.items():
            unseen, torn = (100 * row[name] / row["samples"] for name in ("unseen", "torn"))
            lines.append(f"| {' | '.join(key)} | {row['samples']} | {row['impossible']} | {unseen:.2f} | {torn:.2f} | "
                         f"{row['stops']} | {row['stopped_ns'] / 1e3 / max(1, row['stops']):.0f} |")
        return "\n".join([*lines, f"| all | | | {self.samples} | {len(self.failures)} recordings failed | | | | |"])


def take_all(table, python, variant):
    """As root and as an ordinary user, on each rung that there is for them."""
    label = f"{python.label} {variant}"
    rates = (100, 1000) if FULL else (1000,)
    with hammer(python, variant) as running:
        for rate in rates:
            for options in (PERCH, PAUSE, BESIDE):
                table.take(python, "root", running, f"{label}, root", rate, SECONDS, options)
    with ordinary_user() as user, hammer(user.python(python), variant, user.script("hammer.py")) as running:
        command = [*user.wrap, user.copied(RECORDED)]
        for rate in rates:
            for options in (PERCH, PAUSE):
                table.take(python, "ordinary", running, f"{label}, ordinary user", rate, SECONDS, options, command=command)


@alone
@limit(7200)
def test_threads_users_and_rungs():
    table = Table()
    pythons = [python for python in (USABLE if FULL else SOME_SHAPES) if not python.missing]
    for python in pythons:
        for variant in BUSY if FULL else ["single" if python.threaded else "sixteen"]:
            take_all(table, python, variant)
    # A busy machine takes fewer samples in the same time: what is missing is taken where it goes fast.
    for _ in range(20):
        for python in pythons:
            if FULL and table.samples < SAMPLES and not python.threaded:
                with hammer(python, "sixteen") as running:
                    table.take(python, "root", running, f"{python.label} sixteen, root", 1000, 3)
    record_figure("Truth of recorded stacks by user and rung", str(table))
    assert not table.failures, "\n".join(table.failures)
    assert table.samples >= (SAMPLES if FULL else 1)
