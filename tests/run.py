#!/usr/bin/env python3
"""Runs the tests: tests/run.py [--list] [--full] [-j N] [SUBSTRING...]

Groups: unit (cmocka programs), unit-asan (the same, built with the address and undefined-behaviour sanitizers), fuzz
(the fuzz programs over their corpora) and integration (tests/integration/test_*.py, see harness.py). Each test is a
child process with a time limit in a process group of its own; whatever it leaves behind is killed. The last line is
"N passed, N failed, N skipped", and the exit code is 0 only if nothing failed.
DARTER_BUILD, DARTER_BUILD_ASAN, DARTER_BUILD_FUZZ name other build directories than build, build-asan, build-fuzz.
"""

import argparse
import concurrent.futures
import faulthandler
import importlib.util
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
MARK = "DARTER_TEST_ID"  # in the environment of everything that a test starts
DEFAULT_LIMIT = 120
TAP = re.compile(r"^(not )?ok \d+ - (\S+?)(?:\s+# SKIP\s*(.*))?$")

sys.path.insert(0, str(TESTS))


@dataclass
class Result:
    name: str
    verdict: str  # ok, FAIL, skip
    seconds: float
    note: str = ""
    output: str = ""


@dataclass
class Job:
    """One child process; a unit test program holds several tests, listed in cases."""

    name: str
    argv: list
    limit: float = DEFAULT_LIMIT
    alone: bool | str = False  # or beside those of this name
    again: str = ""
    tap: bool = False
    cases: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    verdict: tuple = ()  # known without running: (verdict, note)

    def names(self):
        return [f"{self.name}::{case}" for case in self.cases] if self.tap else [self.name]


# ---- what there is to run ----


def build_dir(variable, default):
    return (ROOT / os.environ.get(variable, default)).resolve()


def unit_jobs(group, build):
    jobs = []
    for source in sorted((TESTS / "unit").glob("test_*.c")):
        cases = re.findall(r"\bcmocka_unit_test\w*\(\s*(\w+)", source.read_text())
        program = build / "tests" / "unit" / source.stem
        job = Job(f"{group}/{source.stem}", [str(program)], limit=300, tap=True, cases=cases,
                  env={"CMOCKA_MESSAGE_OUTPUT": "TAP", "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
                       "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"})
        if not build.is_dir():
            job.verdict = ("skip", f"{build.name} is not built (make test builds it)")
        elif not program.exists():
            job.verdict = ("FAIL", f"{program.name} is not in {build.name}: is it in tests/unit/meson.build?")
        jobs.append(job)
    return jobs


def fuzz_jobs(build):
    jobs = []
    for source in sorted((TESTS / "fuzz").glob("fuzz_*.c")):
        name = source.stem[len("fuzz_"):]
        corpus = TESTS / "fuzz" / "corpus" / name
        program = build / "tests" / "fuzz" / source.stem
        job = Job(f"fuzz/{name}", [str(program), "-runs=0", "-timeout=30", str(corpus)], limit=300)
        if not build.is_dir():
            job.verdict = ("skip", f"{build.name} is not built (make test builds it where clang can)")
        elif not program.exists():
            job.verdict = ("FAIL", f"{program.name} is not in {build.name}: is it in tests/fuzz/meson.build?")
        elif not corpus.is_dir() or not any(corpus.iterdir()):
            job.verdict = ("FAIL", f"{corpus.relative_to(ROOT)} is empty")
        jobs.append(job)
    return jobs


