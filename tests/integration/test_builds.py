"""Python is found in every kind of build, whatever its files are called and whatever became of them."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import truths
from builds import (AGAIN, ENDED, HAMMER, NOT_PYTHON, Found, ask, copy_of, cut_section_headers, find, found, hide_symbols,
                    library_of, prefix, refused, same_in_a_core, strip, stripped_way, usual_way)
from harness import (ROOT, SYSTEM, TARGETS, USABLE, Python, children, darter, each, need_program, process_state, skip, target,
                     visible, wait_for)

HOST = [python for python in USABLE if not python.root and not python.missing]
SHARED = [python for python in HOST if python.shared]


# ---- ordinary ----


@each(USABLE)
def test_found(python):
    with target(python, "sleeper.py") as program:
        answer = found(program.pid, python, usual_way(python))
        exe = os.readlink(f"/proc/{program.pid}/exe")
        exe = exe[len(os.path.realpath(python.root)):] if python.root else exe
        if python.shared:
            assert "/libpython" in answer.library, answer.library
        else:
            assert answer.library == exe, (answer.library, exe)
        assert find(program.pid, options=["--likely"])[program.pid] == "likely"


@each(USABLE)
def test_dump_names_the_library(python):
    with target(python, "sleeper.py") as program:
        (snapshot,) = json.loads(darter("dump", "--json", program.pid, check=0).stdout)["snapshots"]
        assert snapshot["python"] == python.text.rstrip("+")
        assert snapshot["library"] == Found(find(program.pid)[program.pid]).library
        assert not python.root or not snapshot["library"].startswith(python.root)


def test_one_cache_for_many():
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(target(python, "sleeper.py")) for python in HOST for _ in range(2)]
        pids = [program.pid for program in programs]
        alone = {pid: find(pid)[pid] for pid in pids}
        assert find(*pids, options=["--cached"]) == alone
        assert set(find(*pids, options=["--likely", "--cached"]).values()) == {"likely"}


@each(HOST)
def test_symlink_and_venv(python):
    with tempfile.TemporaryDirectory(prefix="darter-venv-") as folder:
        made = subprocess.run([python.path, "-m", "venv", "--without-pip", f"{folder}/venv"], capture_output=True,
                              text=True)
        if made.returncode:
            skip(f"venv cannot be made: {made.stderr or made.stdout}")
        link = Path(folder) / "snake"
        link.symlink_to(python.path)
        for path in (link, Path(folder) / "venv" / "bin" / "python"):
            other = Python(str(path), "", python.version, python.text, python.shared)
            with target(other, "sleeper.py", env={} if path != link else {"PYTHONHOME": prefix(python)}) as program:
                found(program.pid, python, usual_way(python))


@each(HOST)
def test_hidden_version(python):
    """A program may delete sys.hexversion."""
    with tempfile.NamedTemporaryFile(suffix=".py", mode="w") as script:
        script.write("import sys\ndel sys.hexversion\n" + (TARGETS / "sleeper.py").read_text())
        script.flush()
        with target(python, script.name) as program:
            found(program.pid, python, usual_way(python))


UNICODE_NAME = r"""
import sys, threading, time
del sys.hexversion
threading.current_thread()._Thread__name = u"w\u00f6rker-\u65e5"
print("ready")
time.sleep(3600)
"""


@each([python for python in HOST if python.version < (3,)])
def test_hidden_version_and_the_width_of_a_character(python):
    """2.7 is built with characters of two bytes or of four."""
    with tempfile.NamedTemporaryFile(suffix=".py", mode="w") as script:
        script.write(UNICODE_NAME)
        script.flush()
        with target(python, script.name) as program:
            out = darter("dump", program.pid, check=0).stdout
            assert '"w\u00f6rker-\u65e5"' in out, out


@each(USABLE)
def test_threads_that_come_and_go(python):
    """The newest thread heads the list, and may be gone before it is followed."""
    with target(python, "thread_churn.py") as program:
        answers = ask(program.pid, options=["--times", "2000"])
        assert len(answers) == 1, answers
        found(program.pid, python, usual_way(python))


@each(HOST)
def test_from_the_first_moment(python):
    """While a program starts and ends Python is there, or not yet, or no more; never is it none or unreadable."""
    for _ in range(3):
        process = subprocess.Popen([python.path, "-c", ""])
        answers = ask(process.pid, options=["--times", "1000"])
        process.wait()
        expected = rf"ok {re.escape(python.text.rstrip('+'))} |{AGAIN} |{ENDED} "
        assert all(re.match(expected, line) for _, line in answers), answers


def test_started_by_the_loader():
    loaders = list(Path("/lib64").glob("ld-linux-x86-64.so.2"))
    if not loaders:
        skip("no dynamic loader of the usual name")
    with target(SYSTEM, "sleeper.py", wrap=loaders) as program:
        found(program.pid, SYSTEM, usual_way(SYSTEM))


def test_standalone():
    made = subprocess.run([ROOT / "scripts" / "standalone"], capture_output=True, text=True, timeout=100)
    if made.returncode == 3:
        skip(made.stderr.strip().splitlines()[-1])
    path = made.stdout.strip()
    text = subprocess.run([path, "-c", "import platform; print(platform.python_version())"], capture_output=True,
                          text=True, check=True).stdout.strip()
    python = Python(path, "", [int(part) for part in text.split(".")[:2]], text)
    with target(python, "sleeper.py") as program:
        assert found(program.pid, python, "section").library == os.path.realpath(path)
        same_in_a_core(program)


# ---- less in the files ----


@each(HOST)
def test_stripped(python):
    with copy_of(python) as copy:
        strip(copy.program)
        strip(copy.holder)
        with copy.start() as program:
            assert found(program.pid, python, stripped_way(python, usual_way(python))).library == str(copy.holder)
            same_in_a_core(program)


@each([python for python in HOST if python.version < (3, 7)])
def test_stripped_and_without_a_runtime(python):
    """What is found in its data alone tells the same truth, while a thread has the GIL and while none has it."""
    with copy_of(python) as copy:
        strip(copy.holder)
        for script, *args in (["truth_frames.py"], ["truth_threads.py", "strange"], ["truth_main.py", "module_level"]):
            with copy.start(script, *args) as program:
                assert truths.check(program)["library"] == str(copy.holder)


@each(HOST)
def test_without_section_headers(python):
    with copy_of(python) as copy:
        strip(copy.holder)
        cut_section_headers(copy.holder)
        with copy.start() as program:
            assert found(program.pid, python, stripped_way(python, "symbol")).library == str(copy.holder)
            same_in_a_core(program)


@each(HOST)
def test_nothing_names_it(python):
    if python.version < (3, 7):
        skip("before 3.7 nothing but an exported symbol tells that there is an interpreter")
    with copy_of(python) as copy:
        strip(copy.holder)
        cut_section_headers(copy.holder)
        hide_symbols(copy.holder)
        with copy.start() as program:
            assert found(program.pid, python, "scan").library == str(copy.holder)
            same_in_a_core(program)


# ---- files that are gone ----


@each(HOST)
def test_deleted(python):
    with copy_of(python) as copy:
        with copy.start() as program:
            copy.program.unlink()
            if copy.library:
                copy.library.unlink()
            assert found(program.pid, python).library == str(copy.holder)


@each(HOST)
def test_replaced(python):
    with copy_of(python) as copy:
        with copy.start() as program:
            for path in {copy.program, copy.holder}:
                other = path.with_name("new")
                shutil.copy("/bin/sh", other)
                other.rename(path)
            assert found(program.pid, python).library == str(copy.holder)


@each(SHARED)
def test_deleted_library_without_privileges(python):
    """Without capabilities a deleted library cannot be opened: what is left of it is its image in memory."""
    plain = [need_program("setpriv"), "--bounding-set=-all", "--inh-caps=-all"]
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() != "0":
        skip("Yama lets nobody look into a process that is not its child")
    with copy_of(python) as copy:
        with copy.start(wrap=plain) as program:
            copy.library.unlink()
            by = stripped_way(python, "memory symbol")
            assert found(program.pid, python, by, wrap=plain).library == str(copy.library)


def test_program_in_a_memfd():
    with tempfile.NamedTemporaryFile(suffix=".py", mode="w") as script:
        script.write("import os, sys\n"
                     "fd = os.memfd_create('hidden', 0)\n"
                     "os.write(fd, open(sys.argv[1], 'rb').read())\n"
                     "os.execve(fd, ['worker', sys.argv[2]], dict(os.environ, PYTHONHOME=sys.base_prefix))\n")
        script.flush()
        if SYSTEM.shared:
            skip("the system's Python is not linked statically")
        with target(SYSTEM, script.name, os.path.realpath(SYSTEM.path), TARGETS / "sleeper.py") as program:
            assert "memfd" in found(program.pid, SYSTEM, usual_way(SYSTEM)).library


# ---- embedded ----


def config(python, *names):
    code = "import sysconfig, sys; print('\\n'.join(str(sysconfig.get_config_var(n) or '') for n in sys.argv[1:]))"
    done = subprocess.run([python.path, "-c", code, *names], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[: len(names)]


def compile_embed(python, folder, *libraries):
    (include,) = config(python, "INCLUDEPY")
    if not Path(include, "Python.h").exists():
        skip(f"no Python.h for {python.label}")
    program = Path(folder) / "service"
    subprocess.run([need_program("gcc"), "-o", str(program), str(TARGETS / "embed.c"), f"-I{include}", *libraries],
                   check=True)
    return Python(str(program), "", python.version, python.text, python.shared)


@each(SHARED)
def test_embedded(python):
    folder_of_library, version = config(python, "LIBDIR", "LDVERSION")
    version = version or "2.7"
    with tempfile.TemporaryDirectory(prefix="darter-embed-") as folder:
        service = compile_embed(python, folder, f"-L{folder_of_library}", f"-Wl,-rpath,{folder_of_library}",
                                f"-lpython{version}")
        with target(service, "sleeper.py", env={"PYTHONHOME": prefix(python)}) as program:
            found(program.pid, python, usual_way(python))
            assert find(program.pid, options=["--likely"])[program.pid] == "likely"
            same_in_a_core(program)


@each([python for python in HOST if not python.shared])
def test_linked_in_and_stripped(python):
    """A program that has libpython.a in it, exports nothing and is stripped: its section still tells (3.10+)."""
    folder_of_archive, archive, libraries, system = config(python, "LIBPL", "LIBRARY", "LIBS", "SYSLIBS")
    path = Path(folder_of_archive, archive)
    if not path.exists():
        skip(f"no {archive}")
    if subprocess.run([python.path, "-c", "import sys; sys.exit('time' not in sys.builtin_module_names)"]).returncode:
        skip("its modules are libraries, which would need what such a program does not export")
    with tempfile.TemporaryDirectory(prefix="darter-embed-") as folder:
        try:
            service = compile_embed(python, folder, "-no-pie", str(path), "-lexpat", "-lz", *libraries.split(),
                                    *system.split())
        except subprocess.CalledProcessError:
            skip(f"{archive} does not link here: libraries that it needs are missing")
        for step, by in ((strip, usual_way(python)), (cut_section_headers, "scan")):
            step(Path(service.path))
            with target(service, "sleeper.py", env={"PYTHONHOME": prefix(python)}) as program:
                assert found(program.pid, python, by).library == service.path
                same_in_a_core(program)


def load(python, *args):
    """tests/hammer/load, started like a script of its own."""
    loader = Python(str(HAMMER / "load"), "", python.version, python.text, python.shared)
    first, *rest = args
    return target(loader, first, *rest, env={"PYTHONHOME": prefix(python)})


@each(SHARED)
def test_library_of_another_name(python):
    """As PyInstaller and the like do: libpython is unpacked somewhere, renamed and loaded at run time."""
    with tempfile.TemporaryDirectory(prefix="darter-load-") as folder:
        library = Path(folder) / "libfoo.so"
        shutil.copy(library_of(python), library)
        with load(python, library, "run", TARGETS / "sleeper.py") as program:
            assert found(program.pid, python, usual_way(python)).library == str(library)
            assert find(program.pid, options=["--likely"])[program.pid] == "likely"
            same_in_a_core(program)


@each(SHARED)
def test_not_begun_and_shut_down(python):
    library = library_of(python)
    for what in ("idle", "finish"):
        with load(python, library, what) as program:
            refused(program.pid, AGAIN, "Python is (not running|just)")


def test_two_libraries():
    if len(SHARED) < 2:
        skip("needs two Pythons with a shared library")
    idle, busy = SHARED[0], SHARED[-1]
    for first, second in ((idle, busy), (busy, idle)):
        with load(second, library_of(first), library_of(second), "run", TARGETS / "sleeper.py") as program:
            assert found(program.pid, second).library == library_of(second)


# ---- no Python ----


@contextlib.contextmanager
def running(*argv):
    process = subprocess.Popen([str(word) for word in argv])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_no_python():
    with running("sleep", "3600") as process:
        wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "sleep to be started")
        line = refused(process.pid, NOT_PYTHON, rf"process {process.pid} \(sleep\) has no Python interpreter in it")
        assert "darter ps" in line
        assert find(process.pid, options=["--likely"])[process.pid] == "unlikely"


def test_shell_with_a_python_child():
    with visible(SYSTEM, "sleeper.py") as script:
        with running("sh", "-c", f"'{SYSTEM.path}' '{script}' >/dev/null; exit 0") as shell:
            child = wait_for(lambda: children(shell.pid), "a child of the shell")[0]
            try:
                wait_for(lambda: find(child)[child].startswith("ok"), "Python in the child")
                refused(shell.pid, NOT_PYTHON, rf"child {child} looks like Python: give that one instead, or '--children' to have all of them")
            finally:
                os.kill(child, signal.SIGKILL)


def test_zombie():
    process = subprocess.Popen(["true"])
    wait_for(lambda: process_state(process.pid) == "Z", "the end of true")
    refused(process.pid, ENDED, r"has ended; it is a zombie until process \d+ takes notice")
    process.wait()


@each(["python", "shell"])
def test_short_lived(kind):
    # Popen returns when the program has begun: from then on the process is Python until it ends.
    command, also = [SYSTEM.path, "-c", "pass"], r"(?!)"
    if kind == "shell":  # It is a shell first, and may be told as one; but the name and the verdict belong together.
        command, also = ["sh", "-c", 'exec "$@"', "sh", *command], r"\((sh|dash|bash)\) has no Python interpreter in it"
    told = rf"has ended|ended while|there is no process|just (starting|ending|begun)|at this moment|{also}"
    for step in range(40):
        with subprocess.Popen([str(word) for word in command]) as process:
            time.sleep(step % 20 / 1000)  # to meet other moments of its life; none of them is counted on
            done = darter("dump", process.pid)
        assert done.returncode == 0 or re.search(told, done.stderr), done.stderr


def test_kernel_thread():
    if not Path("/proc/2/comm").exists() or Path("/proc/2/comm").read_text() != "kthreadd\n":
        skip("no kernel threads to be seen here")
    refused(2, NOT_PYTHON, r"process 2 \(kthreadd\) is a thread of the kernel")
