"""Darter on the scales: what it printed, its memory and its time. Under the sanitizers, whether they found something."""

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import BUILD, ROOT

MEMORY = 200 << 10  # KiB that darter may use, whatever it is given to read
ASAN = (ROOT / os.environ.get("DARTER_BUILD_ASAN", "build-asan")).resolve()
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99"}

# Starts a program and says its exit code, its greatest use of memory and how long it took. The kernel counts what the parent
# used before the program began, too: this parent is small.
WEIGH = """
import os, sys, time
files = [(os.POSIX_SPAWN_OPEN, number, path, os.O_WRONLY | os.O_CREAT, 0o600) for number, path in enumerate(sys.argv[1:3], 1)]
begin = time.monotonic()
_, status, used = os.wait4(os.posix_spawn(sys.argv[3], sys.argv[3:], os.environ, file_actions=files), 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss, time.monotonic() - begin)
"""


def sanitizers():
    """Is there a darter that was built with them?"""
    return (ASAN / "darter").exists()


@dataclasses.dataclass
class Run:
    code: int  # negative: killed by that signal
    out: bytes
    err: str
    kilobytes: int
    seconds: float


def weighed(*args, limit=100, build=None):
    """Runs darter, which must not get big. build: of another directory, for the sanitizers, whose memory is not bounded."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        done = subprocess.run([sys.executable, "-S", "-c", WEIGH, out, err, (build or BUILD) / "darter", *map(str, args)],
                              timeout=limit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "NO_COLOR": "1", **(SANITIZERS if build else {})})
        code, kilobytes, seconds = done.stdout.split()
        run = Run(int(code), out.read_bytes(), err.read_text(errors="replace"), int(kilobytes), float(seconds))
    assert build or run.kilobytes < MEMORY, (args, run.kilobytes)
    return run
