"""The profilers that record: how each is told what to record, and how its file is read (profiles.py).

Each writes the file in which it keeps every sample at its time, so that sizes can be compared, and threads that wait
are recorded by all of them, as darter does.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import profiles
import rivals

ROOT = Path(__file__).resolve().parent.parent
AUSTIN = "4.0.0"  # beside the one that `dump` is compared with


@dataclass
class Job:
    pid: int
    rate: int
    seconds: int
    output: Path  # as the host sees it
    root: str = ""  # of the target
    children: bool = False
    threads: int = 1  # of the target

    @property
    def inside(self):
        """The output as a program in the target's root sees it."""
        return str(self.output)[len(self.root):]


@dataclass
class Recorder:
    """argv(job): the command, which must become the profiler by exec alone: its CPU time is that of one process.
    read(job, answer, stacks): the Profile in job.output; answer is what the command printed. Without stacks the file is
    not read: it may be large."""

    name: str
    version: str
    argv: Callable
    read: Callable
    children: bool = True  # it can record a process with all its children
    newest: bool = False  # its target is of the newest Python, else of the one that all others read

    @property
    def title(self):
        return f"{self.name} {self.version}".strip()


def run(argv):
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        raise profiles.Unreadable(f"{argv[0]} ended with {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
    return done.stdout


# ---- darter ----


def darter(program, newest=False):
    def argv(job):
        return [str(program), "record", "--quiet", "--json", "-f", "darter", "-r", str(job.rate),
                "-d", str(job.seconds), "-o", str(job.output), *(["--children"] if job.children else []), str(job.pid)]

    def read(job, answer, stacks):
        text = run([str(program), "report", "--quiet", "--idle", "--full-filenames", "-f", "folded",
                    str(job.output)]) if stacks else ""
        return profiles.darter(answer, text)

    return Recorder("darter", "", argv, read, newest=newest)


# ---- py-spy ----


def py_spy(version, *options):
    def argv(job):
        return [str(rivals.VENV / "bin" / "py-spy"), "record", "--idle", "--full-filenames", "-f", "speedscope",
                *options, "-r", str(job.rate), "-d", str(job.seconds), "-o", str(job.output),
                *(["--subprocesses"] if job.children else []), "-p", str(job.pid)]

    return Recorder(" ".join(["py-spy", *options]), version, argv,
                    lambda job, answer, stacks:
                    profiles.speedscope(answer, job.output.read_text() if stacks else "", job.threads))


# ---- austin ----


def austin(version, command, *options):
    def argv(job):
        return [*command, *options, "-i", str(max(1, 1000000 // job.rate)), "-x", str(job.seconds),
                "-o", str(job.output), *(["-C"] if job.children else []), "-p", str(job.pid)]

    return Recorder("austin", version, argv,
                    lambda job, answer, stacks:
                    profiles.mojo(answer, job.output.read_bytes() if stacks else b"", job.threads))


def newer_austin(sid):
    """Its command line, or None. It was built for a newer C library than Debian 12 has: where it does not start, that
    of the sid root serves."""
    folder = rivals.VENV / "austin-4"
    program = folder / "bin" / "austin"
    if not program.exists():
        rivals.say(f"bench: installing austin-dist {AUSTIN} in {folder}")
        done = subprocess.run([rivals.VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check",
                               "--no-deps", "--ignore-installed", "--prefix", folder, f"austin-dist=={AUSTIN}"],
                              capture_output=True, text=True)
        if done.returncode or not program.exists():
            reason = (done.stderr or done.stdout)[-300:]
            rivals.say(f"bench: it cannot be installed, the figures go without it: {reason}")
            return None
    loaders = sorted(Path(sid).glob("lib64/ld-linux-*.so.2")) if sid else []
    for command in ([str(program)], *([str(loader), "--library-path", f"{sid}/usr/lib/{os.uname().machine}-linux-gnu",
                                       str(program)] for loader in loaders)):
        if subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
            return command
    rivals.say(f"bench: austin {AUSTIN} does not start here, the figures go without it")
    return None


# ---- profiling.sampling, of Python 3.15 ----


def sampling(python):
    """It reads processes of its own version alone, and wants to see their files: it is run where the target is."""
    def enter(job):
        there = f"/proc/{job.pid}"
        return ["nsenter", f"--mount={there}/ns/mnt", f"--root={there}/root", f"--wd={there}/root", python.path,
                "-m", "profiling.sampling"]

    def argv(job):
        return [*enter(job), "attach", "-a", "-r", str(job.rate), "-d", str(job.seconds), "--binary", "-o", job.inside,
                str(job.pid)]

    def read(job, answer, stacks):
        text = job.output.with_suffix(".txt")
        if stacks:
            run([*enter(job), "replay", "--collapsed", "-o", job.inside[:-len(job.output.suffix)] + ".txt", job.inside])
        return profiles.collapsed(answer, text.read_text(errors="replace") if stacks else "")

    return Recorder("profiling.sampling", python.text, argv, read, children=False, newest=True)


def sid_root():
    """(the sid root, "") or ("", why there is none). It is made if need be."""
    if os.geteuid() != 0:
        return "", "entering the Debian sid root needs root"
    done = subprocess.run([ROOT / "scripts" / "sid-root"], stdout=subprocess.PIPE, text=True)
    return (done.stdout.strip(), "") if done.returncode == 0 else ("", "no Debian sid root (scripts/sid-root says why)")


def find(program, newest, sid):
    """(recorders, what is missing). program: darter; newest: a Python 3.15, or None; sid: the root that it is in."""
    found, missing = [darter(program)], []
    usable = rivals.make_venv()
    spy = rivals.install("py-spy==0.4.3") if usable else None
    older = rivals.install("austin-dist==3.7.0") if usable else None
    newer = newer_austin(sid) if usable else None
    if spy:
        found += [py_spy(spy), py_spy(spy, "--nonblocking")]
    if older:
        found.append(austin(older, [str(rivals.VENV / "bin" / "austin")], "-b"))
    if newer:
        found.append(austin(AUSTIN, newer))
    if newest:
        found += [darter(program, newest=True), sampling(newest)]
    missing += [name for name, there in (("py-spy", spy), ("austin 3.7", older), (f"austin {AUSTIN}", newer),
                                         ("profiling.sampling", newest)) if not there]
    return found, missing
