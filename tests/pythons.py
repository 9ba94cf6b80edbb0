"""The Pythons of this machine: pyenv's, the system's, and those of the Debian sid root of scripts/sid-root.

Each is asked what it is; nothing is concluded from a path. Finding them takes a second, so the runner does it once and
hands the list to its children in the environment. The sid root is made if it is not there, unless DARTER_SID says
"look" (take it if it is there) or "no" (leave it alone).
"""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 8)  # what darter reads
HANDED_DOWN = "DARTER_TEST_PYTHONS"
SID_VERSIONS = ("3.13", "3.14", "3.15")

# It answers and then waits, so that its memory map can be looked at: configuration variables do not say whether this very
# program has the interpreter linked in.
QUESTION = """
import json, platform, sys, sysconfig
print(json.dumps([list(sys.version_info[:3]), platform.python_version(), platform.python_implementation(),
                  bool(sysconfig.get_config_var("Py_GIL_DISABLED"))]))
sys.stdout.flush()
sys.stdin.read()
"""


class Python:
    """One Python of this machine.

    path     its program file, as seen inside root
    root     "" or the root directory to chroot into
    argv     what to put in front of a script (absolute path, as seen inside root) to run it
    version  (3, 12, 1)          text  "3.12.1", "3.15.0rc1"
    label    "3.12.1-shared", "3.11.2-static", "3.15.0rc1-sid"
    shared   the interpreter is in a libpython of its own
    threaded a build without the GIL
    usable   darter reads it
    missing  why it cannot be run here, or ""
    """

    def __init__(self, path, root="", version=(), text="", shared=False, threaded=False, missing=""):
        self.path, self.root, self.version, self.text = path, root, tuple(version), text
        self.shared, self.threaded, self.missing = shared, threaded, missing
        self.argv = ["chroot", root, path] if root else [path]
        kind = "sid" if root or missing else "shared" if shared else "static"
        self.label = f"{text}{'t' if threaded else ''}-{kind}"
        self.usable = self.version >= OLDEST and not threaded

    def __repr__(self):
        return f"Python({self.label})"

    def demand(self):
        """Skips the test if this Python cannot be run here."""
        if self.missing:
            import harness

            harness.skip(self.missing)

    def stored(self):
        return {name: getattr(self, name)
                for name in ("path", "root", "version", "text", "shared", "threaded", "missing")}


def ask(path, root=""):
    """A Python object for a program, or None if it is no CPython that starts."""
    argv = ["chroot", root, path] if root else [path]
    try:
        process = subprocess.Popen([*argv, "-S", "-c", QUESTION], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    with process:
        try:
            version, text, implementation, threaded = json.loads(process.stdout.readline())
            shared = "/libpython" in Path(f"/proc/{process.pid}/maps").read_text(errors="replace")
        except (OSError, ValueError):
            return None
    if implementation != "CPython":
        return None
    return Python(path, root, version, text, shared, threaded)


def pyenv_programs():
    root = os.environ.get("PYENV_ROOT")
    if not root:
        try:
            root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, timeout=60).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            root = ""
    versions = Path(root or Path.home() / ".pyenv") / "versions"
    return sorted(versions.glob("*/bin/python")) if versions.is_dir() else []


def host_pythons():
    named = re.compile(r"python[23]\.\d+t?$")
    system = [path for folder in ("/usr/bin", "/usr/local/bin") if os.path.isdir(folder)
              for path in sorted(Path(folder).iterdir()) if named.match(path.name)]
    seen, found = set(), []
    for path in [*pyenv_programs(), *system]:
        real = os.path.realpath(path)
        if real in seen or not os.access(path, os.X_OK):
            continue
        seen.add(real)
        python = ask(str(path))
        if python:
            found.append(python)
    return found


def sid_pythons(make):
    """Those of the sid root; where there is none, entries that say why, so that skipped tests are counted."""
    script = str(ROOT / "scripts" / "sid-root")
    if os.environ.get("DARTER_SID") == "no":
        why, root = "the sid root was not wanted (DARTER_SID=no)", ""
    else:
        there = subprocess.run([script, "--check"]).returncode == 0
        done = subprocess.run([script] if make or there else [script, "--path"], stdout=subprocess.PIPE,
                              stderr=None if make and not there else subprocess.PIPE, text=True)
        root = done.stdout.strip() if done.returncode == 0 and (make or there) else ""
        why = "no Debian sid root (scripts/sid-root says why)"
        if root and os.geteuid() != 0:
            root, why = "", "entering the Debian sid root needs root"
    found = []
    for version in SID_VERSIONS:
        python = ask(f"/usr/bin/python{version}", root) if root else None
        numbers = [int(part) for part in version.split(".")]
        found.append(python or Python(f"/usr/bin/python{version}", "", numbers, version,
                                      missing=why if not root else f"python{version} does not start in {root}"))
    return found


def find(make_sid):
    return sorted(host_pythons() + sid_pythons(make_sid), key=lambda python: (python.version, python.label))


def load():
    handed = os.environ.get(HANDED_DOWN)
    if handed:
        return [Python(**entry) for entry in json.loads(handed)]
    found = find(make_sid=os.environ.get("DARTER_SID") not in ("no", "look"))
    os.environ[HANDED_DOWN] = json.dumps([python.stored() for python in found])
    return found


PYTHONS = load()  # all of them, 2.7 too
USABLE = [python for python in PYTHONS if python.usable]  # those that darter reads
# The one to take where the version does not matter: the system's own.
SYSTEM = next((python for python in USABLE if os.path.realpath(python.path) == os.path.realpath("/usr/bin/python3")
               and not python.root and not python.missing), USABLE[0] if USABLE else None)
