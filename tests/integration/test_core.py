"""Core files: what a program was doing when it died."""

import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

import cores
import spoil
import truths
from harness import SYSTEM, USABLE, darter, each, limit, need_program, need_root, process_state, skip, target, wait_for



def scripts_for(python):
    """Python code makes interpreters from 3.8 on."""
    return [("truth_frames.py",), ("truth_threads.py", "named")] + [("truth_interpreters.py",)] * (python.version >= (3, 8))


@each(USABLE)
@limit(600)
def test_gcore_tells_the_truth(python):
    for script in scripts_for(python):
        with target(python, *script, **cores.SMALL) as program, tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
            core, whole = cores.gcore(program.pid, folder)
            snapshot = truths.check_core(program, core) if whole else check_empty_stacks(program, core)
        assert snapshot["core"]["signal"] == 0 and (not whole or snapshot["warnings"] == []), snapshot
        assert not any(thread["faulting"] for thread in snapshot["threads"])


def check_empty_stacks(program, core):
    """What cannot be known without the C stacks is left out, and told."""
    snapshot = truths.seen_core(core)
    truth = {(thread["interpreter"], thread["ident"]): thread for thread in truths.told(program)["threads"]}
    for thread in snapshot["threads"]:
        key = thread["interpreter"], thread["ident"]
        assert not thread["frames"] or is_part(thread, truth[key]), thread
    assert any(" empty in the core: " in text for text in snapshot["warnings"]), snapshot["warnings"]
    return snapshot


@each(USABLE)
@limit(600)
def test_a_core_of_the_kernel_tells_the_truth(python):
    for script in scripts_for(python):
        with cores.mortal(python, *script) as (program, died):
            os.kill(program.pid, signal.SIGABRT)
            core = died()
            snapshot = truths.check_core(program, core, "--root", python.root or "/")
            assert snapshot["core"]["size"] == snapshot["core"]["whole_size"] == core.stat().st_size, snapshot["core"]
        assert snapshot["core"]["signal_name"] == "SIGABRT", snapshot["core"]
        assert snapshot["core"]["cause"] == f"process {os.getpid()} sent the signal", snapshot["core"]
        assert [thread["faulting"] for thread in snapshot["threads"]].index(True) == 0
        assert snapshot["warnings"] == [], snapshot["warnings"]


def names(thread):
    return [frame["name"].split(".")[-1] for frame in thread["frames"]]


@each(USABLE)
@each(["segv", "abort", "segv-thread", "abort-thread"])
def test_the_thread_that_got_the_signal_comes_first(python, how):
    with cores.mortal(python, "crash.py", how, ready=None) as (program, died):
        core = died()
        if "ctypes" in program.stderr:
            skip("this Python has no ctypes")
        snapshot = truths.seen_core(core, "--root", python.root or "/")
        text = darter("dump", "--core", core, "--root", python.root or "/", check=0).stdout
    first, *others = snapshot["threads"]
    wanted = "SIGSEGV" if how.startswith("segv") else "SIGABRT"
    assert first["faulting"] and not any(thread["faulting"] for thread in others), snapshot
    assert "die" in names(first)[:2] and first["gil"] == (not python.threaded), first
    assert first["main"] == (not how.endswith("thread")), first
    assert first["name"] == ("doomed" if how.endswith("thread") else "MainThread"), first
    assert len(others) == 1 and not others[0]["torn"] and others[0]["tid"] not in (0, first["tid"]), others
    assert snapshot["core"]["signal_name"] == wanted and snapshot["core"]["module"], snapshot["core"]
    if wanted == "SIGSEGV":
        assert snapshot["core"]["address"] == 0, snapshot["core"]
        assert snapshot["core"]["cause"] == "there is no memory at address 0x0", snapshot["core"]
    else:
        assert snapshot["core"]["cause"] == "it sent the signal to itself", snapshot["core"]
    assert re.search(rf"^Core file .*: killed by {wanted} in .+\+0x[0-9a-f]+: ", text, re.MULTILINE), text
    thread_lines = [line for line in text.splitlines() if line.startswith("Thread ")]
    assert f"(killed by {wanted}; " in thread_lines[0] and "killed" not in thread_lines[1], text
    assert snapshot["warnings"] == [], snapshot["warnings"]


@each(USABLE)
def test_a_thread_without_python_that_got_the_signal_is_shown(python):
    with cores.mortal(python, "crash.py", "native", ready=None) as (program, died):
        core = died()
        if "ctypes" in program.stderr:
            skip("this Python has no ctypes")
        snapshot = truths.seen_core(core, "--root", python.root or "/")
        text = darter("dump", "--core", core, "--root", python.root or "/", check=0).stdout
    first, *others = snapshot["threads"]
    assert first["faulting"] and first["frames"] == [] and first["tid"] not in (0, program.pid), first
    assert [thread["tid"] for thread in others if thread["main"]] == [program.pid], others
    assert names(next(thread for thread in others if thread["main"]))[:2] == ["die", "main"], others
    assert "[no Python code]" in text, text


