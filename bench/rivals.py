"""The other profilers: installed from PyPI into a virtual environment of their own, and how each prints stacks."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

CACHE = Path(os.environ.get("DARTER_CACHE") or Path.home() / ".cache" / "darter")
VENV = CACHE / "rivals"


@dataclass
class Tool:
    """A program that prints the stacks of a process: its command line, and the line of a frame of a function."""

    name: str
    argv: Callable[[int], list]
    frame: str  # a regular expression with NAME in the function's place

    def frames(self, output, function):
        return len(re.findall(self.frame.replace("NAME", re.escape(function)), output, re.MULTILINE))

    def complete(self, result, expected):
        """True if the stacks were printed: each function of `expected` as often as it says."""
        return result.code == 0 and all(self.frames(result.output, name) == count for name, count in expected.items())


# name, what pip is asked for, its arguments, the line of a frame
RIVALS = [
    ("py-spy", "py-spy==0.4.3", ["dump", "--pid"], r"^ +NAME \("),
    ("austin", "austin-dist==3.7.0", ["--where"], r"^ +NAME \("),
    ("pystack", "pystack", ["remote"], r", in NAME$"),
]


def darter(program):
    return Tool("darter", lambda pid: [str(program), "dump", str(pid)], r"^ +NAME \(")


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_venv():
    if (VENV / "bin" / "pip").exists():
        return True
    done = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True)
    if done.returncode:
        say(f"bench: no virtual environment in {VENV}: {(done.stderr or done.stdout).strip()}")
    return done.returncode == 0


def version_of(package):
    """The installed version of a package, or None."""
    code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
    asked = subprocess.run([VENV / "bin" / "python", "-c", code, package], capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else None


def install(wanted):
    """Installs one package if it is not there; gives its version, or None after saying why not."""
    package, _, pinned = wanted.partition("==")
    version = version_of(package)
    if version is None or (pinned and version != pinned):
        say(f"bench: installing {wanted} in {VENV}")
        done = subprocess.run([VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", wanted],
                              capture_output=True, text=True)
        if done.returncode:
            reason = ((done.stderr or done.stdout).strip().splitlines() or ["pip failed"])[-1]
            say(f"bench: {wanted} cannot be installed, the figures go without it: {reason}")
            return None
        version = version_of(package)
    return version


def tool(name, arguments, frame):
    return Tool(name, lambda pid: [str(VENV / "bin" / name), *arguments, str(pid)], frame)


def find():
    """(tools that are here, what is missing, versions by name)"""
    tools, missing, versions = [], [], {}
    usable = make_venv()
    for name, package, arguments, frame in RIVALS:
        version = install(package) if usable else None
        if version is None:
            missing.append(name)
            continue
        versions[name] = version
        tools.append(tool(name, arguments, frame))
    return tools, missing, versions
