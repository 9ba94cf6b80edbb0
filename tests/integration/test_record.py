"""darter record: who is recorded, programs that are started, signals, what is said, and what is refused."""

import contextlib
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import termios
import time

import schema
from darter_file import Recording
from harness import (DARTER, DEADLINE, SOME_SHAPES, SYSTEM, TARGETS, children, darter, each, need_program, on_terminal,
                     process_state, target, wait_at_rest, wait_for)
from recordings import Recorder, folder, functions, processes, stacks, wait_recorded
from users import ordinary_user

PERMISSION = 3
NO_SUCH_PID = 2**31 - 1  # above every pid_max
WITH_GIL = [python for python in SOME_SHAPES if not python.threaded]
HUM = str(TARGETS / "hum.py")
# Computes until it is told to end, by its input.
UNTIL_TOLD = """
import sys, threading
def count():
    n = 0
    while not told: n = (n + 1) & 0xffff
told = []
worker = threading.Thread(target=count)
worker.start()
print('begun', flush=True)
line = sys.stdin.readline()
told.append(line)
worker.join()
print('told ' + line.strip(), flush=True)
print('an error', file=sys.stderr, flush=True)
sys.exit(7)
"""


@each(WITH_GIL)
def test_a_running_program_is_recorded(python):
    with target(python, "hum.py") as program, folder() as here:
        file = here / "hum.darter"
        done = darter("record", "-d", "1", "-r", "200", "-o", file, program.pid, check=0)
        waits = [(path, weight) for path, weight in stacks(file) if any("wait_here" in frame for frame in path)]
        seen = [(path, weight) for path, weight in stacks(file) if "[" not in path[-1] and (path, weight) not in waits]
        assert seen and all(re.fullmatch(r"spin \(hum.py:1[0-4]\)", path[-1]) for path, _ in seen), seen
        assert all([frame.split(" (")[0] for frame in path] == ["<module>", "main", "spin"] for path, _ in seen), seen
        assert processes(file) == {program.pid}
        # Idle threads are recorded, and shown when they are asked for.
        assert "wait_here" in functions(file, "--idle")
        # A thread may be on its way there when the first looks are taken.
        assert sum(weight for _, weight in waits) < 100000, waits
        assert re.search(rf"^Recorded process {program.pid} \(", done.stderr, re.M), done.stderr
        assert "Quality: " in done.stderr and f"darter: written to {file}\n" in done.stderr, done.stderr
        assert done.stdout == ""
        assert sorted(path.name for path in here.iterdir()) == ["hum.darter"]


