"""A target that lies: lists that go round, lengths that cannot be, pointers to nowhere (tests/targets/corrupt.py).

Darter ends with a result that is marked, or with an error; it uses neither much memory nor endless time, and what
it says of other processes is not touched.
"""

import contextlib
import json
import re

from harness import FULL, SHAPES, SYSTEM, USABLE, children, each, limit, need_program, need_root, skip, target, wait_for
from layouts import layout_of
from weigh import weighed

# What is cut off, and so said to be incomplete.
INCOMPLETE = ["threads", "interpreters", "everything", "frames", "forged-frames", "forged-threads", "frame-pointer"]
WHOLE = ["name", "long-name", "line-table", "active", "modules", "GIL"]
# One of each shape of memory in `make test`.
PYTHONS = USABLE if FULL else [python for python in USABLE
                               if python is SYSTEM or python.version[:2] in ((3, 8), (3, 12), (3, 15))]
SMALL = 1 << 20  # bytes of output


@contextlib.contextmanager
def corrupted(python, kind, wrap=()):
    python.demand()
    layout = layout_of(python)
    with target(python, "corrupt.py", kind, ready=None, wrap=wrap) as program:
        program.send("".join(f"{name} {value}\n" for name, value in layout.items()))
        program.wait_line("ready")
        yield program


def listed_beside(program):
    """What ps says of the target; a healthy process is listed by the same call as always."""
    with target(SYSTEM, "hum.py") as healthy:
        def listed():
            run = weighed("ps", "--json")
            assert run.code == 0, run
            processes = {process["pid"]: process for process in json.loads(run.out)["processes"]}
            assert processes[healthy.pid]["error"] is None, processes[healthy.pid]
            # What one that runs is doing is not always known where the machine has no CPU for us.
            return processes if processes[healthy.pid]["doing"] else None

        processes = wait_for(listed, "what the healthy process is doing")
        assert processes[healthy.pid]["doing"]["function"], processes[healthy.pid]
        return processes[program.pid]


def shown(program):
    run = weighed("dump", "--json", program.pid)
    out = run.out
    assert run.code == 0 and run.err == "", run
    assert len(out) < 100 * SMALL and out.endswith(b"}\n"), len(out)
    if len(out) > SMALL:  # too much to be turned into objects here
        warnings = re.search(rb'"warnings": *(\[.*?\])', out, re.DOTALL)
        return {"warnings": json.loads(warnings[1]), "threads": None}
    (snapshot,) = json.loads(out)["snapshots"]
    return snapshot


@each(PYTHONS)
@each(INCOMPLETE)
@limit(400)
def test_a_part_that_cannot_be_followed(python, kind):
    with corrupted(python, kind) as program:
        snapshot = shown(program)
        assert snapshot["warnings"], [thread["frame_count"] for thread in snapshot["threads"]]
        run = weighed("dump", program.pid)
        assert run.code == 0 and f"Process {program.pid}:".encode() in run.out, (run.code, run.out[:1000], run.err)
        if kind in ("threads", "interpreters", "everything"):  # those that there are, once each
            tids = [thread["tid"] for thread in snapshot["threads"]]
            assert len(tids) == len(set(tids)) == 4, tids
        assert listed_beside(program)["python"] == python.text


@each([python for python in SHAPES if python.version >= (3, 8)])
@each(["shared", "own"])
def test_more_names_than_can_be_kept(python, kind):
    """A text that is shared is read once; of long ones that are not, no more than there is room for."""
    count, length = 4000, 60000 if kind == "shared" else 20000
    with target(python, "fat_names.py", count, length, kind) as program:
        run = weighed("dump", program.pid)
        assert run.code == 0 and not run.err, run
        assert ("<too long>" in run.out.decode()) == (kind == "own"), run.out[-2000:]
        assert b" main (fat_names.py" in run.out, run.out[-200:]


@each([python for python in SHAPES if python.version >= (3, 11) and not python.root])
@limit(400)
def test_ids_that_nobody_has_in_another_namespace(python):
    """To ask the kernel for all threads for each of them would take many minutes."""
    need_root()
    with corrupted(python, "forged-ids", wrap=[need_program("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child"]) as program:
        (pid,) = children(program.pid)
        run = weighed("dump", "--json", pid)
        assert run.code == 0 and run.err == "", run
        (snapshot,) = json.loads(run.out)["snapshots"]
        assert snapshot["warnings"], snapshot["warnings"]
        assert len([thread for thread in snapshot["threads"] if thread["tid"]]) >= 1, snapshot["threads"][:3]


@each(PYTHONS)
@each(WHOLE)
@limit(400)
def test_an_object_that_cannot_be_believed(python, kind):
    if kind == "GIL" and python.version < (3, 7):
        skip("its words are variables that a program cannot find in itself")
    with corrupted(python, kind) as program:
        snapshot = shown(program)
        assert snapshot["torn"] == 0 and len(snapshot["threads"]) == 4, snapshot["warnings"]
        for thread in snapshot["threads"]:
            assert thread["frames"][-1]["name"] in ("<module>", "Thread._bootstrap", "_bootstrap", "__bootstrap"), thread["frames"][-1]
        names = {frame["name"] for thread in snapshot["threads"] for frame in thread["frames"]}
        assert ("deep" in names) == (kind not in ("name", "long-name")), names
        assert listed_beside(program)["doing"]["function"], program.pid


@each([python for python in PYTHONS if python.version >= (3, 13)])
def test_a_description_that_makes_no_sense(python):
    with corrupted(python, "offsets") as program:
        run = weighed("dump", program.pid)
        assert run.code == 1 and run.out == b"", run
        assert f"Python {python.text} describes itself in a way that this darter does not know" in run.err, run.err
        assert listed_beside(program)["error"]["code"] == "unsupported"
