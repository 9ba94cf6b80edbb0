"""Where recordings are written: data while they go on, full disks, results that cannot be written, rotation."""

import contextlib
import fcntl
import json
import os
import re
import resource
import select
import shlex
import signal
import struct
import subprocess
import termios
from pathlib import Path

from harness import DARTER, DEADLINE, ROOT, SYSTEM, TARGETS, darter, each, need_program, need_root, process_state, skip, target, wait_for
from recordings import Recorder, folder, functions, processes, wait_recorded


def names(here):
    return {path.name for path in here.iterdir()} - {"stderr.log"}


def told_command(errors, here):
    """Runs the command that shows what is kept, as it is printed. The name of the result, or what it shows."""
    (line,) = re.findall(r"This shows it:\n      (darter report .*)\n", errors)
    words = shlex.split(line)
    done = subprocess.run([DARTER, *words[1:]], cwd=here, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return words[words.index("-o") + 1] if "-o" in words else done.stdout


def test_what_a_killed_darter_leaves():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-o", "a.svg", program.pid], here) as recorder:
            wait_recorded(here / "a.svg.part.darter", program.pid)
            recorder.end(signal.SIGKILL, check=-signal.SIGKILL)
        assert names(here) == {"a.svg.part.darter"}
        done = darter("report", here / "a.svg.part.darter", "-o", here / "a.svg", check=0)
        assert "was cut off before its end" in done.stderr
        assert "spin" in (here / "a.svg").read_text()
        # The next one does not touch it.
        before = (here / "a.svg.part.darter").read_bytes()
        with Recorder(["-o", "a.svg", program.pid], here) as recorder:
            wait_recorded(here / "a.svg.part-2.darter", program.pid)
            recorder.end()
        assert names(here) == {"a.svg", "a.svg.part.darter"}
        assert (here / "a.svg.part.darter").read_bytes() == before


def test_where_a_killed_darter_keeps_what_goes_to_stdout():
    """It is told at the beginning by who says more, and by the manual."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-v", "-f", "text", program.pid], here, env={"TMPDIR": str(here)}) as recorder:
            recorder.wait_said("until it ends the recording is in")
            kept = Path(re.search(r"until it ends the recording is in (\S+)\n", recorder.errors)[1])
            wait_recorded(kept, program.pid)
            recorder.end(signal.SIGKILL, check=-signal.SIGKILL)
        assert kept.parent == here and names(here) == {kept.name} and re.fullmatch(r"darter-\w{6}\.darter", kept.name)
        assert "spin" in darter("report", kept, check=0).stdout
    assert "darter-XXXXXX.darter" in re.sub(r"\s+", " ", darter("record", "--help", check=0).stdout)


@each(["svg", "darter"])
def test_an_output_is_replaced_when_the_new_one_is_whole(extension):
    with target(SYSTEM, "hum.py") as program, folder() as here:
        output = here / f"a.{extension}"
        output.write_text("the old one")
        output.chmod(0o640)
        with Recorder(["-o", output, program.pid], here) as recorder:
            wait_recorded(here / f"a.{extension}.part.darter", program.pid)
            assert output.read_text() == "the old one"
            recorder.end()
        assert names(here) == {output.name}
        assert b"the old one" not in output.read_bytes()
        assert output.stat().st_mode & 0o777 == 0o640
        if extension == "darter":
            assert "spin" in functions(output)


@each([("svg", True), ("svg", False), ("darter", True), ("darter", False)])
def test_a_link_stays_a_link(case):
    """What it names is written, also if it is not there yet, and through another link."""
    extension, there = case
    with target(SYSTEM, "hum.py") as program, folder() as here:
        link, file = here / f"a.{extension}", here / "real" / f"b.{extension}"
        file.parent.mkdir()
        (file.parent / "next").symlink_to(file.name)
        link.symlink_to("real/next")
        if there:
            file.write_text("old")
        with Recorder(["-o", link, program.pid], here) as recorder:
            wait_recorded(file.parent / f"{file.name}.part.darter", program.pid)
            recorder.end()
        assert link.is_symlink() and (file.parent / "next").is_symlink() and not file.is_symlink()
        assert "spin" in functions(file) if extension == "darter" else "<svg" in file.read_text()
        assert names(here) == {link.name, "real"} and names(file.parent) == {file.name, "next"}


@each([("no/a.svg", "there is no directory '"), ("a.svg", "cannot be written: Too many levels of symbolic links"),
       ("/proc/a.svg", "cannot be written: ")])
def test_a_link_that_leads_nowhere_is_found_at_once(case):
    name, part = case
    with target(SYSTEM, "hum.py") as program, folder() as here:
        (here / "a.svg").symlink_to(name)
        done = darter("record", "-o", here / "a.svg", program.pid)
        assert done.returncode and part in done.stderr and "recording" not in done.stderr, done
        assert (here / "a.svg").is_symlink() and names(here) == {"a.svg"}


@each(["svg", "darter"])
def test_a_link_that_the_kernel_does_not_follow(extension):
    """As another user's in a sticky directory, if the host protects from that: what it names is neither read nor replaced."""
    need_program("strace")
    with target(SYSTEM, "hum.py") as program, folder() as here, folder() as there:
        link, file = there / f"a.{extension}", here / "file"
        file.write_text("another's")
        link.symlink_to(file)
        refuse = ("strace", "-f", "-o", here / "trace", "-P", link, "-e", "trace=newfstatat,statx",
                  "-e", "inject=newfstatat,statx:error=EACCES")
        darter("record", "-q", "-d", "0.2", "-o", here / "b.darter", program.pid, check=0)
        for words in (["record", "-d", "0.2", program.pid], ["report", "-f", "svg", here / "b.darter"])[:2 if extension == "svg" else 1]:
            done = darter(*words, "-o", link, check=1, wrap=refuse)
            # strace has said before it where the link leads.
            assert done.stderr.endswith(
                f"darter: '{link}' cannot be written: it is a link that may not be followed\n"
                "  it is another user's, in a directory where all may write, or leads where you may not go: "
                "give another file with '-o FILE'\n") and "recording" not in done.stderr, done.stderr
            assert link.is_symlink() and file.read_text() == "another's"
            assert names(there) == {link.name} and names(here) == {"file", "trace", "b.darter"}


@each(["svg", "darter"])
def test_a_result_runs_as_nobody(extension):
    """What is replaced may be a program that all run as its owner: the new file belongs to who records."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        output = here / f"a.{extension}"
        output.write_text("old")
        output.chmod(0o7751)
        darter("record", "-q", "-d", "0.2", "-o", output, program.pid, check=0)
        assert output.stat().st_mode & 0o7777 == 0o751


@each(["svg", "darter"])
def test_a_result_is_on_the_disk_before_it_gets_its_name(extension):
    need_program("strace")
    with target(SYSTEM, "hum.py") as program, folder() as here:
        (here / f"a.{extension}").write_text("old")
        darter("record", "-q", "-d", "0.2", "-o", here / f"a.{extension}", program.pid, check=0,
               wrap=("strace", "-f", "-o", here / "trace", "-e", "trace=fsync,rename,renameat,renameat2"))
        calls = re.findall(r"(fsync|rename)\w*\(", (here / "trace").read_text())
        assert calls == ["fsync", "rename"], calls


def test_a_second_recording_to_one_file():
    """It is refused before anything is recorded, and a program is not started."""
    with target(SYSTEM, "hum.py") as program, folder() as here, folder() as there:
        output = here / "a.darter"
        with Recorder(["-o", output, program.pid], there) as first:
            wait_recorded(output, program.pid)
            before = output.stat().st_ino
            (here / "link.darter").symlink_to(output)
            for other in (output, here / "link.darter"):
                for words in ([program.pid], ["--", "touch", there / "started"]):
                    done = darter("record", "-o", other, *words, check=1)
                    assert done.stderr == (f"darter: '{other}' is not replaced: another darter is still recording to it\n"
                                           "  give each recording a file of its own, with '-o FILE'\n"), done.stderr
            assert names(here) == {output.name, "link.darter"} and names(there) == set()
            first.end()
            assert f"written to {output}\n" in first.errors, first.errors
        assert output.stat().st_ino == before and darter("report", output, check=0).stderr == ""
        # It has ended: the next one replaces it.
        darter("record", "-q", "-d", "0.2", "-o", output, program.pid, check=0)
        assert output.stat().st_ino != before and names(here) == {output.name, "link.darter"}


def test_a_second_recording_that_begins_meanwhile():
    """One gets the name of the other, which ends while the first one goes on: neither is lost, and both say the truth."""
    with target(SYSTEM, "hum.py") as program, folder() as here, folder() as there, contextlib.ExitStack() as stack:
        output, part = here / "a.darter", here / "a.darter.part.darter"
        output.write_text("old")
        second = stack.enter_context(Recorder(["-o", output, program.pid], here))
        wait_recorded(part, program.pid)
        output.unlink()
        first = stack.enter_context(Recorder(["-o", output, program.pid], there))
        wait_recorded(output, program.pid)
        before = output.stat().st_ino
        second.end(check=1)
        assert f"'{output}' is not replaced: another darter is still recording to it" in second.errors, second.errors
        assert f"The recording is kept in {part}." in second.errors and "written to" not in second.errors, second.errors
        assert darter("report", part, check=0).stderr == "" and "spin" in functions(part)
        # Nor by who writes it anew.
        done = darter("report", part, "-f", "darter", "-o", output, check=1)
        assert "is not replaced" in done.stderr and names(here) == {output.name, part.name}, done.stderr
        first.end()
        assert output.stat().st_ino == before and darter("report", output, check=0).stderr == ""


@each(["removed", "renamed", "replaced"])
def test_a_recording_that_loses_its_name(how):
    """It is under its name at the end, whatever became of the file, and what is another one's stays."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        output = here / "a.darter"
        with Recorder(["-o", "a.darter", program.pid], here) as recorder:
            wait_recorded(output, program.pid)
            if how == "removed":
                output.unlink()
            else:
                output.rename(here / "b.darter")
            if how == "replaced":
                output.write_text("of somebody else")
            recorder.end()
            assert "'a.darter' was removed or renamed meanwhile: the recording is written anew" in recorder.errors
            assert "written to a.darter\n" in recorder.errors, recorder.errors
        assert names(here) == ({"a.darter"} if how == "removed" else {"a.darter", "b.darter"})
        for name in names(here):
            assert darter("report", here / name, check=0).stderr == "" and "spin" in functions(here / name)


def test_a_recording_that_loses_its_name_to_another_one():
    with target(SYSTEM, "hum.py") as program, folder() as here, folder() as there, contextlib.ExitStack() as stack:
        output, part = here / "a.darter", here / "a.darter.part-2.darter"
        output.write_text("old")
        with Recorder(["-o", output, program.pid], here) as first:
            wait_recorded(here / "a.darter.part.darter", program.pid)
            second = stack.enter_context(Recorder(["-o", output, program.pid], there))
            wait_recorded(part, program.pid)
            part.rename(output)
            first.end(check=1)
            assert f"'{output}' is not replaced" in first.errors, first.errors
            assert "spin" in functions(Path(re.search(r"The recording is kept in (\S+?)\. This", first.errors)[1]))
            second.end()
        assert darter("report", output, check=0).stderr == "" and "spin" in functions(output)


def test_what_is_there_is_written_without_a_name():
    """By SIGUSR1; the recording goes on under another name until it has its own again."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-o", "a.darter", program.pid], here) as recorder:
            wait_recorded(here / "a.darter", program.pid)
            (here / "a.darter").unlink()
            recorder.send(signal.SIGUSR1)
            recorder.wait_said("written so far to a.darter\n")
            assert names(here) == {"a.darter", "a.darter.part.darter"}
            assert darter("report", here / "a.darter", check=0).stderr == "" and "spin" in functions(here / "a.darter")
            recorder.end()
        assert names(here) == {"a.darter"} and darter("report", here / "a.darter", check=0).stderr == ""


@each(["svg", "darter"])
def test_a_directory_that_is_removed_meanwhile(kind):
    """The open file has all of it still: it is kept elsewhere, also on the same disk."""
    with target(SYSTEM, "hum.py") as program, folder() as here, folder() as other:
        (here / "sub").mkdir()
        part = here / "sub" / ("a.darter" if kind == "darter" else "a.svg.part.darter")
        with Recorder(["-o", f"sub/a.{kind}", program.pid], here, env={"TMPDIR": str(other)}) as recorder:
            wait_recorded(part, program.pid)
            part.unlink()
            part.parent.rmdir()
            recorder.end(check=1)
            assert "there is no directory 'sub/'" in recorder.errors and "written to" not in recorder.errors, recorder.errors
            kept = Path(re.search(r"The recording is kept in (\S+?)\. This", recorder.errors)[1])
            assert kept.parent == other and darter("report", kept, check=0).stderr == "" and "spin" in functions(kept)
            told_command(recorder.errors, here)
        assert not (here / "sub").exists()


def test_a_recording_without_any_name_makes_its_result():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-o", "a.svg", program.pid], here) as recorder:
            wait_recorded(here / "a.svg.part.darter", program.pid)
            (here / "a.svg.part.darter").unlink()
            recorder.end()
        assert names(here) == {"a.svg"} and "spin" in (here / "a.svg").read_text()


def test_a_recording_without_a_name_and_without_a_place():
    """It is not said to be kept where it is not."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with subprocess.Popen([DARTER, "record", "-o", "a.svg", str(program.pid)], cwd=here, stderr=subprocess.PIPE) as process:
            try:
                wait_recorded(here / "a.svg.part.darter", program.pid)
                (here / "a.svg.part.darter").unlink()
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
                process.send_signal(signal.SIGINT)
                errors = process.communicate(timeout=DEADLINE)[1].decode()
            finally:
                process.kill()
        assert process.returncode == 1 and names(here) == set(), errors
        assert "The recording is lost: 'a.svg.part.darter' was removed" in errors and "kept in" not in errors, errors


def test_devices_and_pipes_are_written_to():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        env = {"TMPDIR": str(here)}
        darter("record", "-q", "-d", "0.2", "-o", "/dev/null", program.pid, check=0, env=env)
        shown = darter("record", "-q", "-d", "0.2", "-f", "folded", "-o", "/dev/stdout", program.pid, check=0, env=env).stdout
        assert "spin" in shown, shown
        done = darter("record", "-q", "-d", "0.2", "-f", "folded", "-o", "/dev/full", program.pid, check=1, env=env)
        assert "No space left on device" in done.stderr and "The recording is kept in " in done.stderr
        (kept,) = here.iterdir()
        assert str(kept) in done.stderr and "spin" in functions(kept)


@each(["darter", "svg"])
def test_a_pipe_stays_a_pipe(kind):
    """Also one in the directory where the data is, which could get its name."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        pipe = here / f"a.{kind}"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            try:
                darter("record", "-q", "-d", "0.2", "-o", pipe, program.pid, check=0, env={"TMPDIR": str(here)})
                assert pipe.is_fifo() and names(here) == {pipe.name}
                (here / "read").write_bytes(reader.communicate(timeout=DEADLINE)[0])
            finally:
                reader.kill()
        assert "spin" in functions(here / "read") if kind == "darter" else b"</svg>" in (here / "read").read_bytes()


@each([(["-f", "text"], "closed"), (["-f", "svg", "-o", "-"], "open for reading only"), (["--json"], "closed")])
def test_a_stdout_that_cannot_be_written_is_found_at_once(case):
    """Nothing is recorded, and a program is not started."""
    words, why = case
    with folder() as here:
        script = 'exec "$0" "$@" >&-' if why == "closed" else 'exec "$0" "$@" 1< /dev/null'
        done = subprocess.run(["sh", "-c", script, DARTER, "record", *words, "--", "touch", "started"], cwd=here,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
        assert done.returncode == 1, done
        assert done.stderr == f"darter: the result cannot be written: stdout is {why}\n", done.stderr
        assert names(here) == set()


@each(["text", "svg", "folded", "darter"])
def test_a_full_stdout_is_told_once(kind):
    """With where the recording is kept."""
    with target(SYSTEM, "hum.py") as program, folder() as here, open("/dev/full", "wb") as full:
        done = subprocess.run([DARTER, "record", "-q", "-d", "0.2", "-f", kind, "-o", "-", str(program.pid)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE, env={**os.environ, "TMPDIR": str(here)})
        assert done.returncode == 1 and done.stderr.count("No space left on device") == 1, done.stderr
        assert done.stderr.count("could not be written") + done.stderr.count("cannot be written") == 1, done.stderr
        (kept,) = here.iterdir()
        assert f"The recording is kept in {kept}." in done.stderr and "spin" in functions(kept)


# Goes up and down until it is told to end, by its input.
CLIMB = """
import sys, threading
def climb(n):
    if n: climb(n - 1)
def work():
    while not told: climb(60)
told = []
threading.Thread(target=work).start()
told.append(sys.stdin.readline())
sys.exit(5)
"""


def test_a_program_that_ends_while_the_output_waits():
    """Its end is a signal, too, and the pipe that nobody reads yet is full: nothing of the output is missing."""
    words = ["record", "-q", "-d", "1", "-r", "1000", "-f", "chrome", "-o", "-", "--", *SYSTEM.argv, "-c", CLIMB]
    with subprocess.Popen([DARTER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            size = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
            held = lambda: struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0]
            wait_for(lambda: held() > size // 2 and process_state(process.pid) == "S", "the pipe is full")
            (program,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
            process.stdin.write(b"now\n")
            process.stdin.close()
            process.stdin = None
            wait_for(lambda: process_state(program) == "Z", "the program has ended")
            out, errors = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
    assert process.returncode == 5 and len(out) > size, (process.returncode, len(out), errors)
    assert json.loads(out) and b"Interrupted" not in errors, errors


def test_a_second_signal_ends_the_summary():
    """A pipe that nobody reads keeps the summary waiting, before any output is begun."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        reader, writer = os.pipe()
        with subprocess.Popen([DARTER, "record", "-o", "a.svg", str(program.pid)], cwd=here, stderr=writer) as process:
            try:
                wait_recorded(here / "a.svg.part.darter", program.pid)
                while select.select([], [writer], [], 0)[1]:
                    os.write(writer, b"x" * 4096)

                def ended():
                    process.send_signal(signal.SIGINT)
                    return process.poll() is not None

                wait_for(ended, "it ends")
            finally:
                process.kill()
        os.close(reader)
        os.close(writer)
        assert process.returncode == 1 and names(here) == {"a.svg.part.darter"}
        assert "spin" in functions(here / "a.svg.part.darter")


def test_a_signal_while_it_is_written():
    """A pipe that nobody reads keeps it writing; the second signal ends that, and the data is kept."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        os.mkfifo(here / "pipe.svg")
        with Recorder(["-o", "pipe.svg", program.pid], here, env={"TMPDIR": str(here)}) as recorder:
            recorder.wait_said("recording process")
            recorder.send(signal.SIGINT)
            recorder.wait_said("darter itself took")
            # It may not have come to the pipe yet: the signal is sent until it has.
            def ended():
                recorder.send(signal.SIGINT)
                return recorder.process.poll() is not None

            wait_for(ended, "it ends")
            assert recorder.process.returncode == 1, recorder.errors
            kept = re.search(r"not written; the recording is in (\S+)", recorder.errors)[1]
        assert darter("report", kept, check=0).stderr == ""
        os.unlink(kept)


def test_a_result_that_cannot_be_written_at_the_end():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-o", "a.svg", program.pid], here) as recorder:
            wait_recorded(here / "a.svg.part.darter", program.pid)
            (here / "a.svg").mkdir()
            recorder.end(check=1)
            assert "'a.svg' is a directory" in recorder.errors
            result = here / told_command(recorder.errors, here)
            assert result != here / "a.svg" and "spin" in result.read_text()
            result.unlink()
        assert "spin" in functions(here / "a.svg.part.darter")


def test_a_text_that_cannot_be_written_is_shown():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        words = ["-f", "text", "-o", "a.out", "--no-lines", "--full-filenames", "--main-thread"]
        with Recorder([*words, program.pid], here) as recorder:
            wait_recorded(here / "a.out.part.darter", program.pid)
            (here / "a.out").mkdir()
            recorder.end(check=1)
            line = "darter report a.out.part.darter --main-thread --no-lines --full-filenames"
            assert f"\n      {line}\n" in recorder.errors, recorder.errors
            assert told_command(recorder.errors, here).startswith("Recorded process")


def test_an_unwritable_output_is_found_at_once():
    with target(SYSTEM, "hum.py") as program:
        done = darter("record", "-o", "/proc/a.svg", program.pid, check=1)
        assert "'/proc/a.svg' cannot be written: " in done.stderr, done.stderr
        long = "x" * 250 + ".svg"
        done = darter("record", "-o", f"/tmp/{long}", program.pid, check=1)
        assert "File name too long" in done.stderr


def test_what_may_not_be_written_is_found_at_once():
    need_root()
    with target(SYSTEM, "hum.py", wrap=("setpriv", "--reuid=65534", "--clear-groups")) as program, folder() as here:
        (here / "a.svg").touch()
        os.chmod(here, 0o755)
        for output in (here / "a.svg", here / "b.svg"):
            done = darter("record", "-o", output, program.pid, check=1,
                          wrap=("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"))
            assert "cannot be written: Permission denied\n  give a file in a directory where you may write" in done.stderr
        assert names(here) == {"a.svg"} and (here / "a.svg").read_bytes() == b""


# ---- full disks ----


@each(["svg", "darter"])
def test_a_full_disk(extension):
    """The data goes on in another place, in one piece."""
    need_root()
    need_program("mount")
    with target(SYSTEM, "thread_churn.py") as program, folder() as here:
        disk, other = here / "disk", here / "other"
        disk.mkdir(), other.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
        try:
            with Recorder(["-r", "500", "-o", f"disk/a.{extension}", program.pid], here,
                          env={"TMPDIR": str(other)}) as recorder:
                recorder.wait_said("recording process")
                with open(disk / "ballast", "wb", buffering=0) as ballast:
                    while True:
                        try:
                            ballast.write(b"x" * 4096)
                        except OSError:
                            break
                    recorder.wait_said("No space left on device: it goes on in ")
                    moved = here / re.search(r"goes on in (\S+)", recorder.errors)[1]
                    assert moved.parent == other and names(disk) == {"ballast"}
                    size = moved.stat().st_size
                    wait_for(lambda: moved.stat().st_size > size, "it goes on there")
                    files = Path(f"/proc/{recorder.process.pid}/fd")
                    opened = []
                    for file in files.iterdir():
                        with contextlib.suppress(FileNotFoundError):  # it was open for a moment
                            opened.append(os.readlink(file))
                    assert not any(name.startswith(str(disk)) for name in opened), f"room is not given back: {opened}"
                    recorder.end(check=1)
                assert f"The recording is kept in {moved}" in recorder.errors, recorder.errors
            assert names(disk) == {"ballast"}
            done = darter("report", moved, check=0)
            assert done.stderr == "" and re.search(r"late \d+", done.stdout)
            assert processes(moved) == {program.pid}
        finally:
            subprocess.run(["umount", disk], check=True)


@contextlib.contextmanager
def full_disk(here):
    """A directory where nothing more can be written, once it is told so."""
    disk = here / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
    try:
        with open(disk / "ballast", "wb", buffering=0) as ballast:
            def fill(size=65536):
                with contextlib.suppress(OSError):
                    while ballast.tell() < size:
                        ballast.write(b"x" * 4096)

            yield fill
    finally:
        subprocess.run(["umount", disk], check=True)


@each([
    (["-f", "folded", "-o", "disk/x.out", "--gil", "--threads", "--idle", "--hide", "no 'such'", "--hide=-x", "--thread-name", "a|T"],
     r" -f folded -o OTHER/x.out --thread-name='a|T' --gil --idle --threads --hide='no '\''such'\''' --hide=-x", "thread"),
    (["-o", "disk/-a b.svg", "--cpu", "-F"], " -f svg -o 'OTHER/-a b.svg' --cpu --function", "<svg"),
    (["-o", "disk/a.darter"], "", "Recorded process"),
])
def test_what_is_told_of_a_full_disk_works(case):
    """The command has the format and the view, and goes to another disk."""
    words, told, part = case
    need_root()
    need_program("mount")
    with target(SYSTEM, "thread_churn.py") as program, folder() as here, full_disk(here) as fill:
        other = here / "other"
        other.mkdir()
        with Recorder(["-r", "500", *words, program.pid], here, env={"TMPDIR": str(other)}) as recorder:
            recorder.wait_said("recording process")
            fill()
            recorder.wait_said("No space left on device: it goes on in ")
            moved = re.search(r"goes on in (\S+)", recorder.errors)[1]
            fill()  # the recording has left some room, where a small result would fit in
            recorder.end(check=1)
            assert os.stat(moved).st_mode & 0o777 == 0o600  # it holds a command line
            assert f"      darter report {moved}{told.replace('OTHER', str(other))}\n" in recorder.errors, recorder.errors
            shown = told_command(recorder.errors, here)
        assert part in (Path(shown).read_text() if "-o" in told else shown)


def test_a_result_for_which_there_is_no_room():
    """The data has room beside it."""
    need_root()
    need_program("mount")
    with target(SYSTEM, "hum.py") as program, folder() as here, full_disk(here) as fill:
        (here / "other").mkdir()
        (here / "other" / "a.svg").write_text("of somebody else")
        with Recorder(["-r", "1", "-o", "disk/a.svg", program.pid], here, env={"TMPDIR": str(here / "other")}) as recorder:
            wait_recorded(here / "disk" / "a.svg.part.darter", program.pid)
            fill(49152)  # what is left is enough for a recording at this rate, and not for a flame graph
            recorder.end(check=1)
            told = told_command(recorder.errors, here)
        assert told == str(here / "other" / "2-a.svg") and "<svg" in Path(told).read_text(), told
        assert (here / "other" / "a.svg").read_text() == "of somebody else"


@each(["svg", "darter"])
def test_a_disk_that_is_full_from_the_beginning(kind):
    """The data goes to another place from the start, which is said also with -q; the result is written if there is room by then."""
    need_root()
    need_program("mount")
    with target(SYSTEM, "hum.py") as program, folder() as here, full_disk(here) as fill:
        disk, other = here / "disk", here / "other"
        other.mkdir()
        fill()
        for room in (False, True):
            with Recorder(["-q", "-o", f"disk/a.{kind}", program.pid], here, env={"TMPDIR": str(other)}) as recorder:
                told = f"'disk/a.{kind}' cannot be written now: No space left on device; it is recorded to {other}/"
                recorder.wait_said(told)
                (data,) = other.iterdir()
                wait_recorded(data, program.pid)
                assert names(disk) == {"ballast"}
                if room:
                    os.truncate(disk / "ballast", 0)
                recorder.end(check=0 if room else 1)
                if not room:
                    assert data.stat().st_mode & 0o777 == 0o600
                    assert f"The recording is kept in {data}" in recorder.errors, recorder.errors
                    told_command(recorder.errors, here)
                    for file in other.iterdir():
                        file.unlink()
        assert names(disk) == {"ballast", f"a.{kind}"} and not names(other)


def test_a_limit_of_file_sizes():
    """The signal that comes with it does not end darter, and nothing is lost that can be kept."""
    with target(SYSTEM, "thread_churn.py") as program, folder() as here:
        def bound():
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

        with Recorder(["-r", "500", "-o", "a.darter", program.pid], here, preexec_fn=bound) as recorder:
            recorder.wait_said("File too large")
            assert "and there is no other place for it; it is kept in memory" in recorder.errors
            recorder.end(check=1)
        assert processes(here / "a.darter") == {program.pid}


# ---- SIGUSR1, rotation ----


@each(["svg", "darter", "text"])
def test_what_is_there_is_written(kind):
    with target(SYSTEM, "hum.py") as program, folder() as here:
        output = here / f"a.{kind}"
        words = ["-f", "text"] if kind == "text" else ["-o", output]
        with Recorder([*words, program.pid], here) as recorder:
            recorder.wait_said("recording process")
            if kind == "darter":
                wait_recorded(output, program.pid)
            if kind == "text":
                recorder.send(signal.SIGUSR1)
                assert recorder.process.stdout.readline().startswith(b"Recorded process")
            else:
                for _ in range(2):
                    said = recorder.errors.count("written so far")
                    recorder.send(signal.SIGUSR1)
                    wait_for(lambda said=said: recorder.errors.count("written so far") > said, "it is written")
                    assert recorder.process.poll() is None
                if kind == "svg":
                    assert "</svg>" in output.read_text()
                else:
                    assert processes(output) == {program.pid}
            recorder.end()
        assert names(here) == (set() if kind == "text" else {output.name})
        if kind == "darter":
            assert darter("report", output, check=0).stderr == "" and "spin" in functions(output)


@each(["svg", "darter"])
def test_recorders_that_begin_together(kind):
    """They make the same name in the same second; no result is lost."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        words = [DARTER, "record", "-q", "-d", "0.5", "-f", kind, str(program.pid)]
        together = [subprocess.Popen(words, cwd=here, stderr=subprocess.PIPE) for _ in range(6)]
        for recorder in together:
            errors = recorder.communicate(timeout=DEADLINE)[1]
            assert recorder.returncode == 0, errors
        assert len(names(here)) == 6 and all((here / name).stat().st_size for name in names(here)), names(here)


def test_a_made_name_that_another_one_has_by_then():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-r", "20", "-f", "svg", program.pid], here) as recorder:
            recorder.wait_said("recording process")
            (part,) = names(here)
            name = part.removesuffix(".part.darter")
            (here / name).write_text("of somebody else")
            recorder.send(signal.SIGUSR1)
            second = name.replace(".svg", "-2.svg")
            recorder.wait_said(f"written so far to {second}\n")
            recorder.end()
            assert f"written to {second}\n" in recorder.errors, recorder.errors
        assert names(here) == {name, second} and (here / name).read_text() == "of somebody else"
        assert "<svg" in (here / second).read_text()


@each(["svg", "darter"])
def test_rotation(kind):
    page = (ROOT / "docs" / "record.md").read_text()
    assert "`app-20261116-090000-2.svg`" in page  # as below
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["-v", "--rotate", "300ms", "--keep", "2", "-o", f"a.{kind}", program.pid], here) as recorder:
            wait_for(lambda: recorder.errors.count("written to") >= 5 or recorder.process.poll() is not None, "some files")
            recorder.end()
            said = recorder.errors
            written = re.findall(r"written to (\S+)", said)
        assert len(written) == len(set(written)) >= 6, recorder.errors
        assert all(re.fullmatch(rf"a-\d{{8}}-\d{{6}}(-\d+)?\.{kind}", name) for name in written), written
        assert names(here) == set(written[-2:])
        assert f"the summary is of the last file alone: {written[-1]}\nRecorded process" in said, said
        if kind == "darter":
            for name in written[-2:]:
                assert darter("report", here / name, check=0).stderr == ""
            assert "spin" in functions(here / written[-2]) and processes(here / written[-2]) == {program.pid}