def test_the_summary_alone():
    """It is the result then: it goes to stdout, and no file is kept."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        env = {"TMPDIR": str(here)}
        done = darter("record", "-d", "0.5", "-f", "text", program.pid, check=0, env=env)
        assert done.stdout.startswith(f"Recorded process {program.pid} ("), done.stdout
        assert re.search(r"% .* spin \(hum.py:\d+\)$", done.stdout, re.M), done.stdout
        assert done.stderr.startswith("darter: recording process") and "Quality" not in done.stderr, done.stderr
        quiet = darter("record", "-q", "-d", "0.1", "-f", "text", program.pid, check=0, env=env)
        assert quiet.stderr == "" and "Quality: " in quiet.stdout
        assert list(here.iterdir()) == []


def test_the_rate_is_a_number_for_people():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        done = darter("record", "-r", "1e6", "-d", "0m0.2s", "-o", here / "a.folded", program.pid, check=0)
        assert f"recording process {program.pid} for 0.2 s, 1,000,000 times a second; Ctrl-C ends it earlier" in done.stderr
        assert " of 1,000,000 rounds a second" in done.stderr and "e+" not in done.stderr, done.stderr
        done = darter("record", "-r", "1", "-d", "0.2", "-o", here / "a.folded", program.pid)
        assert done.returncode in (0, 4), done  # mostly not one sample
        assert f"recording process {program.pid} for 0.2 s, once a second; Ctrl-C" in done.stderr


def test_a_name_is_made():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-d", "0.3", program.pid], here) as recorder:
            recorder.end(None)
            (file,) = here.glob("*.svg")
            assert re.fullmatch(rf"hum-{program.pid}-\d{{8}}-\d{{6}}.svg", file.name), file
            assert f"darter: written to {file.name}\n" in recorder.errors
        assert "<svg" in file.read_text() and "spin" in file.read_text()
        assert {path.name for path in here.iterdir()} == {file.name, "stderr.log"}


def test_a_made_name_is_all_that_is_said_quietly():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        words = [DARTER, "record", "-q", "-d", "0.2", str(program.pid)]
        done = subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=DEADLINE, check=True)
        (file,) = here.iterdir()
        assert (done.stdout, done.stderr) == ("", file.name + "\n"), done
        assert darter("record", "-q", "-d", "0.2", "-o", here / "a.svg", program.pid, check=0).stderr == ""


@each(["svg", "darter"])
def test_the_name_of_a_shell_that_becomes_python(kind):
    words = ["sh", "-c", 'read line; exec "$@"', "-", *SYSTEM.argv, HUM]
    with folder() as here, subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as program:
        try:
            with Recorder(["-v", "--children", "-f", kind, program.pid], here) as recorder:
                recorder.wait_said("its children will be recorded")
                program.stdin.write(b"\n")
                program.stdin.flush()
                recorder.wait_said(f"process {program.pid} joined")
                recorder.end()
        finally:
            program.kill()
        (file,) = (path for path in here.iterdir() if path.name != "stderr.log")
        assert re.fullmatch(rf"hum-{program.pid}-\d{{8}}-\d{{6}}\.{kind}", file.name), file


def test_stdout():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        env = {"TMPDIR": str(here)}
        done = darter("record", "-d", "0.3", "-f", "folded", "-o", "-", program.pid, check=0, env=env)
        assert re.fullmatch(r"(.+ \d+\n)+", done.stdout) and "spin" in done.stdout, done.stdout
        assert "Quality: " in done.stderr
        piped = subprocess.run([DARTER, "record", "-q", "-d", "0.3", "-f", "darter", "-o", "-", str(program.pid)],
                               stdout=subprocess.PIPE, env={**os.environ, **env}, timeout=DEADLINE, check=True)
        (here / "piped").write_bytes(piped.stdout)
        assert "spin" in functions(here / "piped")
        assert darter("report", here / "piped", check=0).stderr == ""
        assert [path.name for path in here.iterdir()] == ["piped"]


def test_a_reader_that_goes_away():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        process = subprocess.Popen([DARTER, "record", "-q", "-d", "0.3", "-f", "text", str(program.pid)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(here)})
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(DEADLINE) == 0
        process.stderr.close()
        assert list(here.iterdir()) == []


def test_json():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        done = darter("record", "--json", "-q", "-d", "0.5", "-r", "50", "-o", here / "a.svg", program.pid, NO_SUCH_PID, check=4)
        document = json.loads(done.stdout)
        schema.check(document, schema.load("record"))
        assert document["files"] == [str(here / "a.svg")] and document["format"] == "svg"
        assert document["reason"] == "duration" and document["processes"] == 1 and document["rate"] == 50
        assert document["duration_ns"] >= 5 * 10**8 and document["samples"] >= document["rounds"] > 0
        assert [(error["pid"], error["code"]) for error in document["errors"]] == [(NO_SUCH_PID, "not found")]


# ---- who is recorded ----


def test_one_wrong_process_does_not_stop_the_others():
    with target(SYSTEM, "hum.py") as one, target(SYSTEM, "sleeper.py") as two, folder() as here:
        done = darter("record", "-d", "0.5", "-o", here / "a.darter", one.pid, NO_SUCH_PID, "-p", two.pid, check=4)
        assert f"there is no process {NO_SUCH_PID}" in done.stderr
        assert processes(here / "a.darter") == {one.pid, two.pid}
        assert {"spin", "nap"} <= functions(here / "a.darter", "--idle")


def test_those_of_all_that_may_not_be_read_are_one_line():
    with ordinary_user() as user, folder() as here, contextlib.ExitStack() as stack:
        os.chmod(here, 0o777)
        program = user.copied(DARTER)
        foreign = [stack.enter_context(target(SYSTEM, "sleeper.py")) for _ in range(2)]
        own = stack.enter_context(target(user.python(SYSTEM), user.script("sleeper.py")))
        pids = [str(program.pid) for program in foreign]
        name = ["--name", "sleeper.py"]

        def said(*words):
            return darter("record", "-d", "0.1", "-f", "text", *words, wrap=user.wrap, build=user.folder).stderr

        assert re.search(r"^darter: \d+ processes may not be read, and are not recorded; '-v' names each$", said(*name), re.M)
        assert "belongs to" not in said(*name) and "belongs to" not in said("--all")
        for told in (said("-v", *name), said(*pids, str(own.pid))):
            assert all(f"process {pid} belongs to root" in told for pid in pids), told
            assert "may not be read" not in told, told
        # Those that come meanwhile have no line.
        with Recorder(["-o", "a.darter", "--all"], here, wrap=user.wrap, program=program) as recorder:
            wait_recorded(here / "a.darter", own.pid)
            with target(SYSTEM, "sleeper.py") as late, target(user.python(SYSTEM), user.script("sleeper.py")) as last:
                wait_recorded(here / "a.darter", last.pid)
                assert "belongs to" not in recorder.errors and str(late.pid) not in recorder.errors, recorder.errors
            recorder.end(check=PERMISSION)


def test_that_none_of_all_may_be_read_is_told_with_what_helps():
    with ordinary_user() as user, folder() as here, contextlib.ExitStack() as stack:
        os.chmod(here, 0o777)
        program = user.copied(DARTER)
        scripts = [here / f"{number}-of-root.py" for number in range(2)]
        for script in scripts:
            script.symlink_to(TARGETS / "sleeper.py")
            stack.enter_context(target(SYSTEM, script))
        words = [program, "record", "-d", "1", "-f", "text", "--name", "of-root.py"]
        for more in ([], ["-q"]):
            done = subprocess.run([*user.wrap, *words, *more], capture_output=True, text=True, timeout=DEADLINE)
            assert done.returncode == PERMISSION and done.stdout == "", done
            assert done.stderr.startswith("darter: nothing was recorded: 2 processes may not be read; '-v' names each\n  Run it as root:"), done
            assert done.stderr.count("\n") == 3 and "--name of-root.py" in done.stderr.splitlines()[-1], done.stderr


def test_nothing_is_left_where_nothing_can_be_recorded():
    with folder() as here, subprocess.Popen(["sleep", "1000"]) as other:
        try:
            for words, code, part in (([NO_SUCH_PID], 4, "there is no process"), ([other.pid], 4, "no Python"),
                                      (["--name", "no such needle 81a"], 4, "no Python process has a command line")):
                done = darter("record", "-d", "1", "-o", here / "a.svg", *words, check=code)
                assert part in done.stderr and done.stdout == "", done.stderr
                assert list(here.iterdir()) == []
        finally:
            other.kill()


@each(WITH_GIL)
def test_children_join(python):
    """Forked, spawned, shells that become Python, and what a shell leaves behind at once; what is no Python does no harm."""
    with target(python, "nursery.py") as program, folder() as here:
        born = []

        def have(how):
            program.send(how)
            line = program.wait_line(lambda line: line.startswith("child ") and int(line.split()[1]) not in born)
            born.append(int(line.split()[1]))
            return born[-1]

        file = here / "a.darter"
        try:
            first = have("fork")
            stranger = have("stranger")
            with Recorder(["-s", "-v", "-o", file, program.pid], here) as recorder:
                wait_recorded(file, first)
                known = set()
                for how in ("fork", "stranger", "spawn", "shell", "orphan", "fork"):
                    pid = have(how)
                    if how != "stranger":
                        known.add(pid)
                        recorder.wait_said(f"process {pid} joined")
                        wait_recorded(file, pid)
                recorder.end()
                said = re.findall(r"^darter: (\w+)", recorder.errors, re.M)
                assert (said[0], said[-1], {*said[1:-1]}) == ("recording", "written", {"process"}), recorder.errors
                # A Python that has forked to start a program is one more for a moment, and may be met.
                joined = [int(pid) for pid in re.findall(r"^darter: process (\d+) joined", recorder.errors, re.M)]
                assert len([pid for pid in joined if pid in known]) == len(known) == 5, recorder.errors
                ended = [int(pid) for pid in re.findall(r"^darter: process (\d+) .*ended", recorder.errors, re.M)]
                assert not {*ended} & known, recorder.errors
            assert stranger not in processes(file)
            assert {"rest_here", "spin", "main"} <= functions(file, "--idle")
        finally:
            for pid in born:
                os.kill(pid, signal.SIGKILL)


def test_children_of_a_shell():
    """It is no Python itself, and its children come one after the other."""
    line = f"'{SYSTEM.path}' -c pass; '{SYSTEM.path}' '{HUM}' & read line; kill $!; wait; exit 0"
    with folder() as here, subprocess.Popen(["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as shell:
        with Recorder(["--children", "-o", "a.darter", shell.pid], here) as recorder:
            wait_for(lambda: (here / "a.darter").exists() and "spin" in darter("report", "-q", here / "a.darter").stdout, "the child")
            shell.stdin.write(b"end\n")
            shell.stdin.close()
            recorder.end(None)
            assert "processes ended\n" in recorder.errors or "the process ended\n" in recorder.errors, recorder.errors
        assert shell.wait(DEADLINE) == 0


def test_a_wrapper_is_told_with_its_child():
    """What is named there is right for each command."""
    with subprocess.Popen(["sh", "-c", f"'{SYSTEM.path}' '{HUM}'; exit 0"], stdout=subprocess.PIPE, text=True) as shell, folder() as here:
        shell.stdout.readline()
        (child,) = children(shell.pid)
        try:
            for words in (["record", "-d", "1", "-o", here / "a.svg"], ["dump"]):
                said = darter(*words, shell.pid, check=4).stderr
                assert f"\n  its child {child} looks like Python: give that one instead, or '--children'" in said, said
                assert "darter dump" not in said, said
        finally:
            os.kill(child, signal.SIGKILL)


def test_new_matches_join():
    needle = f"needle-{os.getpid()}"
    with target(SYSTEM, "sleeper.py", needle) as one, folder() as here:
        file = here / "a.darter"
        with Recorder(["--name", f"(sleeper|hum)[.]py {needle}$", "-o", file], here) as recorder:
            wait_recorded(file, one.pid)
            with target(SYSTEM, "hum.py", needle) as two, target(SYSTEM, "hum.py", needle + "-not") as three:
                wait_recorded(file, two.pid)
                recorder.end()
                assert processes(file) == {one.pid, two.pid}, three.pid


def test_the_first_match_is_waited_for():
    """The time of the recording, its duration and the name that is made for it are that process's."""
    need_program("zstd")
    needle = f"needle-{os.getpid()}"
    words = ["--name", f"hum[.]py {needle}$", "-d", "1"]
    with folder() as here:
        said = darter("record", *words, "-o", here / "a.darter", check=4).stderr
        assert "no Python process has a command line that matches" in said and "\n  --wait waits until " in said, said
        with Recorder(["--wait", *words, "-f", "darter"], here) as recorder:
            recorder.wait_said("the first one is waited for (Ctrl-C ends it)\n")
            time.sleep(1.5)  # more than the duration
            assert recorder.process.poll() is None and [path.name for path in here.iterdir()] == ["stderr.log"]
            before = time.time_ns()
            with target(SYSTEM, "hum.py", needle) as program:
                recorder.end(None)
            (file,) = here.glob("*.darter")
            assert file.name.startswith(f"hum-{program.pid}-"), file
            assert "spin" in functions(file) and processes(file) == {program.pid}
            assert Recording(file.read_bytes()).meta[0] >= before


