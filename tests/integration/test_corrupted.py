"""Processes whose interpreter was damaged from outside, at random: an answer in bounded time and memory, and no crash."""

import contextlib
import re
import subprocess

import spoil
import weigh
from harness import BUILD, USABLE, limit, record_figure, size, target
from layouts import layout_of

HERE = [python for python in USABLE if not python.missing]


def runtime_of(pid):
    """Where the runtime of a healthy process is."""
    done = subprocess.run([BUILD / "tests" / "hammer" / "find", str(pid)], capture_output=True, text=True, check=True)
    return int(re.search(r"^\d+ ok .* 0x([0-9a-f]+) ", done.stdout)[1], 16)


def count_each():
    """500 in the full tier, and no fewer than 40 of each Python."""
    return size(4, max(40, -(-500 // len(HERE))))


@contextlib.contextmanager
def damaged(python, layout, kind, chance):
    """A process of its own for each damage."""
    with target(python, "truth_threads.py", "named") as program:
        with spoil.Memory(f"/proc/{program.pid}/mem") as memory:
            structures = spoil.Structures(memory, layout, runtime_of(program.pid))
            assert spoil.spoil(structures, kind, chance), kind
        yield program


@limit(7200)
def test_corrupted_processes():
    rows, shown = [], 0
    for python in HERE:
        tally, layout = spoil.Tally(), layout_of(python)
        for number, (kind, chance) in enumerate(spoil.chances(count_each(), python.label)):
            label = f"{python.label} {kind} {number}"
            with damaged(python, layout, kind, chance) as program:
                tally.look(label, program.pid)
                if weigh.sanitizers() and number % 6 == 0:
                    tally.look(f"{label}, sanitizers", program.pid, build=weigh.ASAN)
                assert program.process.poll() is None, f"{label}: the target has ended: {program.stderr}"
        rows.append(tally.row(python.label))
        shown += tally.shown
    assert shown, "not one of them was read: the test does not reach the stacks"
    record_figure("Corrupted processes", "\n".join(spoil.HEAD + rows))
