"""Recordings of programs that call and return as fast as they can (tests/targets/hammer.py): no stack in them is a
mixture, and every sample has a stack or is counted as unseen.

tests/hammer/recorded.c records through the library, reads the file back and knows the calls that are possible, caller
lines included.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, SHAPES, SOME_SHAPES, SYSTEM, TARGETS, alone, each, limit, need_program, need_root, \
    record_figure, size, skip, target

RECORDED = BUILD / "tests" / "hammer" / "recorded"
WAYS = {"perch": ["never-pause"], "pause": ["no-perch"], "beside": ["no-perch", "never-pause"]}
VARIANTS = ["single", "threads", "generators", "callbacks", "exceptions", "fresh", "twins", "churn"]


def record(python, variant, rate, seconds, *options, script="hammer.py", command=(RECORDED,), wrap=()):
    with target(python, script, variant, wrap=wrap) as program, tempfile.NamedTemporaryFile("w") as rules:
        rules.write("\n".join(program.lines[:program.lines.index("ready")]) + "\n")
        rules.flush()
        os.chmod(rules.name, 0o644)
        done = subprocess.run([*command, str(program.pid), rules.name, str(rate), str(seconds), *options],
                              capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    label = f"{python.label} {variant} {rate} Hz {' '.join(options)}"
    assert done.returncode in (0, 1), f"{label}: exit code {done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    assert found["impossible"] == 0, f"{label}: {found['impossible']} impossible, the first: {found['first']}"
    # What was told and what is in the file are the same; a sample of a thread that has only just begun stands for no time.
    assert found["samples"] <= found["told_samples"] and found["unseen"] <= found["told_unseen"], f"{label}: {found}"
    assert found["rounds"] > 0 and found["samples"] > 0 and found["lost"] == 0, f"{label}: {found}"
    return found


def line(name, found):
    cpu = found["cpu_ns"] / 1e3 / found["rounds"]
    return (f"| {name} | {found['samples']} | {found['stacks']} | {found['impossible']} | {found['unseen']} | {found['torn']} | "
            f"{found['late']} | {found['settled']} | {found['rung']} | {cpu:.0f} |")


def report(name, rows):
    head = ["| target | samples | stacks | impossible | unseen | torn | late rounds | settled | rung | own CPU, us a round |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    record_figure(name, "\n".join(head + rows))


@alone
@each(SHAPES)
@limit(7200)
def test_no_recorded_stack_is_a_mixture(python):
    rows = []
    for variant in VARIANTS[:size(4, None)]:
        for rate, seconds in ((1000, size(1, 60)), (100, size(0, 120))):
            if seconds:
                found = record(python, variant, rate, seconds)
                # Had the target stood still, nothing would be shown by this.
                assert found["stacks"] > 10 and found["checked"] > 1, f"{python.label} {variant}: {found}"
                rows.append(line(f"{variant}, {rate} Hz", found))
    report(f"Truth of recorded stacks, {python.label}", rows)


@alone
@each(SOME_SHAPES)
@limit(7200)
def test_each_way_to_record(python):
    rows = []
    for way, options in WAYS.items():
        for variant in ("single", "threads"):
            rows.append(line(f"{variant}, {way}", record(python, variant, 500, size(1, 60), *options)))
    report(f"Truth of recorded stacks by way, {python.label}", rows)


@alone
@limit(3600)
def test_without_any_right():
    """No capability: a perch without real-time priority, or a pause."""
    need_root()
    if SYSTEM.root or SYSTEM.missing:
        skip("needs a Python that every user can start")
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and int(scope.read_text()) > 0:
        skip("Yama lets nobody look into processes that are not descendants")
    plain = [need_program("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        script, _, program = (shutil.copy(file, folder)
                              for file in (TARGETS / "hammer.py", TARGETS / "ages.py", RECORDED))
        for variant in ("single", "threads"):
            found = record(SYSTEM, variant, 500, size(1, 60), script=script, command=[*plain, program], wrap=plain)
            assert found["rung"] != "perch, real-time priority", found
            rows.append(line(variant, found))
    report(f"Truth of recorded stacks without rights, {SYSTEM.label}", rows)