def slice_of(pid):
    """The time slice of a process, or None where the kernel does not tell."""
    found = re.search(r"^se\.slice\s*:\s*(\d+)", Path(f"/proc/{pid}/sched").read_text(), re.M)
    return found and int(found[1])


def test_who_looks_after_it_keeps_short_turns_after_a_rotation():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["--rotate", "300ms", "-o", "a.darter", program.pid], here) as recorder:
            recorder.wait_said("recording process")
            first = slice_of(recorder.process.pid)
            if first is None or first >= 1000000:
                skip("this kernel has no short time slices")
            seen = set()
            wait_for(lambda: seen.add(slice_of(recorder.process.pid)) or len(names(here)) >= 4, "three files are whole")
            assert seen == {first}, seen
            recorder.end()



def test_rotation_of_made_names_and_the_sum():
    with target(SYSTEM, "hum.py") as program, folder() as here:
        done = subprocess.run([DARTER, "record", "--json", "-q", "-d", "1s", "--rotate", "0.3", "-f", "folded", str(program.pid)],
                              cwd=here, capture_output=True, text=True, timeout=DEADLINE, check=True)
        document = json.loads(done.stdout)
        assert set(document["files"]) == names(here) and len(document["files"]) >= 3, document
        assert document["duration_ns"] >= 10**9 and document["processes"] == 1, document
        for name in document["files"]:
            assert re.fullmatch(rf"hum-{program.pid}-\d{{8}}-\d{{6}}(-\d+)?\.folded", name), name
        total = sum(int(line.rpartition(" ")[2]) for name in document["files"] for line in (here / name).read_text().splitlines())
        assert total > 500000, total  # microseconds