def load_module(stem):
    path = TESTS / "integration" / f"{stem}.py"
    spec = importlib.util.spec_from_file_location(stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    return module


def variants(test):
    """(parameter text, arguments) for each run of a test function."""
    for values in itertools.product(*getattr(test, "each", [])):
        text = ",".join(str(getattr(value, "label", value)) for value in values)
        yield (f"[{text}]" if values else "", values)


def integration_jobs(filters):
    # Loading them looks for Pythons, and makes the sid root: not for a run that names other groups alone.
    if filters and all(text.startswith(("unit/", "unit-asan/", "fuzz/")) for text in filters):
        return []
    jobs = []
    for path in sorted((TESTS / "integration").glob("test_*.py")):
        try:
            module = load_module(path.stem)
        except Exception:
            jobs.append(Job(f"integration/{path.stem}", [], verdict=("FAIL", traceback.format_exc())))
            continue
        for name, test in vars(module).items():
            if not name.startswith("test_") or not callable(test) or test.__module__ != path.stem:
                continue
            for text, _ in variants(test):
                argv = [sys.executable, str(Path(__file__)), "--child", path.stem, name + text]
                jobs.append(Job(f"integration/{path.stem}::{name}{text}", argv, getattr(test, "limit", DEFAULT_LIMIT),
                                getattr(test, "alone", False), getattr(test, "again", "")))
    return jobs


# ---- inside the child ----


def child(stem, wanted, verdict_path):
    """Runs one integration test; the exit code and the file tell the parent how it went."""
    faulthandler.enable()
    import harness

    module = load_module(stem)
    name = wanted.split("[", 1)[0]
    test = getattr(module, name)
    for text, values in variants(test):
        if name + text == wanted:
            try:
                test(*values)
            except harness.Skip as reason:
                Path(verdict_path).write_text(json.dumps(["skip", str(reason)]))
                return 0
            Path(verdict_path).write_text(json.dumps(["ok", ""]))
            return 0
    raise SystemExit(f"{stem} has no {wanted}")


# ---- running ----


def kill_leftovers(mark):
    """Ends every process that carries the test's mark, whatever session or group it moved to."""
    needle = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def end_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


class Runner:
    def __init__(self, filters):
        self.filters = filters
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.failed = []
        self.printing = threading.Lock()
        self.numbers = itertools.count()
        self.running = set()
        self.stopped = False

    def wants(self, name):
        return not self.filters or any(text in name for text in self.filters)

    def report(self, result):
        note = f"  ({result.note})" if result.note and result.verdict == "ok" else ""
        if result.verdict == "skip":
            note = f"  {result.note}"
        with self.printing:
            self.counts[result.verdict] += 1
            if result.verdict == "FAIL":
                self.failed.append(result.name)
            print(f"{result.verdict:<4}  {result.name}  ({result.seconds:.1f} s){note}")
            if result.verdict == "FAIL":
                for line in (result.note + "\n" + result.output).strip("\n").splitlines():
                    print(f"      | {line}")
            sys.stdout.flush()

    def execute(self, job):
        """Runs the child once: (exit code or None when late, output, verdict as the child wrote it)."""
        mark = f"{os.getpid()}.{next(self.numbers)}"
        with tempfile.TemporaryDirectory(prefix="darter-test-") as scratch:
            verdict_path, log_path = Path(scratch, "verdict"), Path(scratch, "log")
            argv = job.argv if job.tap or "--child" not in job.argv else [*job.argv, str(verdict_path)]
            with open(log_path, "wb") as log:
                process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                                           start_new_session=True, env={**os.environ, **job.env, MARK: mark})
                self.running.add(process.pid)
                try:
                    code = process.wait(job.limit)
                except subprocess.TimeoutExpired:
                    code = None
                    os.kill(process.pid, signal.SIGABRT)  # faulthandler shows where it hangs
                    try:
                        process.wait(5)
                    except subprocess.TimeoutExpired:
                        pass
                finally:
                    end_group(process.pid, signal.SIGKILL)
                    process.wait()
                    self.running.discard(process.pid)
                    kill_leftovers(mark)
            verdict = json.loads(verdict_path.read_text()) if verdict_path.exists() else None
            return code, log_path.read_text(errors="backslashreplace"), verdict

    def attempt(self, job):
        start = time.monotonic()
        code, output, verdict = self.execute(job)
        seconds = time.monotonic() - start
        if code is None:
            late = f"not done within {job.limit} s"
            return [Result(job.name, "FAIL", seconds, late, output)]
        if job.tap:
            return self.tap_results(job, code, output, seconds)
        if "--child" in job.argv and code == 0 and verdict is None:
            return [Result(job.name, "FAIL", seconds, "ended without a verdict", output)]
        if code != 0:
            return [Result(job.name, "FAIL", seconds, f"exit code {code}", output)]
        verdict = verdict or ["ok", ""]
        return [Result(job.name, verdict[0], seconds, verdict[1], output)]

    def tap_results(self, job, code, output, seconds):
        """One result per case of a cmocka program; cases that were never reported fail with the whole output."""
        results, seen = [], set()
        for line in output.splitlines():
            match = TAP.match(line)
            if match:
                bad, case, skipped = match.groups()
                seen.add(case)
                verdict = "FAIL" if bad else "skip" if skipped is not None else "ok"
                note = (skipped or "the test says no reason") if verdict == "skip" else ""
                results.append(Result(f"{job.name}::{case}", verdict, seconds, note, output))
        for case in job.cases:
            if case not in seen:
                results.append(Result(f"{job.name}::{case}", "FAIL", seconds, f"not reported, exit code {code}", output))
        if code != 0 and not any(result.verdict == "FAIL" for result in results):
            results.append(Result(job.name, "FAIL", seconds, f"exit code {code}", output))
        return [result for result in results if self.wants(result.name) or result.verdict == "FAIL"]

    def run(self, job):
        if self.stopped:
            return
        if job.verdict:
            for name in job.names():
                self.report(Result(name, job.verdict[0], 0, job.verdict[1]))
            return
        results = self.attempt(job)
        if job.again and results[0].verdict == "FAIL":
            first = results[0]
            results = self.attempt(job)
            results[0].note = f"second try: {job.again}" + (f"; {results[0].note}" if results[0].note else "")
            results[0].output = f"first try: {first.note}\n{first.output}\nsecond try:\n{results[0].output}"
        for result in [] if self.stopped else results:
            self.report(result)

    def run_beside(self, jobs, width):
        with concurrent.futures.ThreadPoolExecutor(width) as pool:
            try:
                # What may take longest comes first, so that nothing long is left for the end, when others are done.
                for done in [pool.submit(self.run, job) for job in sorted(jobs, key=lambda job: -job.limit)]:
                    done.result()
            except BaseException:
                self.stop()  # or leaving the pool would run all that is left
                raise

    def run_all(self, jobs, width):
        """Those that may run beside any other, then each group that may run beside its own, then one after the other."""
        groups = {False: []}
        for job in jobs:
            groups.setdefault(job.alone, []).append(job)
        last = groups.pop(True, [])
        for group in groups.values():
            self.run_beside(group, width)
        self.run_beside(last, 1)

    def stop(self):
        self.stopped = True
        for pid in list(self.running):
            end_group(pid, signal.SIGKILL)

    def summary(self):
        if self.failed:
            print("\nfailed:", *self.failed, sep="\n  ")
        print(f"{self.counts['ok']} passed, {self.counts['FAIL']} failed, {self.counts['skip']} skipped", flush=True)
        return 1 if self.counts["FAIL"] else 0


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:5])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the names of the tests and run nothing")
    parser.add_argument("--full", action="store_true", help="run every proof at its full size and record the figures")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="tests at a time (default 2)")
    parser.add_argument("filters", nargs="*", metavar="SUBSTRING", help="only tests whose name contains one of these")
    options = parser.parse_args()
    if options.full:
        os.environ["DARTER_FULL"] = "1"
    if options.list:
        os.environ.setdefault("DARTER_SID", "look")
    runner = Runner(options.filters)
    jobs = [*unit_jobs("unit", build_dir("DARTER_BUILD", "build")),
            *unit_jobs("unit-asan", build_dir("DARTER_BUILD_ASAN", "build-asan")),
            *fuzz_jobs(build_dir("DARTER_BUILD_FUZZ", "build-fuzz")), *integration_jobs(options.filters)]
    jobs = [job for job in jobs if runner.wants(job.name) or any(runner.wants(name) for name in job.names())]
    if options.list:
        for job in jobs:
            print(*[name for name in job.names() if runner.wants(name)], sep="\n")
        sys.stdout.flush()
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A shell that starts us in the background has us ignore these two, and with us all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup: still for us, but what tests start has the default
        signal.signal(signal.SIGHUP, lambda *what: None)
    try:
        runner.run_all(jobs, max(1, options.j))
    except KeyboardInterrupt:
        print("\ninterrupted")
        runner.summary()
        return 130
    return runner.summary()


if __name__ == "__main__":
    try:
        code = main()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    sys.exit(code)
