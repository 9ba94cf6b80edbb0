"""bench/RESULTS.md: one section per figure, with day, commit and machine; the next run replaces it."""

import datetime
import fcntl
import os
import subprocess
from pathlib import Path

HEADING = ("# Results\n\nWritten by `make test-full` and `make bench`. Each section says when, at which commit and on what "
           "machine.\n")


def commit_of(folder):
    """The short commit, with "+" if the tree has changes beside the results themselves."""
    def git(*args):
        return subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    changed = [line for line in git("status", "--porcelain", "--untracked-files=no").splitlines()
               if not line.endswith("bench/RESULTS.md")]
    return commit + ("+" if changed else "")


def machine():
    """The processor, the cores that may be used, the kernel."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else "unknown processor"
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} {'core' if cores == 1 else 'cores'}, Linux {os.uname().release}"


def replace_section(document, name, body):
    """The document with its section `## name` replaced, or added at the end."""
    head, *sections = ("\n" + (document or HEADING)).split("\n## ")
    kept = {section.split("\n", 1)[0]: section for section in sections}
    kept[name] = f"{name}\n{body}"
    parts = [head.strip("\n")] + ["## " + section.strip("\n") for section in kept.values()]
    return "\n\n".join(parts) + "\n"


def record(path, name, text):
    path.parent.mkdir(exist_ok=True)
    with open(path.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        old = path.read_text() if path.exists() else ""
        day = datetime.date.today().isoformat()
        new = replace_section(old, name, f"{day}, commit {commit_of(path.parent)}; {machine()}\n\n{text.strip()}\n")
        scratch = path.with_suffix(".new")
        scratch.write_text(new)
        os.replace(scratch, path)
