"""A minor version that nobody has seen: a real interpreter in whose file another version number was written."""

import contextlib
import os
import re
import shutil
import signal
import struct
import tempfile
from pathlib import Path

import cores
import truths
from harness import USABLE, Python, darter, each, limit, need_root, target
from layouts import live_table, understood

COOKIE = b"xdebugpy"  # the description begins with it, then the version
UNKNOWN = (3, 16)
# From 3.13 on a Python describes itself. The ones whose program has the interpreter in it can be copied as one file.
NEWEST = [python for python in USABLE if python.version[:2] == (3, 15) and not python.shared]
OLDER = [python for python in USABLE if (3, 13) <= python.version < (3, 15) and not python.shared]


def described_at(data):
    """Where the description is in a file: the word also stands where the program looks for it in others."""
    found = [match.start() for match in re.finditer(COOKIE, data)
             if data[match.start() + 11:match.start() + 16] == b"\x03\0\0\0\0"]
    assert len(found) == 1, found
    return found[0]


@contextlib.contextmanager
def renumbered(python, minor=UNKNOWN[1], change=lambda table: None):
    """A copy of a Python that says it is another minor version. change gets the rest of the description, to be edited."""
    python.demand()
    if python.root:
        need_root()
    with tempfile.TemporaryDirectory(prefix="darter-unknown-", dir=f"{python.root}/tmp" if python.root else None) as folder:
        os.chmod(folder, 0o755)
        program = Path(folder) / "python"
        data = bytearray(Path(os.path.realpath(python.root + python.path)).read_bytes())
        at = described_at(bytes(data))
        (version,) = struct.unpack_from("<Q", data, at + 8)
        struct.pack_into("<Q", data, at + 8, version & ~0xff0000 | minor << 16)
        table = data[at + 24:at + 1024]
        change(table)
        data[at + 24:at + 1024] = table
        program.write_bytes(data)
        shutil.copymode(os.path.realpath(python.root + python.path), program)
        home = Path(python.path).parents[1]
        copy = Python(str(program)[len(python.root):], python.root, python.version, python.text,
                      threaded=python.threaded, debug=python.debug)
        copy.argv = [*copy.argv[:-1], "env", f"PYTHONHOME={home}", copy.argv[-1]]
        yield copy


def as_told(truth):
    """The program itself goes by the number that it was compiled with."""
    return {**truth, "version": [*UNKNOWN, truth["version"][2]]}


def check_warned(snapshot):
    assert re.match(r"3\.16\.", snapshot["python"]), snapshot["python"]
    (warning,) = snapshot["warnings"]
    assert warning == f"Python {snapshot['python']} is newer than the newest that this darter knows; " \
                      "it is read by its own description", warning


@each(NEWEST)
@each(["truth_frames.py", "truth_threads.py", "truth_interpreters.py"])
def test_read_with_a_warning(python, script):
    arguments = ["named"] if script == "truth_threads.py" else []
    with renumbered(python) as unknown, target(unknown, script, *arguments) as program:
        snapshot = truths.seen(program)
        found = truths.differences(as_told(truths.told(program)), snapshot)
        assert not found, found[:20]
        check_warned(snapshot)
        text = darter("dump", program.pid, check=0)
        assert "is newer than the newest that this darter knows" in text.stdout + text.stderr, text
        (listed,) = [process for process in truths.json.loads(darter("ps", "--json", check=0).stdout)["processes"]
                     if process["pid"] == program.pid]
        assert listed["python"].startswith("3.16.") and listed["error"] is None, listed


@each(NEWEST)
def test_a_core_is_read_with_a_warning(python):
    with renumbered(python) as unknown, cores.mortal(unknown, "truth_threads.py", "named") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        snapshot = truths.seen_core(died(), "--root", python.root or "/")
        found = truths.differences(as_told(truths.told(program)), snapshot, dead=True)
        assert not found, found[:20]
        check_warned(snapshot)


def refusal(program):
    done = darter("dump", program.pid, check=1)
    assert done.stdout == "" and "Traceback" not in done.stderr, done
    return done.stderr


@each(OLDER)
def test_a_description_of_another_shape_is_refused(python):
    """A version whose description was changed once more: what it says does not fit the newest known shape."""
    with renumbered(python) as unknown, target(unknown, "sleeper.py") as program:
        told = refusal(program)
        assert re.search(r"Python 3\.16\S* (describes itself in a way that this darter does not know: \S+|is not read yet)",
                         told), told
        assert "a newer darter may know it" in told or "is a preview" in told, told


def swap_threads(python):
    """Two fields change places: every number is possible, and the structures are not as they say."""
    layout = understood(live_table(python))
    one, other = (struct.pack("<Q", int(layout[name])) for name in ("interpreter.threads_head", "interpreter.sysdict"))

    def change(table):
        first, second = table.index(one, 24), table.index(other, 24)
        table[first:first + 8], table[second:second + 8] = other, one

    return change


@each(NEWEST)
@limit(300)
def test_a_description_that_is_not_true_is_refused(python):
    with renumbered(python, change=swap_threads(python)) as liar:
        # The interpreter goes by its own code, not by its description: it runs as ever.
        with target(liar, "sleeper.py") as program:
            told = refusal(program)
            assert re.search(r"Python 3\.16 is not read yet: its structures are not as it says", told), told


@each(NEWEST)
def test_a_description_of_nonsense_is_refused(python):
    def nonsense(table):
        table[0:400] = b"\xff" * 400

    with renumbered(python, change=nonsense) as liar, target(liar, "sleeper.py") as program:
        told = refusal(program)
        assert re.search(r"Python 3\.16\S* describes itself in a way that this darter does not know: the size of "
                         r"runtime_state is said to be 18446744073709551615", told), told
