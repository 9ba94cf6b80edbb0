"""Processes whose interpreter was damaged from outside, at random: an answer in bounded time and memory, and no crash."""

import contextlib

import spoil
from harness import USABLE, limit, record_figure, target, wait_at_rest
from layouts import layout_of

HERE = [python for python in USABLE if not python.missing]


@contextlib.contextmanager
def damaged(python, layout, kind, chance):
    """A process of its own for each damage, which does not touch it any more: it would not survive that."""
    with target(python, "truth_threads.py", "named") as program:
        wait_at_rest(program.pid)
        with spoil.Memory(f"/proc/{program.pid}/mem") as memory:
            structures = spoil.Structures(memory, layout, spoil.runtime_of(program.pid))
            assert spoil.spoil(structures, kind, chance), kind
        yield program


@limit(7200)
def test_corrupted_processes():
    rows, shown = [], 0
    for python in HERE:
        tally, layout = spoil.Tally(), layout_of(python)
        for number, (kind, chance) in enumerate(spoil.chances(spoil.count_each(HERE), python.label)):
            label = f"{python.label} {kind} {number}"
            with damaged(python, layout, kind, chance) as program:
                tally.look(label, number, program.pid)
                assert program.process.poll() is None, f"{label}: the target has ended: {program.stderr}"
        rows.append(tally.row(python.label))
        shown += tally.shown
    assert shown, "not one of them was read: the test does not reach the stacks"
    record_figure("Corrupted processes", "\n".join(spoil.HEAD + rows))