def test_waiting_is_ended():
    with folder() as here:
        with Recorder(["--wait", "--name", "no such needle 81b", "-o", "a.svg"], here) as recorder:
            recorder.wait_said("the first one is waited for")
            recorder.end(check=4)
            assert "nothing was recorded: no process matched before the waiting was ended\n" in recorder.errors, recorder.errors
        # An output that cannot be written is told before.
        said = darter("record", "--wait", "--name", "no such needle 81b", "-o", here / "missing" / "a.svg").stderr
        assert "there is no directory" in said, said
        assert [path.name for path in here.iterdir()] == ["stderr.log"]


def test_it_ends_with_the_process():
    with target(SYSTEM, "steps.py") as program, folder() as here:
        with Recorder(["-o", "a.darter", program.pid], here) as recorder:
            wait_recorded(here / "a.darter", program.pid)
            program.send("go on")
            program.send("and end")
            assert program.wait() == 0
            recorder.end(None)
            assert "darter: the process ended\n" in recorder.errors
        assert darter("report", here / "a.darter", check=0).stderr == ""


@each(["1", "100"])
def test_the_recording_lasts_as_long_as_its_last_process(rate):
    """However rarely it is looked at: the kernel tells its end. What is waited for then is no time of the recording."""
    with target(SYSTEM, "steps.py") as program, folder() as here:
        with Recorder(["-r", rate, "-o", "a.darter", program.pid], here) as recorder:
            wait_recorded(here / "a.darter", program.pid)
            program.send("go on")
            program.send("and end")
            assert program.wait() == 0
            recorder.end(None)
        recording = Recording((here / "a.darter").read_bytes())
        (_, _, began, ended, *_), duration = recording.processes[1], recording.meta[1]
        assert began < duration <= ended, (began, duration, ended)