@each([python for python in USABLE if python.version >= (3, 8)])
def test_a_thread_that_died_in_another_interpreter(python):
    """It has a thread state in both; the one with which it ran got the signal, and has the GIL."""
    with cores.mortal(python, "crash_inside.py", ready=None) as (program, died):
        core = died()
        snapshot = truths.seen_core(core, "--root", python.root or "/")
    first, main = snapshot["threads"]
    assert first["tid"] == main["tid"] == program.pid and first["ident"] == main["ident"], snapshot
    assert first["interpreter"] != 0 and main["interpreter"] == 0 and main["main"], snapshot
    assert first["faulting"] and not main["faulting"], snapshot
    assert (first["gil"], main["gil"]) == (not python.threaded, False), snapshot
    assert names(first) == ["<module>"] and names(main)[-1] == "<module>", snapshot


@each(USABLE)
def test_states_are_those_of_the_living_process(python):
    """Of threads that wait, the registers tell the same as the kernel did."""
    how = {**cores.SMALL, "env": {**cores.SMALL["env"], **python.with_gil}}
    with target(python, "truth_states.py", **how) as program, tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        commands = set()

        def settled():
            snapshot = truths.seen(program)
            alive = {thread["name"]: thread for thread in snapshot["threads"]}
            commands.add(snapshot["command"])
            return alive if alive["wants_gil"]["state"] == "waiting for the GIL" else None

        alive = wait_for(settled, "a thread that waits for the GIL")
        core, whole = cores.gcore(program.pid, folder)
        if not whole:
            skip("this gdb cannot read the stacks of threads of this C library")
        snapshot = truths.seen_core(core)
    assert {snapshot["command"]} == commands, (snapshot["command"], commands)
    dead = {thread["name"]: thread for thread in snapshot["threads"]}
    assert dead.keys() == alive.keys(), (dead.keys(), alive.keys())
    for name in ("sleeps", "reads", "locked", "selects", "polls", "waits_for_child"):
        for key in ("state", "syscall", "gil", "tid", "frames"):
            assert dead[name][key] == alive[name][key], (name, key, dead[name], alive[name])
    holders = [thread["name"] for thread in snapshot["threads"] if thread["gil"]]
    assert len(holders) <= 1, holders


# ---- files ----


def mapped_files(pid):
    found = set()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/") and os.path.isfile(words[5]):
            found.add(words[5])
    return sorted(found)


@each(USABLE)
def test_files_of_another_machine(python):
    """The core is looked at where none of its files are; then with a copy of them as root."""
    with cores.mortal(python, "truth_frames.py") as (program, died), \
            tempfile.TemporaryDirectory(prefix="darter-root-") as root:
        files = mapped_files(program.pid)
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        os.mkdir(f"{root}/empty")
        # The words for the type of a code object lie in the interpreter's file. Before 3.7 nothing else tells that there
        # is an interpreter.
        why = [1, "memory that Python needs is not in the core"]
        if python.version < (3, 7):
            why = [4, "no Python interpreter is found"]
        alone = refused(core, *why, "--root", f"{root}/empty")
        first = alone.splitlines()[1].strip()
        assert "python" in first and "cannot be read: No such file" in first and "--exe gives" in alone, alone
        assert first.startswith(f"{root}/empty/"), alone
        assert f"(process {program.pid}, " in alone and "killed by SIGABRT)\n" in alone, alone
        for file in files:
            copied = Path(f"{root}/copy{file[len(python.root):]}")
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copied)
        whole = truths.check_core(program, core, "--root", f"{root}/copy")
    assert whole["warnings"] == [], whole["warnings"]
    assert whole["threads"][0]["frames"][0]["source"] is None, "the scripts were not copied"


def test_a_program_that_was_replaced():
    if SYSTEM.shared:
        skip("needs a Python that is linked into its program")
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        program_file = f"{folder}/python-copy"
        shutil.copy(SYSTEM.argv[0], program_file)
        copied = type(SYSTEM)(program_file, "", SYSTEM.version, SYSTEM.text)
        with target(copied, "truth_threads.py", "named", env={"PYTHONHOME": "/usr"}) as program:
            core, _ = cores.gcore(program.pid, folder)
            truths.check_core(program, core)
            os.unlink(program_file)
            shutil.copy("/bin/true", program_file)
            refused(core, 1, f"{program_file} is not the file that the process had \\(that one had the build id [0-9a-f]{{16,}}\\)")
            given = truths.check_core(program, core, "--exe", SYSTEM.argv[0])
            assert given["warnings"] == [], given["warnings"]
            refused(core, 1, "/bin/true is not the file that the process had", "--exe", "/bin/true")
            refused(core, 4, "--exe: there is no file .*/none", "--exe", f"{folder}/none")
            refused(core, 2, "--exe: .* is no file", "--exe", folder)


