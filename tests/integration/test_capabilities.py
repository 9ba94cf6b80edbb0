"""docs/permissions.md, "Another user's process": a group of people uses darter without sudo. The lines are typed as they
stand there, but for sudo, the group and the place of the program."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, ROOT, SYSTEM, darter, each, need_program, need_root, skip, target, wait_for

NOBODY = 65534
GROUP = 12345
INSTALLED = "/usr/local/bin/darter"
PTRACE, DAC_READ_SEARCH, NICE = 1 << 19, 1 << 2, 1 << 23


def someone(*groups):
    """An ordinary user who is a member of these groups. setpriv itself keeps root's rights until it starts a program: the
    second one is started without any."""
    more = [f"--groups={','.join(map(str, groups))}"] if groups else ["--clear-groups"]
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", *more, "env"]


MEMBER, STRANGER = someone(GROUP), someone()


def recipe():
    """The lines of the page, with the name of the group and the path of the program."""
    page = (ROOT / "docs" / "permissions.md").read_text()
    (block,) = [block for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "setcap" in block]
    group = re.search(r"^sudo chgrp (\S+) ", block, re.MULTILINE).group(1)
    return block.splitlines(), group


def follow(program):
    lines, group = recipe()
    for line in lines:
        words = line.split()
        assert words[0] == "sudo" and words[-1] == INSTALLED, line
        words = [str(GROUP) if word == group else str(program) if word == INSTALLED else word for word in words[1:]]
        done = subprocess.run([need_program(words[0]), *words[1:]], capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)


def need_file_capabilities(folder):
    """The kernel, the file system and this process's own bounding set must all allow them."""
    probe = Path(folder, "probe")
    shutil.copy(need_program("cat"), probe)
    capabilities = next(word for line in recipe()[0] for word in line.split() if word.startswith("cap_"))
    if subprocess.run([need_program("setcap"), capabilities, probe], capture_output=True).returncode != 0:
        skip("file capabilities cannot be set here")
    done = subprocess.run([*STRANGER, probe, "/proc/self/status"], capture_output=True, text=True)
    mine = re.search(r"^CapEff:\s*(\S+)$", done.stdout, re.MULTILINE)
    wanted = PTRACE | DAC_READ_SEARCH | NICE
    if not mine or int(mine[1], 16) & wanted != wanted:
        skip("file capabilities have no effect here")


@contextlib.contextmanager
def installed():
    """A copy of darter where every user can reach it."""
    need_root()
    need_program("setpriv")
    with tempfile.TemporaryDirectory(prefix="darter-") as folder:
        os.chmod(folder, 0o755)
        need_file_capabilities(folder)
        shutil.copy(BUILD / "darter", folder)
        yield folder


def shown(pid, folder, who):
    (snapshot,) = json.loads(darter("dump", pid, "--json", check=0, wrap=who, build=folder).stdout)["snapshots"]
    return snapshot


@each(["sleeper.py", "hammer.py"])
def test_the_recipe_for_a_group(script):
    arguments = ["single"] if script == "hammer.py" else []
    with installed() as folder, target(SYSTEM, script, *arguments) as program:
        before = darter("dump", program.pid, check=3, wrap=MEMBER, build=folder)
        assert "(uid 0) and you are " in before.stderr and "without CAP_SYS_PTRACE" in before.stderr, before.stderr
        # A container engine has its own words for it; elsewhere it is this command, with sudo where there is one.
        assert "\n  " in before.stderr, before.stderr
        if "Run it as root:" in before.stderr:
            assert re.search(rf"^ +\S.*darter dump {program.pid}$", before.stderr, re.MULTILINE), before.stderr
        assert before.stdout == "", before.stdout

        follow(Path(folder, "darter"))

        def asleep():
            (thread,) = shown(program.pid, folder, MEMBER)["threads"]
            return thread["frames"][0]["name"] == "nap" and thread["state"] == "sleeping" and thread
        if script == "sleeper.py":
            thread = wait_for(asleep, "the nap is seen")
            assert thread["proof"] == "still" and thread["syscall"], thread
        else:
            snapshot = shown(program.pid, folder, MEMBER)
            (thread,) = snapshot["threads"]
            assert snapshot["torn"] == 0 and thread["proof"] in ("still", "perch", "pause"), snapshot
            assert thread["frames"][-1]["name"] == "<module>", thread
        processes = json.loads(darter("ps", "--json", check=0, wrap=MEMBER, build=folder).stdout)["processes"]
        (process,) = [process for process in processes if process["pid"] == program.pid]
        assert process["error"] is None and process["doing"], process


def test_the_recipe_is_for_the_group_alone():
    with installed() as folder, target(SYSTEM, "sleeper.py") as program:
        follow(Path(folder, "darter"))
        for who in (MEMBER, STRANGER):
            done = subprocess.run([*who, f"{folder}/darter", "dump", str(program.pid)], capture_output=True, text=True)
            assert (done.returncode == 0) == (who is MEMBER), (who, done)
            assert bool(done.stdout) == (who is MEMBER), (who, done)
        assert "Permission denied" in done.stderr, done.stderr
