"""make portable: one file that needs nothing but a kernel, for x86_64 and aarch64."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cores
import truths
from harness import (BUILD, FULL, ROOT, SYSTEM, USABLE, darter, each, limit, need_program, need_root, skip, target)
from pythons import ask

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
FORMATS = {"gz": ["gzip", "-1c"], "zst": ["zstd", "-1c"], "lz4": ["lz4", "-1c"]}


def portable(arch=os.uname().machine):
    """The directory with the program; built if it is not there or not up to date."""
    if arch not in MACHINES:
        skip(f"there is no portable program for {arch}")
    done = subprocess.run([ROOT / "scripts" / "portable", arch], capture_output=True, text=True)
    if done.returncode == 3:
        skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return ROOT / "build-portable" / arch


def unpacked(*what):
    done = subprocess.run([ROOT / "scripts" / "unpacked-root", *what], capture_output=True, text=True)
    if done.returncode == 3:
        skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@each(MACHINES)
@limit(900)
def test_it_needs_nothing(arch):
    portable(arch)
    program = ROOT / "build-portable" / f"darter-{arch}"
    need_program("readelf")
    text = subprocess.run(["readelf", "-hlSdW", program], capture_output=True, text=True, check=True).stdout
    assert MACHINES[arch] in text and "LOAD" in text, text
    for word in ("INTERP", "NEEDED", ".symtab", ".debug_"):
        assert word not in text, f"{word}: {text}"
    assert b"GLIBC_" not in program.read_bytes()
    # What is linked in wants to be named where the program is given away.
    licenses = {path.name: path.read_text() for path in (ROOT / "build-portable" / "licenses").iterdir()}
    assert sorted(licenses) == ["libzstd", "lz4", "musl", "zlib"], licenses.keys()
    assert all(len(text) > 500 for text in licenses.values())


def programs(folder, *names):
    """A directory with these programs of the system, to stand for all that are installed."""
    bare = Path(folder) / "bin"
    bare.mkdir()
    for name in names:
        (bare / name).symlink_to(need_program(name))
    return bare


def test_what_it_takes_to_build_it():
    """Neither a compiler of the system nor libraries of it."""
    with tempfile.TemporaryDirectory(prefix="darter-portable-") as folder:
        env = {**os.environ, "PATH": str(programs(folder, "cat"))}
        done = subprocess.run([ROOT / "scripts" / "setup", "--list", "portable"], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == ["meson", "ninja-build", "pkg-config", "python3", "python3-pip", "xz-utils"], done


def test_the_compiler_cannot_be_downloaded():
    """What pip says of it is told."""
    with tempfile.TemporaryDirectory(prefix="darter-portable-") as folder:
        bare = programs(folder, "cat", "dirname", "flock", "mkdir", "mktemp", "rm", "tail")
        python = bare / "python3"
        python.write_text('#!/bin/sh\ncase "$*" in *download*) echo "Looking for it"; echo "ERROR: the wire is cut" >&2; exit 1;; esac\n')
        python.chmod(0o755)
        env = {**os.environ, "PATH": str(bare), "DARTER_CACHE": folder}
        done = subprocess.run([ROOT / "scripts" / "portable", "--compiler"], env=env, capture_output=True, text=True)
        assert done.returncode == 3 and done.stdout == "", done
        assert done.stderr.splitlines()[-1].endswith(": ERROR: the wire is cut"), done.stderr


@each(USABLE)
@limit(900)
def test_it_tells_the_truth(python):
    program = portable()
    with target(python, "truth_frames.py") as running:
        truths.check(running, build=program)
        listed = json.loads(darter("ps", "--json", build=program, check=0).stdout)["processes"]
        assert [one["python"] for one in listed if one["pid"] == running.pid] == [python.text], listed


@limit(900)
def test_it_reads_compressed_cores():
    program = portable()
    with target(SYSTEM, "truth_threads.py", "named", **cores.SMALL) as running, \
            tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        core, _ = cores.gcore(running.pid, folder)
        truths.check_core(running, core, build=program)
        for kind, (packer, option) in FORMATS.items():
            packed = Path(folder) / f"packed.{kind}"
            with open(core, "rb") as source, open(packed, "wb") as sink:
                subprocess.run([need_program(packer), option], stdin=source, stdout=sink, check=True)
            shown = truths.check_core(running, packed, build=program)
            assert shown["warnings"] == [], shown["warnings"]


# ---- roots ----


def root_with(kind, folder):
    """A root directory that has the program, and what else the kind says."""
    if kind == "sid":
        done = subprocess.run([ROOT / "scripts" / "sid-root", "--check"])
        if done.returncode:
            skip("no Debian sid root (scripts/sid-root makes it)")
        return subprocess.run([ROOT / "scripts" / "sid-root", "--path"], capture_output=True, text=True).stdout.strip()
    packages = {"musl": ("stable", "amd64", "musl"), "bullseye": ("bullseye", "amd64", "python3.9")}
    return unpacked(*packages[kind]) if kind in packages else folder


@each(["empty", "musl", "bullseye", "sid"])
@limit(900)
def test_it_starts_in_any_root(kind):
    """One that has nothing, one whose only C library is musl, the oldest Debian that the mirror has, and the newest: what it
    shows is what it shows outside. /proc is mounted in a mount namespace, and gone afterwards."""
    need_root()
    need_program("unshare")
    program = portable()
    if kind in ("musl", "bullseye") and os.uname().machine != "x86_64":
        skip("that root is of x86_64")
    with tempfile.TemporaryDirectory(prefix="darter-root-") as folder:
        root = Path(root_with(kind, folder))
        inside = Path(tempfile.mkdtemp(prefix="darter-", dir=root))
        try:
            shutil.copy(program / "darter", inside)
            place = f"/{inside.name}"
            wrap = ["unshare", "--mount", "sh", "-c",
                    'mkdir -p "$0/proc" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]
            with target(SYSTEM, "truth_frames.py") as running:
                truths.check(running, wrap=wrap, build=place)
            if kind == "bullseye":
                with target(ask("/usr/bin/python3.9", str(root)), "truth_frames.py") as running:
                    truths.check(running, wrap=wrap, build=place)
        finally:
            shutil.rmtree(inside)


@each([python for python in USABLE if FULL or python is SYSTEM])
@limit(900)
def test_on_a_kernel_without_newer_calls(python):
    """glibc 2.17 came with Linux 3.10: the calls that came later are refused, all at once."""
    program = portable()
    wrap = [BUILD / "tests" / "hammer" / "refuse_new"]
    if darter("version", wrap=wrap, build=program).returncode == 77:
        skip("this kernel takes no seccomp filter")
    with target(python, "truth_frames.py", **cores.SMALL) as running, \
            tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        truths.check(running, wrap=wrap, build=program)
        darter("ps", wrap=wrap, build=program, check=0)
        if python is SYSTEM:
            core, _ = cores.gcore(running.pid, folder)
            subprocess.run(["gzip", "-1", core], check=True)
            truths.check_core(running, f"{core}.gz", wrap=wrap, build=program)
    with target(python, "hum.py") as busy:
        assert truths.seen(busy, wrap=wrap, build=program)["torn"] == 0


# ---- the tests of the ordinary program ----

ALL = ["test_truth::", "test_threads::test_states", "test_threads::test_names", "test_ps::", "test_core::",
       "test_core_packed::", "test_fast::test_no_stack_is_a_mixture"]
SOME = ["test_core_packed::test_a_compressed_core_that_is_damaged", "test_ps::test_the_table_has_a_line_for_each",
        f"test_threads::test_states[{SYSTEM.label}]", f"test_fast::test_no_stack_is_a_mixture[{SYSTEM.label}"]


@limit(5400 if FULL else 600)
def test_the_other_tests_pass_with_it():
    program = portable()
    with tempfile.TemporaryDirectory(prefix="darter-build-") as folder:
        os.symlink(program / "darter", f"{folder}/darter")
        os.symlink(BUILD / "tests", f"{folder}/tests")
        done = subprocess.run([sys.executable, ROOT / "tests" / "run.py", "-j1", *(["--full"] if FULL else []),
                               *(ALL if FULL else SOME)], env={**os.environ, "DARTER_BUILD": folder}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0 and int(last.split()[0]) >= (400 if FULL else 6), done.stdout
