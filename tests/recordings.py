"""What tests of recordings share: darter record as a process of its own, and what a .darter file holds."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import DARTER, DEADLINE, darter, process_state, wait_for


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="darter-record-") as path:
        yield Path(path)


class Recorder:
    """darter record, while it runs. `errors` is all that it has said so far."""

    def __init__(self, words, cwd, env=None, wrap=(), program=DARTER, **how):
        self.log = open(Path(cwd) / "stderr.log", "w+b")
        self.process = subprocess.Popen([*wrap, program, "record", *map(str, words)], cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log,
                                        env={**os.environ, "NO_COLOR": "1", **(env or {})}, **how)

    @property
    def errors(self):
        return Path(self.log.name).read_text(errors="replace")

    def wait_said(self, text):
        try:
            wait_for(lambda: text in self.errors or self.process.poll() is not None, f"darter says {text!r}")
        except AssertionError as late:
            raise AssertionError(f"{late}; it said: {self.errors}") from None
        assert text in self.errors, self.errors

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGINT, check=0):
        """Sends a signal, waits for the end; returns stdout."""
        if number:
            self.process.send_signal(number)
        out = self.process.communicate(timeout=DEADLINE)[0].decode()
        assert self.process.returncode == check, f"{self.process.returncode}, not {check}: {self.errors}"
        return out

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def stacks(file, *options, check=0):
    """(frames outermost first, microseconds) of each stack, as the folded format has them."""
    out = darter("report", file, "-f", "folded", *options, check=check).stdout
    found = []
    for line in out.splitlines():
        path, _, weight = line.rpartition(" ")
        found.append((path.split(";"), int(weight)))
    return found


def processes(file):
    """Ids of the processes in a recording; also in one that is not ended yet."""
    folded = darter("report", "-q", file, "--idle", "--threads", "-f", "folded").stdout
    several = {int(pid) for pid in re.findall(r"^process (\d+) ", folded, re.M)}
    alone = re.match(r"Recorded process (\d+) ", darter("report", "-q", file).stdout)
    return several or ({int(alone[1])} if alone and folded else set())


def functions(file, *options):
    """The names of all functions in a recording."""
    return {frame.split(" (")[0] for path, _ in stacks(file, *options) for frame in path}


def wait_recorded(file, pid):
    """Waits until a recording that goes on has a process."""
    wait_for(lambda: file.exists() and pid in processes(file), f"process {pid} ({process_state(pid)}) is in {file.name}")
