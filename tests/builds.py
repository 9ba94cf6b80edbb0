"""Finding Python in odd builds: how tests ask for it, and how such builds are made from ordinary ones."""

import contextlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import cores
import truths
from harness import BUILD, FULL, SYSTEM, Python, need_program, target

HAMMER = BUILD / "tests" / "hammer"
NOT_PYTHON, AGAIN, UNSUPPORTED, ENDED = -5, -7, -8, -6


# ---- asking ----


def ask(*pids, options=(), wrap=()):
    """What tests/hammer/find prints: [(pid, line without the pid)]."""
    argv = [*wrap, HAMMER / "find", *options, *pids]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=100, check=True)
    return [(int(match[1]), match[2]) for match in re.finditer(r"^(\d+) (.*)$", done.stdout, re.MULTILINE)]


def find(*pids, **how):
    return dict(ask(*pids, **how))


class Found:
    def __init__(self, line):
        match = re.fullmatch(r"ok (\S+) (section|symbol|memory symbol|scan) 0x([0-9a-f]+) (.*?)( newer)?", line)
        assert match, line
        self.version, self.by, self.runtime, self.library = match[1], match[2], int(match[3], 16), match[4]


def found(pid, python, by=None, **how):
    answer = Found(find(pid, **how)[pid])
    assert answer.version == python.text.rstrip("+"), (answer.version, python.text)
    if by:
        assert answer.by == by, answer.by
    return answer


def refused(pid, code, words, **how):
    line = find(pid, **how)[pid]
    assert line.startswith(f"{code} "), line
    assert re.search(words, line), line
    return line


def usual_way(python):
    return "section" if python.version >= (3, 10) else "symbol"


def stripped_way(python, otherwise):
    """Before 3.7 the head of the list of interpreters is a static variable, of which nothing tells where it lies."""
    return "scan" if python.version < (3, 7) else otherwise


def same_in_a_core(program):
    """A core of a program that stands still tells what the living process does. In `make test` for one Python only."""
    if not FULL and program.python.version[:2] != SYSTEM.version[:2]:
        return
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        core, _ = cores.gcore(program.pid, folder)
        alive, dead = truths.seen(program), truths.seen_core(core)
    assert dead["python"] == alive["python"] and dead["library"] == alive["library"], (dead, alive)
    stacks = [[truths.stack(thread) for thread in snapshot["threads"]] for snapshot in (dead, alive)]
    assert stacks[0] == stacks[1] and stacks[0][0], stacks


# ---- making odd builds ----


def prefix(python):
    code = "import sys; print(getattr(sys, 'base_prefix', sys.prefix))"
    done = subprocess.run([python.path, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def library_of(python):
    """The file that holds the interpreter, as a process of that Python has it mapped."""
    with target(python, "sleeper.py") as program:
        return Found(find(program.pid)[program.pid]).library


class Copy:
    """A copy of a Python's program and library in a directory of its own; the standard library stays where it is."""

    def __init__(self, python, folder):
        self.python = python
        self.program = folder / "bin" / "python"
        self.program.parent.mkdir()
        shutil.copy(os.path.realpath(python.path), self.program)
        self.library = None
        self.env = {"PYTHONHOME": prefix(python)}
        if python.shared:
            original = Path(library_of(python))
            self.library = folder / "lib" / original.name
            self.library.parent.mkdir()
            shutil.copy(original, self.library)
            self.env["LD_LIBRARY_PATH"] = str(self.library.parent)

    @property
    def holder(self):
        """The file with the interpreter in it."""
        return self.library or self.program

    def start(self, script="sleeper.py", *args, **how):
        copied = Python(str(self.program), "", self.python.version, self.python.text, self.python.shared)
        return target(copied, script, *args, env=self.env, **how)


@contextlib.contextmanager
def copy_of(python):
    python.demand()
    with tempfile.TemporaryDirectory(prefix="darter-build-") as folder:
        yield Copy(python, Path(folder))


def strip(path):
    subprocess.run([need_program("strip"), "--strip-all", str(path)], check=True)


def cut_section_headers(path):
    """What `objcopy --strip-section-headers` of newer binutils does: e_shoff, e_shnum and e_shstrndx are zero."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 0x28, 0)
    struct.pack_into("<HH", data, 0x3C, 0, 0)
    path.write_bytes(data)


def hide_symbols(path):
    """Nothing names the runtime any more, as in a program that has Python linked in and exports nothing.

    The library itself looks its runtime up by name: the new one has the same hash (33 * 'm' + 'e' == 33 * 'n' + 'D').
    """
    data = path.read_bytes()
    assert b"\0_PyRuntime\0" in data
    path.write_bytes(data.replace(b"\0_PyRuntime\0", b"\0_PyRuntinD\0"))
