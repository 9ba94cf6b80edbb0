"""aarch64, as far as it can be tried without such a machine: programs of it run in qemu-user, which writes their core files
itself, and whose memory is that of an ordinary process of this host."""

import copy
import os
import re
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

import truths
from harness import FULL, PYTHONS, ROOT, darter, each, limit, need_program, skip, target
from pythons import Python

# Debian's Pythons, by the suite that has them.
SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", **({"3.14": "sid", "3.15": "sid"} if FULL else {})}
CASES = [(version, "here") for version in SUITES] + [(version, "qemu") for version in (SUITES if FULL else ["3.11"])]
SHIFT = 1000000  # between ids of two PID namespaces
# What qemu-user does not do for the programs in it.
NOT_IN_QEMU = {
    "files": "no openat2", "namespaces": "no openat2", "hold": "no ptrace", "mem": "no process_vm_readv, no seccomp",
    "maps": "memory is never executable", "outlive": "a first thread that ends stays", "proc": "the system calls that are seen are qemu's own",
    "patience": "puts itself before the C library, which is linked in", "family": "no PR_SET_CHILD_SUBREAPER",
}


def made(script, *words):
    done = subprocess.run([ROOT / "scripts" / script, *words], capture_output=True, text=True)
    if done.returncode == 3:
        skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def aarch64_python(version):
    qemu = need_program("qemu-aarch64")
    root = made("unpacked-root", SUITES[version], "arm64", f"python{version}")
    python = Python(f"{root}/usr/bin/python{version}", version=[int(part) for part in version.split(".")], text=version)
    python.argv = [qemu, "-L", root, python.path]
    # Nothing in the root is compiled yet, which takes longer than all else.
    python.surroundings = {"PYTHONPYCACHEPREFIX": f"{root}/compiled", "PYTHONDONTWRITEBYTECODE": ""}
    return python, root


def portable(arch):
    made("portable", arch)
    return ROOT / "build-portable" / arch


@limit(900)
def test_it_starts():
    program = portable("aarch64")
    qemu = need_program("qemu-aarch64")
    for words in (["version"], ["help"], ["help", "dump"], ["dump", "--help"], ["completion", "bash"]):
        assert darter(*words, build=program, wrap=[qemu], check=0).stdout == darter(*words, check=0).stdout, words


@limit(1200)
def test_unit_tests():
    made("portable", "--tests", "aarch64")
    qemu = need_program("qemu-aarch64")
    programs = sorted((ROOT / "build-portable" / "aarch64" / "tests" / "unit").glob("test_*"))
    names = {path.name.removeprefix("test_"): path for path in programs if path.is_file() and os.access(path, os.X_OK)}
    assert len(names) > 30 and not NOT_IN_QEMU.keys() - names.keys(), names.keys()
    for name, path in names.items():
        if name not in NOT_IN_QEMU:
            done = subprocess.run([qemu, path], capture_output=True, text=True, timeout=300)
            assert done.returncode == 0 and "PASSED" in done.stdout + done.stderr, f"{name}: {done.stdout}\n{done.stderr}"


def dead(python, folder, script, *args):
    """A program that said the truth and was killed, and its core: qemu's, of a process of aarch64. (Newer ones keep SIGABRT
    to themselves.)"""
    here = copy.copy(python)
    here.argv = ["prlimit", "--core=unlimited", "env", "-C", folder, *python.argv]
    with target(here, script, *args, env=python.surroundings) as program:
        os.kill(program.pid, signal.SIGQUIT)
        program.wait()
        found = list(Path(folder).glob("qemu_*.core"))
        assert len(found) == 1, program.stderr
    return program, found[0]


@each([f"{version}-{where}" for version, where in CASES])
@limit(900)
def test_a_core_tells_the_truth(case):
    """Read by the program of this machine, and by that of aarch64."""
    version, where = case.split("-")
    python, root = aarch64_python(version)
    how = {} if where == "here" else {"build": portable("aarch64"), "wrap": [need_program("qemu-aarch64")]}
    for script in (["truth_frames.py"], ["truth_threads.py", "named"]):
        with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
            program, core = dead(python, folder, *script)
            snapshot = truths.check_core(program, core, "--root", root, "--exe", python.path, **how)
            bare = darter("dump", "--core", core, **how)
        assert snapshot["core"]["signal_name"] == "SIGQUIT", snapshot["core"]
        # qemu's cores tell neither what was mapped nor whether a thread is in a call: nothing is made up.
        assert {thread["state"] for thread in snapshot["threads"]} == {"unknown"}, snapshot["threads"]
        assert [text for text in snapshot["warnings"] if "nothing to compare it with" in text], snapshot["warnings"]
        assert bare.returncode == 1 and "is not in the core" in bare.stderr, bare.stderr