# Is told by its input to become a shell, which is told to become Python again.
AWAY = """
import os, sys
def before():
    print("ready", flush=True)
    sys.stdin.readline()
before()
os.execvp("sh", ["sh", "-c", 'read go; exec "$@"', "sh", *sys.argv[1:]])
"""


def wait_rotations(recorder, here, count):
    """Of a time without Python no file is left, but each has had its name."""
    seen = names(here)
    wanted = len(seen) + count
    wait_for(lambda: seen.update(names(here)) or len(seen) >= wanted or recorder.process.poll() is not None, f"{count} rotations")


def test_a_rotation_while_another_program_begins():
    """It is no Python for some rotations, and nobody has ended."""
    with folder() as here:
        program = subprocess.Popen([*SYSTEM.argv, "-u", "-c", AWAY, *SYSTEM.argv, TARGETS / "hum.py"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            program.stdout.readline()
            with Recorder(["--rotate", "200ms", "-o", "a.darter", program.pid], here) as recorder:
                recorder.wait_said("recording process")
                os.write(program.stdin.fileno(), b"away\n")
                wait_for(lambda: os.readlink(f"/proc/{program.pid}/exe") == os.path.realpath("/bin/sh"), "it is a shell")
                wait_rotations(recorder, here, 3)
                assert recorder.process.poll() is None, recorder.errors
                os.write(program.stdin.fileno(), b"back\n")
                spins = lambda: any("spin" in darter("report", "-q", here / name).stdout for name in names(here))
                wait_for(spins, "the other program is recorded")
                recorder.end()
                assert "ended" not in recorder.errors, recorder.errors
        finally:
            program.kill()
            program.communicate()


@each(["svg", "darter"])
def test_no_file_of_a_time_without_python(kind):
    """None is left for it, and none that has something in it is removed for it."""
    with folder() as here:
        program = subprocess.Popen([*SYSTEM.argv, "-u", "-c", AWAY, *SYSTEM.argv, TARGETS / "hum.py"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            program.stdout.readline()
            words = ["-v", "--rotate", "300ms", "--keep", "2", "-o", f"a.{kind}", program.pid]
            with Recorder(words, here) as recorder:
                wait_for(lambda: recorder.errors.count("written to") >= 3 or recorder.process.poll() is not None, "three files")
                os.write(program.stdin.fileno(), b"away\n")
                wait_for(lambda: os.readlink(f"/proc/{program.pid}/exe") == os.path.realpath("/bin/sh"), "it is a shell")
                wait_rotations(recorder, here, 5)
                recorder.end()
                written = re.findall(r"written to (\S+)", recorder.errors)
                told = re.findall(r"since (\S+) there was no Python that could be looked at: no file is made of that time", recorder.errors)
        finally:
            program.kill()
            program.communicate()
        assert names(here) == set(written[-2:]) and told == written[-1:], (names(here), recorder.errors)
        if kind == "darter":
            assert all(processes(here / name) == {program.pid} for name in written[-2:])


def test_a_rotation_without_any_python():
    with folder() as here:
        with Recorder(["--children", "--rotate", "200ms", "-o", "a.svg", "--", "sleep", "1"], here) as recorder:
            recorder.end(0)
        assert "nothing was recorded" in recorder.errors and not names(here), (names(here), recorder.errors)


@each([0, 4, 10])
def test_a_rotation_for_which_there_are_too_few_descriptors(room):
    """The recording goes on, in the file that it has."""
    with target(SYSTEM, "hum.py") as program, folder() as here:
        with Recorder(["--rotate", "1s", "-d", "3", "-o", "a.darter", program.pid], here) as recorder:
            (file,) = wait_for(lambda: [here / name for name in names(here)], "a file")
            wait_recorded(file, program.pid)
            taken = {int(fd) for fd in os.listdir(f"/proc/{recorder.process.pid}/fd")}
            bound = [fd for fd in range(max(taken) + room + 2) if fd not in taken][room]
            resource.prlimit(recorder.process.pid, resource.RLIMIT_NOFILE, (bound, bound))
            recorder.process.communicate(timeout=DEADLINE)
            assert "the process ended" not in recorder.errors, recorder.errors
            if len(names(here)) == 1:
                assert re.search(r"(Too many open files|no more files can be opened)\n", recorder.errors), recorder.errors
            assert all(processes(here / name) == {program.pid} for name in names(here)), recorder.errors