def test_files_that_may_not_be_read():
    need_root()
    need_program("setpriv")
    with cores.mortal(SYSTEM, "truth_frames.py") as (program, died), \
            tempfile.TemporaryDirectory(prefix="darter-root-") as root:
        files = mapped_files(program.pid)
        os.kill(program.pid, signal.SIGABRT)
        core = Path(shutil.copy(died(), root))
        for file in files:
            Path(root + file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root + file)
            os.chmod(root + file, 0o600)
        for path in (root, core):
            os.chmod(path, 0o755)
        done = darter("dump", "--core", core, "--root", root, wrap=["setpriv", "--reuid=65534", "--clear-groups"], check=3)
    assert re.search(rf"files of the program in .* may not be read \(process {program.pid}, ", done.stderr), done.stderr
    assert re.search(rf"\n  {root}/.*python.* cannot be read: Permission denied\n  Run it as root:\n      .*darter dump "
                     rf"--core {core} --root {root}\n$", done.stderr), done.stderr


def hide(core, pieces=False):
    """Takes the list of mapped files out of a core; and the pages of the program that are as they are in its file."""
    data = bytearray(core.read_bytes())
    at = data.index(struct.pack("<I", 0x46494c45))  # the type of the note
    data[at:at + 4] = struct.pack("<I", 0x01010101)
    where, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for header in range(where, where + 56 * count, 56):
        kind, flags, _, address = struct.unpack_from("<IIQQ", data, header)
        if pieces and kind == 1 and not flags & 2 and address < 1 << 32:
            struct.pack_into("<Q", data, header + 32, 0)
    core.write_bytes(data)


def test_a_core_that_does_not_tell_which_files_were_mapped():
    if SYSTEM.shared:
        skip("needs a Python that is linked into its program")
    with cores.mortal(SYSTEM, "truth_frames.py") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        hide(core)
        refused(core, 1, "this core does not tell which files were mapped: give its program with --exe FILE\n$")
        assert truths.check_core(program, core, "--exe", SYSTEM.argv[0])["warnings"] == []
        refused(core, 1, "the program that --exe gives probably does not belong to ", "--exe", "/bin/true")


def test_a_program_that_belongs_to_another_core():
    """Another Python, where the core has nothing to compare it with: what it says of Python is not true of the core."""
    others = [python for python in USABLE if python.root and not python.missing and not python.shared]
    if SYSTEM.shared or not others:
        skip("needs two Pythons that are linked into their programs")
    with cores.mortal(SYSTEM, "truth_frames.py") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        hide(core, pieces=True)
        [warning] = truths.check_core(program, core, "--exe", SYSTEM.argv[0])["warnings"]
        assert "may not be the file that the process had" in warning, warning
        for python in others:
            other = python.root + os.path.realpath(python.argv[-1])
            refused(core, 1, f"the program that --exe gives probably does not belong to .*\n.*with that one: ", "--exe", other)


# ---- cores that are not whole ----


def is_part(shown, truth):
    """Every frame that is shown is one that was there, in that order, from the innermost on."""
    want = [tuple(frame) for frame in truth["frames"]]
    have = [(frame["name"], frame["file"], frame["line"]) for frame in shown["frames"]]
    return have == want[:len(have)] and (len(have) == len(want) or shown["torn"])


def look_at_part(core, size, truth, options=()):
    """A core cut at size: an error in words, or frames that are true. Gives the number of frames shown."""
    with tempfile.NamedTemporaryFile(prefix="darter-cut-") as cut:
        subprocess.run(["cp", "--sparse=always", core, cut.name], check=True)
        os.truncate(cut.name, size)
        done = darter("dump", "--json", "--core", cut.name, *options, limit=60)
    document = truths.json.loads(done.stdout)
    if done.returncode:
        assert done.returncode in (1, 4) and len(document["errors"]) == 1, (size, done)
        assert document["snapshots"] == [], document
        message = document["errors"][0]["message"]
        assert re.search("cut short|is empty|not a core file", message), (size, message)
        hint = document["errors"][0]["hint"] or ""
        assert "the file that the process had" not in hint and "ld-linux" not in hint, (size, hint)
        return 0
    [snapshot] = document["snapshots"]
    assert any("is cut short" in text for text in snapshot["warnings"]), (size, snapshot["warnings"])
    known = {thread["ident"]: thread for thread in truth["threads"]}
    for thread in snapshot["threads"]:
        assert not thread["frames"] or is_part(thread, known[thread["ident"]]), (size, thread)
    return sum(len(thread["frames"]) for thread in snapshot["threads"])


