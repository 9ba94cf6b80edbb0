"""Real refusals: each reason that this kernel can be made to have, and the words that come with it.

Yama, AppArmor and SELinux cannot be switched on for a test; tests/unit/test_refusal.c judges them on evidence made by
hand.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, SYSTEM, darter, need_program, need_root, skip, target, wait_for

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
WITHOUT_PTRACE = ["setpriv", "--bounding-set=-sys_ptrace"]
AS_ALICE = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
WITHOUT = "without CAP_SYS_PTRACE"


def who(uid):
    """The words for a user."""
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def need():
    need_root()
    need_program("setpriv")


@contextlib.contextmanager
def program(*argv):
    """A process that sleeps, as host pid."""
    process = subprocess.Popen([*argv, "sleep", "1000"])
    try:
        wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "sleep is started")
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def open_to_all(*names):
    """A directory that every user can enter, with copies of built programs: the build directory may be closed to them."""
    with tempfile.TemporaryDirectory(prefix="darter-") as folder:
        os.chmod(folder, 0o755)
        for name in names:
            shutil.copy(BUILD / name, folder)
        yield Path(folder)


def may_open_memory(wrap, pid):
    return subprocess.run([*wrap, "sh", "-c", f": </proc/{pid}/mem"], stderr=subprocess.DEVNULL).returncode == 0


def explain(wrap, *args, env=None):
    """What tests/hammer/refuse says: a dictionary of code, message, short and hint."""
    with open_to_all("tests/hammer/refuse") as folder:
        out = subprocess.run([*wrap, str(folder / "refuse"), *map(str, args)], check=True, capture_output=True, text=True,
                             timeout=60, env={**os.environ, **(env or {})}).stdout
    said = {}
    for name, following in (("code", "message"), ("message", "short"), ("short", "hint"), ("hint", None)):
        before, out = out.split(f"{name}\n", 1)
        assert not before, before
        said[name], rest = out.split(f"\n{following}\n", 1) if following else (out.rstrip("\n"), "")
        out = f"{following}\n{rest}" if following else ""
    return said


def refused(wrap, pid, env=None):
    """The same for a process that the kernel really refuses."""
    assert not may_open_memory(wrap, pid), "the kernel allows it"
    said = explain(wrap, pid, env=env)
    assert said["code"] == "-3", said
    return said


def test_another_users_process():
    need()
    with program() as pid:
        said = refused(AS_NOBODY, pid)
    assert said["message"] == f"process {pid} belongs to {who(0)} and you are {who(NOBODY)} {WITHOUT}", said
    assert said["short"] == "owned by root", said
    first, line = said["hint"].split("\n")[:2]
    if first == "Run it as root:":  # the bounding set of this test may lack the capability: then sudo is not the answer
        assert line.startswith("    ") and line.endswith(f"/refuse {pid}"), said


def test_root_without_the_capability_in_a_pod():
    need()
    with program(*AS_NOBODY) as pid:
        said = refused(WITHOUT_PTRACE, pid, env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert said["message"] == f"process {pid} belongs to {who(NOBODY)} and you are {who(0)} {WITHOUT}", said
    assert said["short"] == "needs CAP_SYS_PTRACE", said
    yaml = '    securityContext:\n      capabilities:\n        add: ["SYS_PTRACE"]\n'
    assert yaml in said["hint"] and "    shareProcessNamespace: true\n" in said["hint"], said
    assert f"kubectl debug -it {os.uname().nodename[:63]} --profile=general" in said["hint"], said


def test_a_process_with_more_capabilities():
    need()
    with program() as pid:
        said = refused(WITHOUT_PTRACE, pid)
    assert said["message"].startswith(f"process {pid} has your user, but also capabilities that you lack"), said
    assert said["short"] == "has capabilities that you lack", said


def test_another_group():
    need()
    with program("setpriv", f"--reuid={NOBODY}", "--regid=12345", "--clear-groups") as pid:
        said = refused(AS_NOBODY, pid)
    assert f"its group ids are 12345, 12345, 12345 and yours is {NOBODY}" in said["message"], said
    assert said["short"] == "has other groups than you", said


def test_a_process_that_changed_its_user():
    need()
    with program("setpriv", f"--ruid={NOBODY}", f"--rgid={NOBODY}", "--clear-groups") as pid:
        said = refused(AS_NOBODY, pid)
    assert said["message"].startswith(f"process {pid} was started by you and now has the rights of {who(0)}"), said
    assert said["short"] == "runs as root", said


def test_a_process_that_is_not_dumpable():
    need()
    hide = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', flush=True); time.sleep(1000)"
    with target(SYSTEM, "sleeper.py", wrap=AS_NOBODY, options=["-c", hide]) as sleeper:
        said = refused(AS_NOBODY, sleeper.pid)
    assert said["message"].startswith(f"process {sleeper.pid} has your user, but is not dumpable"), said
    assert said["short"] == "not dumpable", said
    assert "prctl(4, 1, 0, 0, 0)" in said["hint"], said


def test_out_of_a_user_namespace():
    need()
    inside = [need_program("unshare"), "-U", "-r"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("user namespaces cannot be made here")
    with program() as pid:
        said = refused(inside, pid)
        assert said["short"] == "outside of your user namespace", said
        assert said["message"].endswith("(you are root in here only)"), said
        # A user that is not mapped into the namespace.
        said = refused([*AS_NOBODY, *inside], pid)
        assert said["short"] == "outside of your user namespace", said
    with program(*AS_ALICE) as pid:
        said = refused([*AS_ALICE, *inside], pid)
        if not YAMA.exists() or YAMA.read_text() == "0\n":
            assert said["hint"].split("\n")[1].startswith("    /"), said  # the command without sudo


def test_a_system_call_filter():
    need_root()
    with program() as pid:
        said = explain([], "--filter", pid)
    assert said["short"] == "refused by seccomp", said
    assert f"refuses process_vm_readv, and /proc/{pid}/mem could not be read instead" in said["message"], said


def test_a_proc_that_hides():
    need()
    mount = [need_program("unshare"), "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    if subprocess.run([*mount, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("/proc cannot be mounted here")
    with program() as pid, open_to_all("darter") as folder:
        said = refused([*mount, *AS_NOBODY], pid)
        message = f"process {pid} is not yours, and /proc hides the processes of others (hidepid=2)"
        assert said["message"] == message, said
        assert message in darter("dump", pid, check=3, wrap=[*mount, *AS_NOBODY], build=folder).stderr


def test_a_process_that_ended():
    ended = subprocess.Popen(["true"])
    ended.wait()
    said = explain([], ended.pid)
    assert (said["code"], said["message"], said["short"]) == ("-6", f"process {ended.pid} has ended", "ended"), said


def test_the_command_says_it_and_exits_with_3():
    need()
    with target(SYSTEM, "sleeper.py") as sleeper, open_to_all("darter") as folder:
        done = darter("dump", sleeper.pid, check=3, wrap=AS_NOBODY, build=folder)
    assert done.stdout == "", done.stdout
    assert f"process {sleeper.pid} belongs to {who(0)} and you are {who(NOBODY)} {WITHOUT}" in done.stderr, done.stderr
    if "Run it as root:" in done.stderr:
        assert f"darter dump {sleeper.pid}\n" in done.stderr, done.stderr