def test_many_processes():
    with target(SYSTEM, "family.py", "60") as program, folder() as here:
        darter("record", "-s", "-r", "20", "-d", "2", "-o", here / "a.darter", program.pid, check=0)
        assert len(processes(here / "a.darter")) == 61


# ---- programs that are started ----


@each([python for python in WITH_GIL if not python.root])  # another root would need another copy of the script
def test_a_program_is_started(python):
    python.demand()
    with folder() as here:
        argv = [DARTER, "record", "-o", here / "a.darter", "--", *python.argv, HUM]
        process = subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONUNBUFFERED": "1"})
        try:
            assert process.stdout.readline() == "ready\n"
            wait_for(lambda: "spin" in darter("report", "-q", here / "a.darter").stdout, "it is recorded")
            process.terminate()  # which is for the program
            errors = process.communicate(timeout=DEADLINE)[1]
            assert process.returncode == 128 + signal.SIGTERM, errors
        finally:
            process.kill()
        assert re.match(r"Recorded (process \d+ |\d+ processes)", errors) and "written to" in errors, errors
        assert darter("report", here / "a.darter", check=0).stderr == ""


def test_input_output_and_exit_code_are_the_programs():
    with folder() as here:
        process = subprocess.Popen([DARTER, "record", "-q", "-o", here / "a.darter", "--", *SYSTEM.argv, "-c", UNTIL_TOLD],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "begun\n"
            wait_for(lambda: "count" in darter("report", "-q", here / "a.darter").stdout, "it is recorded")
            out, errors = process.communicate("the word\n", timeout=DEADLINE)
        finally:
            process.kill()
        assert (out, errors, process.returncode) == ("told the word\n", "an error\n", 7)
        assert "count" in functions(here / "a.darter")


def test_what_a_program_inherits():
    """Nothing of a recording: no open files, limits, blocked or ignored signals, priorities."""
    script = ("import os, resource, signal; print(sorted(os.listdir('/proc/self/fd'))[:-1] or 0, "
              "resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(15), signal.pthread_sigmask(signal.SIG_BLOCK, []), "
              "[line for line in open('/proc/self/status') if line.startswith('Sig')][2:], os.sched_getscheduler(0), "
              "len(os.sched_getaffinity(0)))")
    argv = [*SYSTEM.argv, "-S", "-c", script]
    how = {"capture_output": True, "text": True, "timeout": DEADLINE, "stdin": subprocess.DEVNULL}
    with folder() as here:
        for pipe in (signal.SIG_IGN, signal.SIG_DFL):
            def prepare(pipe=pipe):
                signal.signal(signal.SIGPIPE, pipe)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])

            alone = subprocess.run(argv, preexec_fn=prepare, restore_signals=False, check=True, **how).stdout
            recorded = subprocess.run([DARTER, "record", "-q", "-o", here / "a.svg", "--", *argv], preexec_fn=prepare,
                                      restore_signals=False, check=True, **how).stdout
            assert recorded == alone


@each([
    (["sh", "-c", "exit 3"], 3, "nothing was recorded: no Python was found in 'sh', or it ended before it could be looked at; --children "),
    (["sh", "-c", "kill -KILL $$"], 128 + 9, "nothing was recorded"),
    (["no-such-program-81a"], 4, "'no-such-program-81a' cannot be started: No such file or directory\n  there is no such program"),
    (["/etc/passwd"], 3, "'/etc/passwd' cannot be started: Permission denied\n  it is not executable\n"),
    (["/usr"], 3, "'/usr' cannot be started: Permission denied\n  it is a directory\n"),
    ([], 2, "which program? None stands behind --"),
])
def test_other_programs(case):
    words, code, part = case
    with folder() as here:
        done = darter("record", "-o", here / "a.svg", "--", *words, check=code)
        assert part in done.stderr, done.stderr
        assert list(here.iterdir()) == []


