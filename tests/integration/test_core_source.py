"""Source lines: shown only where the file still fits the code that runs or ran, and is the user's to read."""

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

import cores
import truths
from harness import SYSTEM, TARGETS, USABLE, each, need_root, target, wait_at_rest, wait_for

LINE = "time.sleep(3600)"
# Runs the file under the name that Pythons before 3.9 give to `python script.py`.
RELATIVE = "exec(compile(open('{folder}/sleeper.py').read(), 'sleeper.py', 'exec'))\n"


def source_of(core, **how):
    [thread] = truths.seen_core(core, **how)["threads"]
    assert [frame["name"] for frame in thread["frames"]][:2] == ["nap", "main"], thread
    return thread["frames"][0]["source"]


def die(program, died):
    wait_at_rest(program.pid)
    os.kill(program.pid, signal.SIGABRT)
    return died()


def edit(script):
    """One line more at its beginning: a look at the old number would show another line."""
    script.write_text("import os\n" + script.read_text().replace("while True:", "while os:"))


def newest(core):
    """As a copy has it."""
    now = max(file.stat().st_ctime_ns for file in core.parent.iterdir()) + 10**9
    os.utime(core, ns=(now, now))


def test_the_file_that_ran_is_shown():
    with tempfile.TemporaryDirectory(prefix="darter-source-") as folder:
        script = Path(shutil.copy(TARGETS / "sleeper.py", folder))
        with cores.mortal(SYSTEM, script) as (program, died):
            core = die(program, died)
            newest(core)
            assert source_of(core) == LINE


@each(["before it died", "before the core was copied"])
def test_a_file_that_was_edited(when):
    with tempfile.TemporaryDirectory(prefix="darter-source-") as folder:
        script = Path(shutil.copy(TARGETS / "sleeper.py", folder))
        with cores.mortal(SYSTEM, script) as (program, died):
            if when == "before it died":
                wait_at_rest(program.pid)
                edit(script)
            core = die(program, died)
            if when != "before it died":
                edit(script)
            newest(core)
            assert source_of(core) is None
            assert source_of(core, wrap=["env", "-C", folder]) is None


def test_a_relative_name_is_looked_for_where_darter_runs():
    with tempfile.TemporaryDirectory(prefix="darter-source-") as folder:
        script = Path(shutil.copy(TARGETS / "sleeper.py", folder))
        outer = Path(folder) / "outer.py"
        outer.write_text(RELATIVE.format(folder=folder))
        with cores.mortal(SYSTEM, outer) as (program, died):
            core = die(program, died)
            newest(core)
            here = {"wrap": ["env", "-C", folder]}
            assert source_of(core, wrap=["env", "-C", "/"]) is None
            assert source_of(core, **here) == LINE
            edit(script)
            newest(core)
            assert source_of(core, **here) is None


FORKED = """import os
def child():
    os.read(ours, 1)
    os._exit(0)

ours, theirs = os.pipe()
text = open(__file__).read()
with open(__file__, "w") as file:
    file.write("import sys\\n" * 2 + text)
pid = os.fork()
if not pid:
    os.close(theirs)
    child()
print(pid)
print("ready", flush=True)
os.wait()
"""


def test_a_file_that_was_changed_before_a_fork():
    """The child is younger than the file; its code is not."""
    with tempfile.TemporaryDirectory(prefix="darter-source-") as folder:
        script = Path(folder) / "forked.py"
        script.write_text(FORKED)
        with target(SYSTEM, script) as program:
            child = int(program.lines[0])
            wait_at_rest(child)
            [thread] = truths.seen(child)["threads"]
    assert [frame["name"] for frame in thread["frames"]] == ["child", "<module>"], thread
    assert thread["frames"][0]["source"] is None, thread


@each(USABLE)
def test_files_that_fit_are_shown_whatever_the_python_is(python):
    """Names, first lines and lines are as each Python has them; the standard library's file is one that fits, too."""
    with target(python, "sleeper.py") as program:
        wait_at_rest(program.pid)
        [thread] = truths.seen(program)["threads"]
    assert [frame["name"] for frame in thread["frames"]] == ["nap", "main", "<module>"], thread
    assert thread["frames"][0]["source"] == LINE, thread
    with target(python, "crash.py", "sleep") as program:
        def threads():
            found = {thread["name"]: thread["frames"] for thread in truths.seen(program)["threads"]}
            frames = found.get("bystander")
            return frames if frames and frames[0]["name"].split(".")[-1] == "run" else None

        frames = wait_for(threads, "a thread that sleeps")
    assert frames[0]["file"].endswith("/threading.py") and "_target(" in frames[0]["source"], frames


# ---- files that are nobody's business ----

NAMED = """import os, sys, time
source = "import time\\ndef nap():\\n    time.sleep(3600)\\n"
secret = sys.argv[1]
names = {}
exec(compile(source, secret, "exec"), names)
os.setuid(65534)
print("ready", flush=True)
names["nap"]()
"""


@contextlib.contextmanager
def naming(name, mode, owner=0):
    """A program of another user that says its code is in a file; as root, who may read it."""
    need_root()
    with tempfile.TemporaryDirectory(prefix="darter-source-") as folder:
        os.chmod(folder, 0o755)
        script, secret = Path(folder, "naming.py"), Path(folder, name)
        script.write_text(NAMED)
        secret.write_text("import time\ndef nap():\n    time.sleep(3600)\n")
        os.chmod(secret, mode)
        os.chown(secret, owner, owner)
        with target(SYSTEM, script, secret) as program:
            wait_at_rest(program.pid)
            yield program, secret


def shown(snapshot, secret):
    [thread] = snapshot["threads"]
    assert thread["frames"][0]["file"] == str(secret), thread
    return thread["frames"][0]["source"]


@each([("shadow", 0o600, 0, None), ("shadow", 0o644, 0, LINE), ("shadow", 0o600, 65534, LINE), ("script.py", 0o600, 0, LINE)])
def test_a_file_that_its_user_may_not_read(case):
    name, mode, owner, line = case
    with naming(name, mode, owner) as (program, secret):
        assert shown(truths.seen(program), secret) == line


@each([("shadow", 0o600, None), ("shadow", 0o644, LINE)])
def test_a_file_that_a_core_names(case):
    name, mode, line = case
    with naming(name, mode, 65534) as (program, secret), tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        core, _ = cores.gcore(program.pid, folder)
        assert shown(truths.seen_core(core), secret) == line
