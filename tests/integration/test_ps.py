"""darter ps: every Python process of the host, with what it is doing; and those that may not be read, with the reason."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import (BUILD, PYTHONS, SYSTEM, USABLE, children, darter, each, limit, need_program, need_root, record_figure,
                     size, skip, target, wait_for)

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def listed(**how):
    """The processes by pid."""
    document = json.loads(darter("ps", "--json", check=0, **how).stdout)
    assert document["schema"] == "darter.ps/1", document
    pids = [process["pid"] for process in document["processes"]]
    assert len(pids) == len(set(pids)), pids
    return {process["pid"]: process for process in document["processes"]}


def seen_in(pid, function, state="sleeping"):
    """Waits until the process is listed as being in the function: it may be on its way there."""
    def look():
        process = listed().get(pid)
        doing = process and process["doing"]
        return process if doing and (doing["function"], doing["state"]) == (function, state) else None

    return wait_for(look, f"{pid} is seen {state} in {function}")



@each(USABLE)
def test_a_process_is_listed_with_version_and_place(python):
    with target(python, "sleeper.py") as program:
        process = seen_in(program.pid, "nap")
        assert process["python"] == python.text, process
        assert process["threads"] == 1 and process["error"] is None, process
        assert process["ppid"] == os.getpid(), process
        assert process["command"].endswith(program.script), process
        assert process["rss"] > 1 << 20, process
        doing = process["doing"]
        assert doing["file"] == program.script, doing
        lines = (Path(python.root + program.script) if python.root else Path(program.script)).read_text().split("\n")
        assert "sleep(3600)" in lines[doing["line"] - 1], doing


@each([python for python in PYTHONS if not python.usable])
def test_a_python_that_cannot_be_read_is_listed_with_the_reason(python):
    with target(python, "sleeper.py") as program:
        process = listed()[program.pid]
        assert process["error"] and process["error"]["message"] and process["doing"] is None, process


@each([SYSTEM, *(python for python in USABLE if python.version[:2] in ((3, 8), (3, 13)))])
def test_a_busy_process_shows_the_thread_that_works(python):
    with target(python, "hum.py") as program:
        process = seen_in(program.pid, "spin", "running")
        assert process["threads"] == 3, process
        assert wait_for(lambda: listed()[program.pid]["cpu"] > 0, "it used the CPU")


def test_the_table_has_a_line_for_each():
    with target(SYSTEM, "sleeper.py") as first, target(SYSTEM, "sleeper.py") as second:
        seen_in(first.pid, "nap")
        seen_in(second.pid, "nap")
        out = darter("ps", check=0).stdout
        for program in (first, second):
            lines = [line for line in out.split("\n") if line.split()[:1] == [str(program.pid)]]
            assert len(lines) == 1, out
            assert SYSTEM.text in lines[0] and "nap" in lines[0], lines[0]


def test_one_that_may_not_be_read_is_listed_with_the_reason():
    need_root()
    need_program("setpriv")
    with target(SYSTEM, "sleeper.py") as program, tempfile.TemporaryDirectory(prefix="darter-") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(BUILD / "darter", folder)
        process = listed(wrap=AS_NOBODY, build=folder)[program.pid]
        assert process["error"] == {"code": "permission", "message": "owned by root"}, process
        assert process["python"] is None and process["doing"] is None, process
        assert process["user"] == "root" and process["threads"] == 1, process
        done = darter("ps", check=0, wrap=AS_NOBODY, build=folder)
        line = next(line for line in done.stdout.split("\n") if line.split()[:1] == [str(program.pid)])
        assert "[owned by root]" in line, line
        assert re.fullmatch(r"(darter: \d+ process(es)? may not be read[.;] .+\n)+", done.stderr), done.stderr
        assert darter("ps", "-q", check=0, wrap=AS_NOBODY, build=folder).stderr == ""
        assert darter("ps", "--json", check=0, wrap=AS_NOBODY, build=folder).stderr == ""
        said = darter("ps", "-v", check=0, wrap=AS_NOBODY, build=folder).stderr
        assert f"darter: process {program.pid} belongs to root (uid 0) and you are " in said, said


def test_verbose_says_more():
    with target(SYSTEM, "sleeper.py", "word " * 40) as program:
        seen_in(program.pid, "nap")
        out = darter("ps", "-v", check=0, env={"COLUMNS": "60"}).stdout
        line = next(line for line in out.split("\n") if line.split()[:1] == [str(program.pid)])
        assert line.count("word") == 40 and f"nap ({program.script}:" in line, line
        pids = [line.split("\t", 1) for line in darter("ps", "--pids", "-v", check=0).stdout.splitlines()]
        assert dict(pids)[str(program.pid)].count("word") == 40, pids


def test_a_process_in_a_pid_namespace():
    need_root()
    wrap = [need_program("unshare"), "--pid", "--fork", "--kill-child"]
    if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("PID namespaces cannot be made here")
    with target(SYSTEM, "sleeper.py", wrap=wrap) as program:
        (pid,) = children(program.pid)
        process = seen_in(pid, "nap")
        assert process["python"] == SYSTEM.text and process["ppid"] == program.pid, process


def test_a_process_in_a_chroot():
    need_root()
    unshare = need_program("unshare")
    with tempfile.TemporaryDirectory(prefix="darter-root-") as root:
        enter = f'mount --rbind / {root} && exec chroot {root} "$@"'
        wrap = [unshare, "--mount", "sh", "-c", enter, "sh"]
        if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            skip("file systems cannot be mounted here")
        with target(SYSTEM, "sleeper.py", wrap=wrap) as program:
            process = seen_in(program.pid, "nap")
            assert process["python"] == SYSTEM.text, process
            assert process["doing"]["file"] == program.script, process


@limit(600)
def test_a_host_with_many_processes():
    count = size(60, 500)
    with target(SYSTEM, "family.py", count) as program:
        wanted = set(children(program.pid))
        assert len(wanted) == count, len(wanted)

        def all_resting():
            found = listed()
            assert wanted <= set(found), wanted - set(found)
            return all(found[pid]["doing"] and found[pid]["doing"]["function"] == "rest" for pid in wanted)

        wait_for(all_resting, "every child is seen in rest()")
        out = subprocess.run([BUILD / "tests/hammer/survey", str(size(5, 30))], check=True, capture_output=True, text=True,
                             timeout=300).stdout
        rows = [line.split() for line in out.splitlines()]
        times = sorted(float(row[0]) for row in rows)
        assert all(int(row[1]) > count for row in rows), rows
        record_figure(f"A survey of {count} Python processes",
                      f"{times[len(times) // 2]:.0f} ms (median of {len(times)}; {times[0]:.0f} to {times[-1]:.0f} ms)")


def test_a_bad_expression_is_a_usage_error():
    done = darter("dump", "--name", "a(b", check=2)
    assert "'a(b' is not a POSIX extended regular expression" in done.stderr, done.stderr