@each(SUITES)
@limit(900)
def test_a_running_interpreter_tells_the_truth(version):
    """To the kernel it is a program of this machine that has one of aarch64 in its memory."""
    python, _ = aarch64_python(version)
    if os.uname().machine != "x86_64":
        skip("this machine is one itself: all other tests do that")
    for script in (["truth_frames.py"], ["truth_threads.py", "named"]):
        with target(python, *script, env=python.surroundings) as program:
            truths.check(program)


# ---- what qemu does not write ----


def notes(data):
    """(name, type, bytes) of each note."""
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        at += 12
        name = data[at:at + name_size].rstrip(b"\0")
        at += (name_size + 3) & ~3
        yield name, kind, data[at:at + size]
        at += (size + 3) & ~3


def note(name, kind, data):
    name += b"\0"
    return struct.pack("<III", len(name), len(data), kind) + name.ljust((len(name) + 3) & ~3, b"\0") + \
        data.ljust((len(data) + 3) & ~3, b"\0")


def as_the_kernel_has_it(core, truth):
    """The same core with what a kernel of aarch64 adds to each thread: thread pointer and system call. The ids are those of
    another PID namespace, so only the pointer tells whose state is whose."""
    data = bytearray(core.read_bytes())
    table, = struct.unpack_from("<Q", data, 32)
    offset, = struct.unpack_from("<Q", data, table + 8)
    size, = struct.unpack_from("<Q", data, table + 32)
    assert struct.unpack_from("<I", data, table) == (4,)  # PT_NOTE
    idents = {thread["native"]: thread["ident"] for thread in truth["threads"]}
    made = b""
    for name, kind, text in notes(bytes(data[offset:offset + size])):
        if kind != 1:
            made += note(name, kind, text)
            continue
        tid, = struct.unpack_from("<i", text, 32)
        made += note(name, kind, text[:32] + struct.pack("<i", tid + SHIFT) + text[36:])
        made += note(b"LINUX", 0x401, struct.pack("<QQ", idents[tid] + 0x7c0, 0)) + note(b"LINUX", 0x404, struct.pack("<i", 115))
    struct.pack_into("<Q", data, table + 8, len(data))
    struct.pack_into("<Q", data, table + 32, len(made))
    core.write_bytes(data + made)
    return {ident: native + SHIFT for native, ident in idents.items()}


@each(["3.9", "3.11"])
@limit(900)
def test_threads_are_told_by_their_pointer(version):
    python, root = aarch64_python(version)
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        program, core = dead(python, folder, "truth_threads.py", "named")
        wanted = as_the_kernel_has_it(core, truths.told(program))
        snapshot = truths.seen_core(core, "--root", root, "--exe", python.path)
    assert {thread["ident"]: thread["tid"] for thread in snapshot["threads"]} == wanted and len(wanted) > 3
    assert {thread["state"] for thread in snapshot["threads"]} == {"sleeping"}, snapshot["threads"]
    assert {thread["syscall"] for thread in snapshot["threads"]} == {"clock_nanosleep"}, snapshot["threads"]


# ---- layouts ----

HEADERS = sorted({path for python in PYTHONS if not python.root and not python.missing and python.version < (3, 13)
                  for path in Path(python.path).parents[1].glob(f"include/python{python.version[0]}.{python.version[1]}*")})
# Debian's own lead to a file for each machine.
HEADERS = [path for path in HEADERS if "linux-gnu" not in (path / "pyconfig.h").read_text()]
# What lies behind the two mutexes of a GIL.
BEHIND = {"gil.size", "runtime.size", "runtime.tstate_current", "runtime.auto_interpreter", "interpreter.size"}


def fields(*words):
    text = subprocess.run([ROOT / "scripts" / "gen-layout", *words], capture_output=True, text=True, check=True).stdout
    return {name: value for name, value in (line.split() for line in text.splitlines())}


@limit(900)
def test_layouts_are_the_same():
    """CPython's headers, compiled for aarch64: only a larger mutex of glibc makes a difference (see find_fit.c)."""
    compiler = made("portable", "--compiler")
    if not HEADERS:
        skip("no headers of a Python before 3.13 are installed")
    for headers in HEADERS:
        ours = fields("--fields", headers)
        for library, more in (("gnu", 16), ("musl", 0)):
            theirs = fields("--compiler", f"{compiler} cc -target aarch64-linux-{library}", headers)
            assert len(theirs) > 40
            other = {name: int(value) - int(ours[name]) for name, value in theirs.items() if value != ours[name]}
            assert set(other) <= BEHIND and set(other.values()) <= {more}, f"{headers}, {library}: {other}"
            if library == "gnu" and re.search(r"3\.([7-9]|1[01])", headers.name):
                assert {"gil.size", "runtime.tstate_current", "runtime.auto_interpreter"} <= set(other), other