@each([
    ("plain.py", "python3 plain.py"),
    ("no line.py", "python3 'no line.py'"),    # executable: a shell would take it for its own
    ("starts.py", "./starts.py"),
    ("hash-bang", "python3 hash-bang"),
    ("./lost.py", "python3 ./lost.py"),
    ("package", "python3 package"),
    ("folder", None),
])
def test_a_script_that_does_not_start_by_its_name(case):
    """What would start it is told, behind two dashes and without them, and does."""
    name, start = case
    with folder() as here:
        for file, text, mode in (("plain.py", "", 0o644), ("no line.py", "", 0o755), ("starts.py", "#!/usr/bin/env python3\n", 0o755),
                                 ("hash-bang", "#!/usr/bin/env python3\n", 0o644), ("lost.py", "#!/no/such/python\n", 0o755),
                                 ("package/__main__.py", "", 0o644), ("folder/plain.py", "", 0o644)):
            (here / file).parent.mkdir(exist_ok=True)
            (here / file).write_text(text + "print(6 * 7)\n")
            (here / file).chmod(mode)
        wrap = ("env", "-C", here)
        for words in ([name], ["--", name]):
            told = darter("record", *words, wrap=wrap).stderr
            assert ("darter record -- " in told) == bool(start), told
            assert not start or f"\n      darter record -- {start}\n" in told, told
        if start:
            done = darter("record", "-q", "-o", here / "a.svg", "--", *shlex.split(start), check=0, wrap=wrap)
            assert done.stdout == "42\n", done


@each([0, 5])
def test_that_nothing_was_recorded_is_said_in_any_case(code):
    """An old output would be taken for the new one; the exit code is the program's."""
    with folder() as here:
        old = here / "a.folded"
        for there in (False, True):
            if there:
                old.write_text("old")
            done = darter("record", "-q", "-o", old, "--", "sh", "-c", f"exit {code}", check=code)
            assert done.stderr.startswith("darter: nothing was recorded: no Python was found in 'sh'"), done.stderr
            assert (f"\n  '{old}' is from before, and is left as it was\n" in done.stderr) == there, done.stderr
        assert old.read_text() == "old" and list(here.iterdir()) == [old]


def test_what_may_not_be_read_has_not_ended():
    """Why nothing was recorded is told by the refusal alone; of an old output it is said that it is one."""
    with ordinary_user() as user, target(SYSTEM, "hum.py") as program, folder() as here:
        here.chmod(0o777)
        words = [*user.wrap, user.copied(DARTER), "record", "-d", "1", "-o", here / "old.svg", str(program.pid)]
        for there in (False, True):
            if there:
                (here / "old.svg").write_text("old")
                (here / "old.svg").chmod(0o666)
            done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE)
            assert done.returncode == 3, done
            assert "nothing was recorded" not in done.stderr and "ended" not in done.stderr, done.stderr
            assert done.stderr.startswith("darter: ") and str(program.pid) in done.stderr, done.stderr
            assert done.stderr.endswith(f"\ndarter: '{here / 'old.svg'}' is from before, and is left as it was\n") == there, done.stderr
        assert (here / "old.svg").read_text() == "old"


def test_a_process_of_which_nothing_was_recorded():
    """A shell whose children would have been recorded ends without any: that is no success."""
    with folder() as here, subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE) as shell:
        (here / "a.svg").write_text("old")
        with Recorder(["-q", "--children", "-o", "a.svg", shell.pid], here) as recorder:
            wait_for(lambda: (here / "a.svg.part.darter").exists(), "it begins")
            shell.stdin.close()
            recorder.end(None, check=4)
            # On a busy machine it has ended before it was looked at.
            assert re.search("no Python|has ended|no process", recorder.errors) and "'a.svg' is from before" in recorder.errors, recorder.errors
        assert (here / "a.svg").read_text() == "old"


@each([[], ["-f", "text"], ["-o", "a.svg"], ["-o", "a.darter"]])
def test_without_a_sample_nothing_was_recorded(words):
    """Somebody was there, and the first look was not due yet: no result is made of that, and none is called good."""
    def record(here, code, *whom):
        (here / "a.svg").write_text("old")
        done = darter("record", "-q", "-r", "1", "-d", "0.002", *words, *whom, wrap=("sh", "-c", f'cd {here} && exec "$@"', "sh"))
        if "nothing was recorded" not in done.stderr:  # instants are random: one in hundreds is so early
            [path.unlink() for path in here.iterdir()]
            return False
        assert done.returncode == code and done.stdout == "", done
        assert ("'a.svg' is from before" in done.stderr) == ("a.svg" in words), done
        assert [path.name for path in here.iterdir()] == ["a.svg"] and (here / "a.svg").read_text() == "old"
        return done.stderr

    with folder() as here, target(SYSTEM, "hum.py") as program:
        said = next(filter(None, (record(here, 4, program.pid) for _ in range(20))))
        assert re.search(r"no sample was taken in the 0[.0-9]* s that it lasted\n  a higher --rate ", said), said
        assert any(record(here, 5, "--", *SYSTEM.argv, "-c", "exit(5)") for _ in range(20))


