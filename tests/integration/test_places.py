"""Targets in other namespaces, roots and rights, and a darter that may not do everything: the truth is the same."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import truths
from harness import BUILD, FULL, SYSTEM, TARGETS, USABLE, alone, children, darter, each, need_program, need_root, \
    process_state, skip, target, wait_for

NOBODY = 65534
# A shared and a static build, the newest, and one from before thread ids were kept: all of them in the full tier.
PYTHONS = USABLE if FULL else sorted({python.label: python for python in (USABLE[0], SYSTEM, USABLE[-1])}.values(),
                                     key=lambda python: python.version)
MIXED = "truth_frames.py"


def the_child(program):
    """The process that a wrapper started."""
    return wait_for(lambda: children(program.pid), "the wrapper has started the target")[0]


@each(PYTHONS)
def test_pid_namespace(python):
    need_root()
    wrap = [need_program("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child"]
    with target(python, MIXED, wrap=wrap) as program:
        snapshot = truths.check(program, pid=the_child(program))
        main = snapshot["threads"][0]
        assert main["ns_tid"] == 1 and main["tid"] == the_child(program), main


@each(PYTHONS)
def test_mount_namespace_with_a_program_that_only_exists_there(python):
    need_root()
    if python.root or python.missing:
        skip("the program file has to be copied: tried with the Pythons of this machine's own root")
    with tempfile.TemporaryDirectory() as folder:
        decoy = Path(folder, "hidden")
        decoy.write_text("not the file that the target runs\n")
        script = f'mount -t tmpfs none {folder} && cp "$0" {decoy} && exec {decoy} "$@"'
        code = "import sys; print(getattr(sys, 'base_prefix', sys.prefix))"
        prefix = subprocess.run([*python.argv, "-c", code], stdout=subprocess.PIPE, text=True)
        with target(python, MIXED, wrap=[need_program("unshare"), "--mount", "sh", "-c", script],
                    env={"PYTHONHOME": prefix.stdout.strip()}) as program:
            snapshot = truths.check(program)
            assert snapshot["executable"] == str(decoy), snapshot["executable"]


@each(PYTHONS)
def test_chroot(python):
    need_root()
    if python.root:
        skip("it lives in another root already: all tests of this Python are this test")
    with tempfile.TemporaryDirectory() as folder:
        script = f'mount --rbind / {folder} && exec chroot {folder} "$0" "$@"'
        with target(python, MIXED, wrap=[need_program("unshare"), "--mount", "sh", "-c", script]) as program:
            assert os.readlink(f"/proc/{program.pid}/root") == folder
            truths.check(program)


@each(PYTHONS)
def test_another_uid(python):
    need_root()
    with target(python, MIXED, env={"TRUTH_UID": str(NOBODY)}) as program:
        assert os.stat(f"/proc/{program.pid}/task").st_uid in (0, NOBODY)
        assert f"Uid:\t{NOBODY}" in Path(f"/proc/{program.pid}/status").read_text()
        truths.check(program)


def test_without_any_right_on_ones_own_program():
    """No capability at all, and the same user: what a developer has."""
    need_root()
    if SYSTEM.root or SYSTEM.missing:
        skip("needs a Python that every user can start")
    with contextlib.suppress(FileNotFoundError):
        if int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text()) > 0:
            skip("Yama lets nobody look into processes that are not descendants")
    plain = [need_program("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for file in [*TARGETS.glob("*.py"), BUILD / "darter"]:
            subprocess.run(["cp", file, folder], check=True)
        with target(SYSTEM, Path(folder, MIXED), wrap=plain) as program:
            truths.check(program, wrap=plain, build=folder)


@each(PYTHONS)
@each([["--user", "--map-root-user"],
       ["--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc", "--ipc", "--net", "--kill-child"]])
def test_user_namespace(python, namespaces):
    need_root()
    unshare = [need_program("unshare"), *namespaces]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        skip("user namespaces cannot be made here")
    with target(python, MIXED, wrap=unshare) as program:
        truths.check(program, pid=the_child(program) if "--fork" in namespaces else None)


@each(PYTHONS)
@each(["EPERM", "ENOSYS"])
def test_process_vm_readv_is_refused(python, refusal):
    wrap = [BUILD / "tests" / "hammer" / "refuse_vm", refusal]
    if subprocess.run([*wrap, "true"], capture_output=True).returncode == 77:
        skip("a seccomp filter cannot be set here")
    with target(python, MIXED) as program:
        truths.check(program, wrap=wrap)
    with target(python, "hammer.py", "single") as program:
        snapshot = truths.seen(program, wrap=wrap)
        assert snapshot["torn"] == 0 and snapshot["threads"][0]["frames"][-1]["name"] == "<module>", snapshot


@contextlib.contextmanager
def traced(pid):
    with subprocess.Popen([BUILD / "tests" / "hammer" / "tracer", str(pid)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                skip("a process cannot be traced here")
            yield process.pid
        finally:
            process.stdin.close()
            process.wait()


@each(PYTHONS)
def test_another_tracer_has_a_sleeping_target(python):
    with target(python, MIXED) as program, traced(program.pid):
        truths.check(program)


@each(PYTHONS)
@alone
def test_another_tracer_has_a_running_target(python):
    """With real-time priority, so that no perch is possible: a pause is what would be needed."""
    need_root()
    wrap = [need_program("chrt"), "--fifo", "1"]
    with target(python, "hammer.py", "single", wrap=wrap) as program:
        snapshot = truths.seen(program)
        assert snapshot["threads"][0]["proof"] == "pause" and snapshot["warnings"] == [], snapshot
        with traced(program.pid) as tracer:
            snapshot = truths.seen(program)
            assert snapshot["threads"][0]["proof"] in ("none", "agree"), snapshot
            assert any(f"traced by process {tracer} " in text for text in snapshot["warnings"]), snapshot["warnings"]
            assert process_state(program.pid) in "RS"


@each(PYTHONS)
def test_another_tracer_has_one_thread(python):
    """Not the main one, whose status would tell. When it has gone the thread can be paused again."""
    need_root()
    wrap = [need_program("chrt"), "--fifo", "1"]
    with target(python, "resumed_by_c.py", wrap=wrap) as program:
        def computing():
            return next((thread["tid"] for thread in truths.seen(program)["threads"]
                         if thread["frames"] and thread["frames"][-1]["name"] == "computes"), None)

        def proof(snapshot):
            return next(thread["proof"] for thread in snapshot["threads"] if thread["tid"] == tid)

        tid = wait_for(computing, "it computes")
        assert tid != program.pid
        with traced(tid) as tracer:
            snapshot = truths.seen(program)
            assert proof(snapshot) in ("none", "agree"), snapshot
            assert any(f"traced by process {tracer} " in text for text in snapshot["warnings"]), snapshot["warnings"]
        snapshot = truths.seen(program)
        assert proof(snapshot) == "pause" and snapshot["warnings"] == [], snapshot


def stays(pid, letter):
    return all(process_state(task.name) == letter for task in Path(f"/proc/{pid}/task").iterdir())


@each(PYTHONS)
@each(["truth_frames.py", "hammer.py"])
def test_a_stopped_target_is_read_and_stays_stopped(python, script):
    with target(python, script, *(["threads"] if script == "hammer.py" else [])) as program:
        os.kill(program.pid, signal.SIGSTOP)
        wait_for(lambda: stays(program.pid, "T"), "all threads are stopped")
        if script == "hammer.py":
            shown = [truths.seen(program) for _ in range(2)]
            assert all(snapshot["torn"] == 0 for snapshot in shown), shown
            one, other = ([truths.stack(thread) for thread in snapshot["threads"]] for snapshot in shown)
            assert one == other and any(one), (one, other)
            assert {thread["state"] for snapshot in shown for thread in snapshot["threads"]} == {"stopped"}, shown
        else:
            truths.check(program)
        assert stays(program.pid, "T")
        os.kill(program.pid, signal.SIGCONT)
        wait_for(lambda: process_state(program.pid) in ("R", "S"), "it goes on")


def removed(group):
    with contextlib.suppress(OSError):  # busy until the last thread in it has ended
        group.rmdir()
    return not group.exists()


@contextlib.contextmanager
def frozen(pid):
    """In a cgroup of its own that is frozen: the unified hierarchy, or the freezer of the old ones."""
    for base, switch, on, off, file, done in (
            ("/sys/fs/cgroup", "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
            ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN")):
        group = Path(base, f"darter-test-{pid}")
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / switch).exists():
            break
        removed(group)
    else:
        skip("no cgroup can be frozen here")
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / switch).write_text(on)
        wait_for(lambda: done in (group / file).read_text(), "the cgroup is frozen")
        yield
    finally:
        (group / switch).write_text(off)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: removed(group), "the cgroup is empty")


@each(PYTHONS)
def test_a_frozen_target(python):
    need_root()
    with target(python, MIXED) as program, frozen(program.pid):
        truths.check(program)


@each(PYTHONS)
def test_a_frozen_target_that_was_running(python):
    need_root()
    with target(python, "hammer.py", "single") as program, frozen(program.pid):
        snapshot = truths.seen(program)
        assert snapshot["torn"] == 0 and snapshot["threads"][0]["frames"], snapshot


@each(PYTHONS)
def test_a_process_whose_main_thread_has_ended(python):
    """It is a zombie with threads: everything is read through one of those, and ps lists it."""
    with target(python, "headless.py") as program:
        wait_for(lambda: process_state(program.pid) == "Z", "the main thread has ended")

        # The call that it is in is asked for behind the stack: before it sleeps for good, these may be of two moments.
        def survivor():
            thread = next(thread for thread in truths.seen(program)["threads"] if thread["name"] == "survivor")
            return thread if thread["state"] == "sleeping" and thread["frames"][0]["name"] == "survive" else None

        thread = wait_for(survivor, "the other thread sleeps in the function that does so")
        assert thread["proof"] == "still", thread
        states = {thread["name"]: thread["state"] for thread in truths.seen(program)["threads"]}
        assert all(state == "unknown" for name, state in states.items() if name != "survivor"), states
        listed = json.loads(darter("ps", "--json").stdout)["processes"]
        assert any(process["pid"] == program.pid and process["doing"] for process in listed), listed
