"""The runner itself: what fails is seen to fail, what hangs is ended, what is left behind is killed."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROOT, limit, process_state, wait_for

SAMPLE = '''
import os, subprocess, sys, time
from harness import again, alone, alone_with, each, limit, skip, wait_for

def test_good():
    assert True

def test_bad():
    print("some output")
    assert 1 == 2, "they differ"

def test_not_here():
    skip("no such hardware")

@each(["a", "b"])
def test_each(letter):
    assert letter == "a"

@limit(10)
def test_hangs():
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    open("pids", "w").write(str(os.getpid()))
    time.sleep(1000)

def test_leaves_a_daemon():
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    open("daemon", "w").write(str(child.pid))

@alone
@again("the first time is unlucky")
def test_second_time():
    if not os.path.exists("tried"):
        open("tried", "w")
        raise AssertionError("unlucky")

def meet(mine, other):
    open(mine, "w").close()
    wait_for(lambda: os.path.exists(other), other)

@alone_with("a pair")
def test_one_of_two():
    meet("one", "two")

@alone_with("a pair")
def test_two_of_two():
    meet("two", "one")

def test_ends_without_a_word():
    os._exit(0)

def test_signals_are_as_usual():
    import signal
    assert signal.getsignal(signal.SIGQUIT) == signal.SIG_DFL and signal.getsignal(signal.SIGINT) != signal.SIG_IGN
'''


@limit(300)
def test_the_runner_reports_what_happened():
    with tempfile.TemporaryDirectory() as scratch:
        tests = Path(scratch) / "tests"
        (tests / "integration").mkdir(parents=True)
        for name in ("run.py", "harness.py", "pythons.py", "figures.py"):
            shutil.copy(ROOT / "tests" / name, tests)
        (tests / "integration" / "test_sample.py").write_text(SAMPLE)
        (tests / "integration" / "test_broken.py").write_text("import no_such_module\n")
        # As from a shell that starts it in the background.
        ignoring = ["env", "--ignore-signal=INT,QUIT"]
        done = subprocess.run([*ignoring, sys.executable, tests / "run.py"], capture_output=True, text=True, timeout=250,
                              env={key: value for key, value in os.environ.items() if key != "DARTER_FULL"})
        lines = done.stdout.splitlines()
        told = {line.split()[1].split("::")[-1]: line for line in lines if line[:4] in ("ok  ", "FAIL", "skip")}

        def verdict(name):
            return told[name].split()[0]

        assert lines[-1] == "7 passed, 5 failed, 1 skipped", done.stdout
        assert done.returncode == 1
        assert verdict("test_good") == verdict("test_each[a]") == verdict("test_leaves_a_daemon") == "ok"
        assert verdict("test_signals_are_as_usual") == "ok"
        assert verdict("test_one_of_two") == verdict("test_two_of_two") == "ok"
        assert verdict("test_bad") == verdict("test_each[b]") == verdict("test_hangs") == "FAIL"
        assert verdict("test_ends_without_a_word") == verdict("integration/test_broken") == "FAIL"
        assert "no such hardware" in told["test_not_here"] and verdict("test_not_here") == "skip"
        assert "(second try: the first time is unlucky)" in told["test_second_time"], told
        assert "      | some output" in lines and any("they differ" in line for line in lines), done.stdout
        assert any("not done within 10 s" in line for line in lines), done.stdout
        assert any("in test_hangs" in line for line in lines), done.stdout
        for left in ("pids", "daemon"):
            pid = int((Path(scratch) / left).read_text())
            wait_for(lambda: process_state(pid) in (None, "Z"), f"{left} {pid} is gone")


def test_filters_choose_by_substring():
    done = subprocess.run([sys.executable, ROOT / "tests" / "run.py", "--list", "test_runner"], capture_output=True,
                          text=True, timeout=100)
    own = [f"integration/test_runner::{name}" for name, test in globals().items()
           if name.startswith("test_") and callable(test)]
    assert done.stdout.splitlines() == own, done.stdout


def listed(*words, env):
    return subprocess.run([sys.executable, ROOT / "tests" / "run.py", "--list", *words], capture_output=True, text=True,
                          timeout=100, env=env)


def test_other_groups_alone_need_no_pythons():
    with tempfile.TemporaryDirectory() as scratch:
        # Looking for Pythons would call it.
        watcher = Path(scratch) / "pyenv"
        watcher.write_text(f"#!/bin/sh\ntouch {scratch}/asked\n")
        watcher.chmod(0o755)
        env = {key: value for key, value in os.environ.items() if key not in ("DARTER_TEST_PYTHONS", "PYENV_ROOT")}
        env["PATH"] = f"{scratch}:{env['PATH']}"
        names = listed("unit/", "fuzz/", env=env).stdout.split()
        assert names and all(name.startswith(("unit/", "fuzz/")) for name in names), names
        assert not (Path(scratch) / "asked").exists()
        assert any(name.startswith("integration/test_runner") for name in listed("test_runner", env=env).stdout.split())
        assert (Path(scratch) / "asked").exists()


def test_a_reader_that_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run([sys.executable, ROOT / "tests" / "run.py", "--list", "unit/"], stdout=closed,
                              stderr=subprocess.PIPE, text=True, timeout=100)
    assert done.stderr == "" and done.returncode == 141, done