def test_a_program_that_goes_on_after_the_duration():
    with folder() as here:
        process = subprocess.Popen([DARTER, "record", "-d", "0.5", "-o", here / "a.darter", "--", *SYSTEM.argv, "-c", UNTIL_TOLD],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if "goes on; it is waited for" in line:
                    break
            assert darter("report", here / "a.darter", check=0).stderr == ""
            assert process.poll() is None
            out, _ = process.communicate("now\n", timeout=DEADLINE)
        finally:
            process.kill()
        assert "told now\n" in out and process.returncode == 7


@each([False, True])
def test_ctrl_c_is_for_the_program(leaves):
    """It reaches both, and the program decides: this one goes on, and ends with an exit code of its own. It is passed on to
    one that has left the group."""
    script = (f"import os, sys, time\n{leaves} and os.setsid()\n"
              "for i in range(3):\n    try:\n        print('waiting', flush=True)\n        time.sleep(3600)\n"
              "    except KeyboardInterrupt:\n        print('caught', flush=True)\nsys.exit(9)")
    with folder() as here:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(here)
            os.execv(DARTER, [str(DARTER), "record", "-o", "a.darter", "--", *map(str, SYSTEM.argv), "-c", script])
        seen, end = b"", time.monotonic() + DEADLINE
        sent = 0
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            seen += data
            if seen.count(b"waiting\r\n") > sent:
                if not sent:  # or it would have ended before it was looked at
                    wait_for(lambda: "<module>" in darter("report", here / "a.darter", "-f", "folded", "--idle").stdout,
                             "the program is recorded")
                sent += 1
                os.write(terminal, b"\x03")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9, seen
        os.close(terminal)
        assert seen.count(b"caught\r\n") == 3 and b"\rrecording " not in seen, seen
        assert darter("report", here / "a.darter", check=0).stderr == ""


# Computes until its script is removed.
WHILE_THERE = """
import os, sys
def count():
    n = 0
    while n % 1000 or os.path.exists(sys.argv[0]): n += 1
count()
"""


def leaving(here, line):
    """A shell that starts a Python program in the background, and then does what a line says."""
    script = here / "script.py"
    script.write_text(WHILE_THERE)
    return ["sh", "-c", f"'{SYSTEM.path}' '{script}' > '{here}/out' & {line}"]


def recorded_child(here, recorder):
    """The child, once it is recorded."""
    wait_for(lambda: "count" in darter("report", "-q", here / "a.darter").stdout, "the child is recorded")
    return int(re.search(r"process (\d+) joined", recorder.errors)[1])


def test_children_outlive_the_program():
    """They are recorded to their end; the exit code is the program's."""
    with folder() as here:
        with Recorder(["-v", "--children", "-o", "a.darter", "--", *leaving(here, "exit 3")], here) as recorder:
            recorder.wait_said("darter: the program has ended; its children are recorded until they end (Ctrl-C ends it)\n")
            child = recorded_child(here, recorder)
            (here / "script.py").unlink()
            recorder.end(None, check=3)
            assert recorder.errors.count("the program has ended") == 1, recorder.errors
        assert "count" in functions(here / "a.darter") and processes(here / "a.darter") == {child}


def test_ctrl_c_ends_the_recording_of_children():
    with folder() as here:
        with Recorder(["-v", "--children", "-o", "a.darter", "--", *leaving(here, "exit 3")], here) as recorder:
            recorder.wait_said("the program has ended")
            child = recorded_child(here, recorder)
            recorder.end(check=3)
            assert process_state(child) == "R" and "written to a.darter" in recorder.errors, recorder.errors


def test_a_signal_for_the_program_ends_the_recording():
    """Who ends it does not want to wait for what the program leaves behind."""
    with folder() as here:
        with Recorder(["-v", "--children", "-o", "a.darter", "--", *leaving(here, "wait; exit 3")], here) as recorder:
            child = recorded_child(here, recorder)
            recorder.end(signal.SIGTERM, check=128 + signal.SIGTERM)
            assert process_state(child) == "R" and "the program has ended" not in recorder.errors, recorder.errors


# Leaves a process behind at once and another one when it is told to; they end when they are killed.
LEAVES = """
import subprocess, sys
line = "first"
while line:
    print(subprocess.run(["sh", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"], capture_output=True, text=True).stdout, end="", flush=True)
    line = sys.stdin.readline()
"""


def test_what_a_program_leaves_behind_after_the_duration():
    """Nobody is adopted any more, and of those who were the end is taken notice of."""
    with folder() as here:
        process = subprocess.Popen([DARTER, "record", "--children", "-d", "3", "-o", here / "a.darter", "--", *SYSTEM.argv, "-c",
                                    LEAVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        left = []
        try:
            left.append(int(process.stdout.readline()))
            wait_for(lambda: "goes on; it is waited for" in process.stderr.readline(), "the duration is over")
            process.stdin.write("once more\n")
            process.stdin.flush()
            left.append(int(process.stdout.readline()))
            assert left[1] not in children(process.pid)
            os.kill(left[0], signal.SIGKILL)
            wait_for(lambda: left[0] not in children(process.pid), "no zombie is left")
            process.communicate(timeout=DEADLINE)
            assert process.returncode == 0
        finally:
            process.kill()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


# Tells each SIGTERM, and ends with its input.
TELLS = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: print("got it", flush=True))
print("ready", flush=True)
sys.stdin.readline()
"""

# As timeout does it: one signal for the command, and one for the group.
TO_THE_GROUP = """
import os, signal, subprocess, sys
os.setpgid(0, 0)
process = subprocess.Popen(sys.argv[1:], close_fds=False)
sys.stdin.readline()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(process.pid, signal.SIGTERM)
os.kill(0, signal.SIGTERM)
sys.exit(process.wait())
"""


def test_a_signal_to_the_group_reaches_the_program_once():
    with folder() as here:
        ours, programs = os.pipe()
        process = subprocess.Popen([SYSTEM.path, "-c", TO_THE_GROUP, DARTER, "record", "-q", "-o", here / "a.darter", "--", "sh", "-c",
                                    f'exec "$@" <&{ours}', "sh", *SYSTEM.argv, "-c", TELLS],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[ours], text=True)
        try:
            assert process.stdout.readline() == "ready\n"
            print("now", file=process.stdin, flush=True)
            assert process.stdout.readline() == "got it\n"
            (recorder,) = children(process.pid)
            # Once it rests it has passed on what there was.
            wait_at_rest(recorder)
            os.write(programs, b"end\n")
            assert process.communicate(timeout=DEADLINE)[0] == "" and process.returncode == 0
        finally:
            os.close(programs)
            os.close(ours)
            process.kill()


def test_who_joins_and_who_ends_is_told():
    """Also while a program goes on that was started; of itself nothing is said."""
    script = ("import subprocess, sys, time; subprocess.run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(2)']); "
              "print('over', flush=True); sys.stdin.readline()")
    with folder() as here:
        words = ["record", "-v", "--children", "-o", here / "a.darter", "--", *SYSTEM.argv, "-c", script]
        with subprocess.Popen(list(map(str, [DARTER, *words])), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            try:
                joined = re.fullmatch(r"darter: process (\d+) joined\n", process.stderr.readline())
                ended = process.stderr.readline()
                assert joined and re.fullmatch(rf"darter: process {joined[1]}(?: \(.*\))? (has )?ended.*\n", ended), ended
                errors = process.communicate("end\n", timeout=DEADLINE)[1]
                assert process.returncode == 0 and "joined" not in errors and "ended" not in errors, errors
            finally:
                process.kill()


# ---- signals ----


def test_signals_are_noted_first_of_all():
    """Before options are looked at: who starts darter may send one at once."""
    need_program("strace")
    with folder() as here:
        darter("record", "--no-such-option", check=2, wrap=("strace", "-o", here / "trace"))
        calls = re.findall(r"^(\w+)\((\w*)", (here / "trace").read_text(), re.M)
    begin = calls.index(("rt_sigaction", "SIGPIPE"))
    noted = [what for call, what in calls[begin + 1:] if call == "rt_sigaction"][:6:2]
    assert noted == ["SIGINT", "SIGTERM", "SIGHUP"], calls
    assert {call for call, _ in calls[begin:calls.index(("rt_sigprocmask", "SIG_UNBLOCK"))]} == {"rt_sigaction"}, calls


@each([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_waits_for_us(number):
    """It was sent before darter began: a recording ends at once, a mistake is told as ever, and help is shown."""
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    def run(*words):
        done = subprocess.run([DARTER, "record", *map(str, words)], capture_output=True, text=True, timeout=DEADLINE,
                              preexec_fn=prepare, restore_signals=False)
        return done.returncode, done.stdout, done.stderr

    with target(SYSTEM, "hum.py") as program, folder() as here:
        code, _, errors = run("-o", here / "a.svg", program.pid)
        assert code in (0, 4), errors  # it may end before the first look
    code, _, errors = run("--no-such-option")
    assert code == 2 and errors.startswith("darter: 'darter record' has no option --no-such-option\n"), (code, errors)
    code, shown, errors = run("--help")
    assert code == 0 and "darter record" in shown and not errors, (code, errors)


@each([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_and_write(number):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with target(SYSTEM, "hum.py") as program, folder() as here:
        for how in ({}, {"preexec_fn": block}):
            with Recorder(["-o", "a.darter", program.pid], here, **how) as recorder:
                wait_recorded(here / "a.darter", program.pid)
                recorder.end(number)
                assert "Quality: " in recorder.errors and "written to a.darter" in recorder.errors
            assert darter("report", here / "a.darter", check=0).stderr == ""
            (here / "a.darter").unlink()
        assert process_state(program.pid) == "R"


def test_nohup():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-o", "a.svg", program.pid], here,
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as recorder:
            wait_recorded(here / "a.svg.part.darter", program.pid)
            recorder.send(signal.SIGHUP)
            recorder.send(signal.SIGUSR1)
            recorder.wait_said("written so far to a.svg")
            assert recorder.process.poll() is None
            recorder.end()


# ---- on a terminal ----


def test_progress_on_a_terminal():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        out = on_terminal("record", "-d", "1.5", "-o", here / "a.svg", program.pid, columns=100)
        lines = re.findall(r"\r(recording [^\r\n]*)", out)
        assert lines and all(len(line) < 98 for line in lines), out
        assert re.match(r"recording \d\.\d s: \d+ samples, \d+ rounds/s, 1 process, unseen \d+\.\d%, \d+\.\d kB *$", lines[-1]), lines
        assert re.search(r"\r {20,}\r", out)  # it is taken away
        assert "\x1b[" in out.split("Recorded process")[1]
        narrow = on_terminal("record", "-d", "1.5", "-o", here / "a.svg", program.pid, columns=30)
        # A key that is pressed meanwhile is echoed behind the line: "^C" has room there.
        assert all(len(line) < 28 for line in re.findall(r"\r(recording [^\r\n]*)", narrow)), narrow
        assert "\rrecording" not in on_terminal("record", "-q", "-d", "1", "-o", here / "a.svg", program.pid)


def test_progress_follows_the_width_of_the_terminal():
    """What is written after it has become narrower has room on one line, the blanks that take it away, too."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        outer, inner = pty.openpty()
        termios.tcsetwinsize(inner, (24, 100))
        env = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        process = subprocess.Popen([DARTER, "record", "-o", here / "a.svg", str(program.pid)], stdin=subprocess.DEVNULL,
                                   stdout=inner, stderr=inner, env={**env, "NO_COLOR": "1"})
        seen = b""

        def written(pattern):
            nonlocal seen
            if select.select([outer], [], [], 0.1)[0]:
                seen += os.read(outer, 65536)
            return re.search(pattern, seen)

        try:
            wait_for(lambda: written(rb"\rrecording [^\r]{60,}"), "a wide line")
            termios.tcsetwinsize(inner, (24, 40))
            narrow = wait_for(lambda: written(rb"\rrecording [^\r]{10,35}\r"), "a narrow line").start()
            wait_for(lambda: written(b"") and seen.count(b"\rrecording", narrow) > 2, "some more")
            process.send_signal(signal.SIGINT)
            wait_for(lambda: written(rb"\r {10,}\rRecorded"), "it is taken away")
        finally:
            process.kill()
            process.wait()
            os.close(inner)
            os.close(outer)
        lines = seen[narrow:seen.index(b"Recorded process")].decode().split("\r")
        assert all(len(line) < 40 for line in lines), lines


# ---- what is refused ----


@each([
    (["-r", "0", "1"], "'0': from 1 to 1000000 samples per second are possible"),
    (["-r", "-5", "1"], "'-5': from 1 to 1000000"),
    (["--rate=2000000", "1"], "'2000000': from 1 to 1000000"),
    (["-r", "fast", "1"], "'fast' is not a number of samples per second"),
    (["-r", "nan", "1"], "'nan' is not a number"),
    (["-d", "-1", "1"], "'-1': from 0.001 s to a year is possible"),
    (["-d", "x", "1"], "'x' is not a number of seconds\n  other units stand behind the number"),
    (["-d", "0", "1"], "from 0.001 s"),
    (["-d", "1y", "1"], "'1y' is not a number of seconds"),
    (["-f", "xml", "1"], "there is no format 'xml'\n  text: "),
    (["-f", "flamgraph", "1"], "there is no format 'flamgraph'\n  did you mean 'flamegraph'?\n"),
    (["-o", "a.xyz", "1"], "which format is 'a.xyz' to have?"),
    (["-o", "", "1"], "an empty text is no name"),
    (["-o", "no/such/a.svg", "1"], "there is no directory 'no/such/'\n  This makes it:\n      mkdir -p no/such/"),
    (["-o", ".", "1"], "'.' is a directory: a file is needed"),
    (["-o", "sub/", "1"], "there is no directory 'sub/'"),
    (["--hide", "a(b", "1"], "'a(b' is not a POSIX extended regular expression"),
    (["--thread-name", "[", "1"], "'[' is not a POSIX extended regular expression"),
    (["-o", "/etc/passwd/x.svg", "1"], "'/etc/passwd' is a file, no directory: nothing can be written in it\n  give a file in a directory"),
    (["-o", "/etc/passwd/sub/no/x.svg", "1"], "'/etc/passwd' is a file, no directory"),
    (["--name", "a(b"], "--name: 'a(b' is not a POSIX extended regular expression"),
    (["--cpu", "--gil", "1"], "--cpu and --gil exclude each other"),
    (["--keep", "3", "1"], "--rotate is missing"),
    (["--wait", "1"], "--wait is for --name and --all: a process id is there"),
    (["--wait", "--", "true"], "--wait is for --name and --all: a program behind -- is started"),
    (["--rotate", "1", "-f", "text", "1"], "--rotate needs files"),
    (["--json", "-o", "-", "1"], "--json and -o - are two results for stdout"),
    (["--json", "-f", "text", "1"], "--json and -f text are two results"),
    (["--pause", "sometimes", "1"], "is none of: auto never always"),
    (["--perch", "on", "1"], "is none of: auto off"),
    ([], "which process?"),
    (["-d", "1"], "a program behind --"),
    (["python3", "app.py"], "darter record -- python3 app.py\n"),
    (["-d", "1", "python3", "my app.py", "-v"], "darter record -- python3 'my app.py' -v\n"),
    (["1", "--", "python3"], "exclude each other"),
])
def test_what_makes_no_sense_is_refused(case):
    words, part = case
    with folder() as here:
        done = subprocess.run([DARTER, "record", *words], cwd=here, capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 2 and part in done.stderr, done
        assert done.stdout == "" and list(here.iterdir()) == []


@each([["--pause=never"], ["--pause=always"], ["--nonblocking"], ["--perch=off"], ["--perch=off", "--pause=never"], ["-r", "1"],
       ["-r", "20000"], ["-d", "300ms"]])
def test_ways_to_look(words):
    with target(SYSTEM, "hum.py") as program, folder() as here:
        length = [] if "-d" in words else ["-d", "0.5"]
        done = darter("record", "-q", *length, *words, "-o", here / "a.darter", program.pid)
        if words[-1] == "1" and done.returncode == 4:
            return  # not one sample, which is most likely
        assert done.returncode == 0, done
        shown = darter("report", here / "a.darter", "--idle", check=0).stdout
        assert ("stacks by beside" in shown) == (words[0] in ("--perch=off", "--pause=always") or words[-1] == "20000"), shown
        assert words[-1] == "1" or "spin" in shown or "[running, stack not seen]" in shown, shown


