"""What integration tests are written with.

A test is a function test_*() in tests/integration/test_*.py; tests/run.py runs each one in a process of its own.

    from harness import USABLE, darter, each, target

    @each(USABLE)
    def test_a_sleeper_is_seen(python):
        with target(python, "sleeper.py") as program:
            out = darter("dump", program.pid, check=0).stdout
            assert "nap" in out, out

Decorators: each(values) runs a test once per value, limit(seconds) gives it another time limit than 120 s, alone lets
nothing run beside it, alone_with(group) nothing but the tests of that group, again(reason) allows one second try, which
the report shows.
"""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from pythons import PYTHONS, SYSTEM, USABLE, Python  # noqa: F401  (offered to the tests from here)

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ROOT / "tests" / "targets"
BUILD = (ROOT / os.environ.get("DARTER_BUILD", "build")).resolve()
DARTER = BUILD / "darter"
FULL = os.environ.get("DARTER_FULL") == "1"


def one_of_each_shape():
    """Versions between which nothing has changed in how a stack is walked and held are one shape, and so are builds of the
    same version, except those without a GIL."""
    shapes = {}
    for python in sorted(USABLE, key=lambda python: (bool(python.missing), python is not SYSTEM, python.debug, python.traced)):
        first = [since for since in ((2, 7), (3, 6), (3, 8), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
                 if python.version[:2] >= since][-1]
        if not python.threaded or first >= (3, 14):  # since when each thread has code of its own
            shapes.setdefault("free-threaded" if python.threaded else first, python)
    return sorted(shapes.values(), key=lambda python: (python.version, python.label))


SHAPES = USABLE if FULL else one_of_each_shape()  # for what takes long
SOME_SHAPES = USABLE if FULL else SHAPES[::2]     # for what takes longer
DEADLINE = 60  # seconds that a condition may take before a test gives up on it; never a measure of speed


class Skip(Exception):
    """Raised by skip(): the test cannot be run here, and says why."""


def skip(reason):
    raise Skip(reason)


def each(values):
    values = list(values)

    def mark(test):
        test.each = [values] + getattr(test, "each", [])
        return test

    return mark


def limit(seconds):
    def mark(test):
        test.limit = seconds
        return test

    return mark


def alone(test):
    test.alone = True
    return test


def alone_with(group):
    """Figures of the full tier are measured with nothing beside them."""
    def mark(test):
        test.alone = FULL or group
        return test

    return mark


def again(reason):
    def mark(test):
        test.again = reason
        return test

    return mark


def size(small, full):
    """How many of something: small in `make test`, full in `make test-full`."""
    return full if FULL else small


def need_root():
    if os.geteuid() != 0:
        skip("needs root")


def need_program(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    return path or skip(f"{name} is not installed")


def wait_for(condition, what, deadline=DEADLINE):
    """Calls condition() until it gives something true, and returns that; fails after the deadline."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {deadline} s in vain: {what}"
        time.sleep(0.01)


def process_state(pid):
    """The kernel's letter for a process or thread (R, S, D, T, t, Z), or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2]


def wait_at_rest(pid):
    """Waits until every thread of a process sleeps and none has been on a CPU between two looks."""
    def look():
        found = {}
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found[task.name] = (task / "schedstat").read_text().split()[2], process_state(f"{pid}/task/{task.name}")
        return found

    def rests():
        first = look()
        return all(state == "S" for _, state in first.values()) and look() == first

    wait_for(rests, f"process {pid} to rest")


def children(pid):
    """Pids of the direct children of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found


def darter(*args, check=None, limit=60, wrap=(), env=None, build=None, input=None):
    """Runs darter; gives returncode, stdout and stderr (text). check=N demands exit code N. wrap is put in front."""
    argv = [str(word) for word in (*wrap, (Path(build) if build else BUILD) / "darter", *args)]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=limit, text=True, encoding="utf-8",
                              errors="surrogateescape", env={**os.environ, "NO_COLOR": "1", **(env or {})},
                              **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{' '.join(argv)}: not done within {limit} s\n{late.stdout}\n{late.stderr}") from None
    if check is not None and done.returncode != int(check):
        raise AssertionError(f"{' '.join(argv)}: exit code {done.returncode}, not {int(check)}\n"
                             f"stdout: {done.stdout}\nstderr: {done.stderr}")
    return done


def on_terminal(*args, env=None, columns=100, check=0):
    """Runs darter with a terminal as stdout and stderr and returns what it wrote there."""
    here, there = pty.openpty()
    surroundings = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    surroundings.update({"TERM": "xterm", **(env or {})})
    subprocess.run(["stty", "cols", str(columns), "-onlcr"], stdin=there, check=True)
    process = subprocess.Popen([DARTER, *map(str, args)], stdin=subprocess.DEVNULL, stdout=there, stderr=there,
                               env=surroundings)
    os.close(there)
    written = b""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if not select.select([here], [], [], 1)[0]:
            continue
        try:
            data = os.read(here, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        written += data
    assert process.wait(DEADLINE) == check
    os.close(here)
    return written.decode()


class Target:
    """A running Python program. pid: as the host sees it; script: its path as the program itself sees it."""

    def __init__(self, python, process, script, errors):
        self.python = python
        self.process = process
        self.pid = process.pid
        self.script = script
        self.root = python.root
        self.lines = []
        self._errors = errors
        self._change = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._change:
                self.lines.append(line.rstrip("\n"))
                self._change.notify_all()
        with self._change:
            self._ended = True
            self._change.notify_all()

    @property
    def stderr(self):
        return Path(self._errors.name).read_text(errors="replace")

    def wait_line(self, want, deadline=DEADLINE):
        """Waits for a line that equals want, or for which want(line) is true, and returns it."""
        matches = want if callable(want) else lambda line: line == want

        def found():
            return next((line for line in self.lines if matches(line)), None)

        with self._change:
            self._change.wait_for(lambda: found() is not None or self._ended, deadline)
            line = found()
        if line is None:
            how = "ended" if self._ended else f"has not written it within {deadline} s"
            raise AssertionError(f"{self.python.label} {self.script}: {how}, waiting for {want!r}\n"
                                 f"stdout: {self.lines}\nstderr: {self.stderr}")
        return line

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def wait(self, deadline=DEADLINE):
        """Waits for the end of the program and of its output; returns the exit code."""
        code = self.process.wait(deadline)
        self._reader.join(deadline)
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(5)  # a grandchild may hold the pipe open; the runner ends it
        if not self._reader.is_alive():
            self.process.stdout.close()
        with contextlib.suppress(OSError):
            self.process.stdin.close()


@contextlib.contextmanager
def visible(python, script):
    """The path under which python can open a script of tests/targets (or any other file): a copy in another root."""
    script = Path(script)
    host = script if script.is_absolute() else TARGETS / script
    assert host.exists(), f"{host} does not exist"
    if not python.root:
        yield str(host)
        return
    with tempfile.TemporaryDirectory(prefix="darter-", dir=f"{python.root}/tmp") as copy:
        os.chmod(copy, 0o755)
        shutil.copytree(TARGETS, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        if not (Path(copy) / host.name).exists() or host.parent != TARGETS:
            shutil.copy(host, copy)
        yield f"{copy[len(python.root):]}/{host.name}"


@contextlib.contextmanager
def target(python, script, *args, wrap=(), env=None, options=(), ready="ready", deadline=DEADLINE):
    """Starts a script of tests/targets (or an absolute path), waits for its line "ready", kills it at the end.

    wrap is put in front of the command line (it must exec, or .pid is the wrapper's: see children()), options go to
    Python. ready=None does not wait.
    """
    python.demand()
    surroundings = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8",
                    **(env or {})}
    with visible(python, script) as path, tempfile.NamedTemporaryFile(prefix="darter-stderr-") as errors:
        argv = [str(word) for word in (*wrap, *python.argv, *options, path, *args)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                   encoding="utf-8", errors="surrogateescape", env=surroundings)
        program = Target(python, process, path, errors)
        try:
            if ready is not None:
                program.wait_line(ready, deadline)
            yield program
        finally:
            program.kill()


@contextlib.contextmanager
def pageless(*args):
    """A program one page of which never comes: whoever reads it is blocked."""
    with target(SYSTEM, "pageless.py", *args, ready=None) as program:
        line = program.wait_line(lambda line: line == "ready" or line.startswith("refused: "))
        if line != "ready":
            skip(line[len("refused: "):])
        yield program


def copy_repository(folder):
    """All files of the repository, with the changes that are not committed yet, and nothing that was built."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def record_figure(name, text):
    """Prints a measured figure; in the full tier it also replaces the section `name` of bench/RESULTS.md."""
    print(f"{name}: {text}", file=sys.stderr)
    if FULL:
        import figures

        figures.record(ROOT / "bench" / "RESULTS.md", name, text)
