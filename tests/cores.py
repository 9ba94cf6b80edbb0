"""Core files for tests: made by gdb's gcore, or by the kernel of a program that dies."""

import contextlib
import copy
import os
import struct
import subprocess
import tempfile
from pathlib import Path

from harness import need_program, skip, target

# gcore writes untouched stacks and heaps too: small ones make small cores.
SMALL = {"wrap": ("prlimit", "--stack=1048576"), "env": {"MALLOC_ARENA_MAX": "1"}}
PATTERN = Path("/proc/sys/kernel/core_pattern")


def gcore(pid, folder):
    """A core of a running process, which goes on; and whether gdb could read all of its memory. (gdb 13 cannot read the
    stacks of threads where the C library has guard pages in them, as glibc 2.43 has. It leaves them empty.)"""
    need_program("gdb")
    done = subprocess.run([need_program("gcore"), "-o", f"{folder}/gcore", str(pid)], capture_output=True, text=True,
                          timeout=300)
    core = Path(f"{folder}/gcore.{pid}")
    assert core.exists(), f"gcore: {done.stdout}\n{done.stderr}"
    failed = [line for line in done.stderr.splitlines() if "Memory read failed" in line]
    return core, all("0xffffffffff600000" in line for line in failed)


def need_kernel_cores():
    """The kernel must write cores into the working directory: its setting is the machine's, and is left alone."""
    pattern = PATTERN.read_text().strip()
    if pattern.startswith(("|", "/")) or "/" in pattern:
        skip(f"the kernel does not write core files into the working directory here ({pattern})")


@contextlib.contextmanager
def mortal(python, script, *args, **how):
    """A target whose death leaves a core: yields the program and a function that waits for its end and gives the core."""
    need_kernel_cores()
    need_program("prlimit")
    python.demand()
    with tempfile.TemporaryDirectory(prefix="darter-core-", dir=f"{python.root}/tmp" if python.root else None) as folder:
        inside = folder[len(python.root):]
        here = copy.copy(python)
        here.argv = ["prlimit", "--core=unlimited", *python.argv[:-1], "env", "-C", inside, python.argv[-1]]
        with target(here, script, *args, **how) as program:
            def died():
                program.wait()
                found = [path for path in Path(folder).iterdir() if path.name.startswith("core")]
                assert len(found) == 1, f"{found}, {program.stderr}"
                return found[0]

            yield program, died


class Core:
    """Where things are in a core of the kernel: headers first, then notes, then memory."""

    def __init__(self, path):
        with open(path, "rb") as file:
            head = file.read(64)
            where, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
            file.seek(where)
            table = file.read(56 * count)
            rows = [struct.unpack_from("<IIQQQQ", table, 56 * i) for i in range(count)]
            _, _, offset, _, _, length = next(row for row in rows if row[0] == 4)
            file.seek(offset)
            self.notes = file.read(length)
        self.size = os.path.getsize(path)
        self.headers_end = where + 56 * count
        # offset, size, flags, address
        self.loads = [(offset, length, flags, address) for kind, flags, offset, address, _, length in rows
                      if kind == 1 and length]
        self.notes_end = min(load[0] for load in self.loads)

    def stack_pointers(self):
        """Of each thread, in the order of the core: rsp in the notes NT_PRSTATUS of x86_64."""
        at = 0
        while at < len(self.notes):
            name, length, kind = struct.unpack_from("<III", self.notes, at)
            at += 12 + (name + 3 & ~3)
            if kind == 1:
                yield struct.unpack_from("<Q", self.notes, at + 112 + 19 * 8)[0]
            at += length + 3 & ~3

    @property
    def writable(self):
        return [load for load in self.loads if load[2] & 2]

    @property
    def pieces(self):
        return [(address, length, offset) for offset, length, _, address in self.loads]