@each(USABLE)
@limit(600)
def test_cores_that_are_cut_short(python):
    with cores.mortal(python, "truth_frames.py") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        truth = truths.told(program)
        size = core.stat().st_size
        places = [0, 1, 4, 63, 64, 65, 500, 4096, 5000] + [size * part // 16 for part in range(1, 16)] + [size - 1]
        shown = {place: look_at_part(core, place, truth, ["--root", python.root or "/"]) for place in places}
    assert shown[0] == shown[5000] == 0 and shown[size - 1] > 100, shown


def test_a_gcore_without_its_end():
    """gcore writes threads and the names of files at the end."""
    with target(SYSTEM, "truth_frames.py", **cores.SMALL) as program, tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        core, _ = cores.gcore(program.pid, folder)
        truth = truths.told(program)
        for part in (1, 5, 9):
            look_at_part(core, core.stat().st_size * part // 10, truth)


@each([python for python in USABLE if python.version < (3, 11)])
def test_zeros_on_a_stack(python):
    """Some are a buffer; nothing else up to its end is a stack that was left out. (Newer Pythons have frames there.)"""
    with cores.mortal(python, "sleeper.py") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        path = died()
        core = cores.Core(path)
        [pointer] = core.stack_pointers()
        [end] = [address + length for _, length, _, address in core.loads if address <= pointer < address + length]
        for size, warnings in ((min(4096, end - pointer - 8), []),
                               (end - pointer, ["the C stack of a thread is empty in the core: whoever made it could not read it"])):
            with spoil.Memory(path, core.pieces) as memory:
                memory.write(pointer, bytes(size))
            snapshot = truths.seen_core(path, "--root", python.root or "/")
            assert snapshot["warnings"] == warnings, (size, snapshot["warnings"])
            assert names(snapshot["threads"][0])[-2:] == ["main", "<module>"], snapshot


# ---- what is no core of Python ----


def refused(path, code, pattern, *options):
    done = darter("dump", "--core", path, *options, check=code)
    assert re.search(pattern, done.stderr), done.stderr
    assert not done.stdout, done.stdout
    return done.stderr


def test_what_is_no_core():
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        text = Path(folder) / "text"
        text.write_text("this is no core file, but it is long enough to be one" * 10)
        (Path(folder) / "empty").touch()
        os.mkfifo(f"{folder}/fifo")
        refused(text, 1, "text is not a core file")
        refused(f"{folder}/empty", 1, "empty is empty\\n.*ulimit -c")
        refused(f"{folder}/fifo", 2, "cannot be read from a pipe")
        refused(folder, 1, "is no regular file")
        refused(f"{folder}/none", 4, "there is no file .*/none")
        refused("/bin/true", 1, "is a program or library, not a core file[\\s\\S]*--exe")
        refused(text, 2, "no directory", "--root", text)
        refused(text, 4, "--root: there is no directory .*/none", "--root", f"{folder}/none")


def test_a_core_that_may_not_be_read():
    need_program("setpriv")
    if os.geteuid() != 0:
        skip("needs root")
    with tempfile.NamedTemporaryFile(prefix="darter-core-") as core:
        os.chmod(os.path.dirname(core.name), 0o1777)
        done = darter("dump", "--core", core.name, wrap=["setpriv", "--reuid=65534", "--clear-groups"], check=3)
        assert re.search(f"may not be read\\n  Run it as root:\\n      .*darter dump --core {core.name}\\n$", done.stderr), done.stderr


def test_a_core_without_python():
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        sleeper = subprocess.Popen(["sleep", "1000"])
        try:
            wait_for(lambda: process_state(sleeper.pid) == "S", "sleep sleeps")
            core, _ = cores.gcore(sleeper.pid, folder)
        finally:
            sleeper.kill()
            sleeper.wait()
        refused(core, 4, rf"no Python interpreter is found in .*gcore\.\d+ \(process {sleeper.pid}, .*sleep.*\)\n$")


def test_options_that_exclude_each_other():
    for options in (["--core", "x", "1"], ["--core", "x", "--all"], ["--core", "x", "--every", "1"], ["--exe", "x"],
                    ["--root", "/", "1"]):
        done = darter("dump", *options, check=2)
        assert "--core" in done.stderr and not done.stdout, done
