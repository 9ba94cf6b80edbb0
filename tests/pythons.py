"""The Pythons of this machine: pyenv's, the system's, those of the Debian sid root of scripts/sid-root, and the builds
without the GIL, for debugging or with other options that scripts/ft-python makes.

Each is asked what it is; nothing is concluded from a path. Finding them takes a second, so the runner does it once and
hands the list to its children in the environment. The sid root is made if it is not there, unless DARTER_SID says
"look" (take it if it is there) or "no" (leave it alone). Building takes long: only `make test-full` does it, all others
take what is there.
"""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (2, 7)  # what darter reads
HANDED_DOWN = "DARTER_TEST_PYTHONS"
SID_VERSIONS = ("3.13", "3.14", "3.15")
BUILDS = ("2.7d", "3.11r", "3.13t", "3.14t", "3.14d")  # of scripts/ft-python; others of its cache directory are taken if they are there

# It answers and then waits, so that its memory map can be looked at: configuration variables do not say whether this very
# program has the interpreter linked in.
QUESTION = """
import json, platform, sys, sysconfig
print(json.dumps([list(sys.version_info[:3]), platform.python_version(), platform.python_implementation(),
                  bool(sysconfig.get_config_var("Py_GIL_DISABLED")), hasattr(sys, "gettotalrefcount"),
                  hasattr(sys, "getobjects")]))
sys.stdout.flush()
sys.stdin.read()
"""


class Python:
    """One Python of this machine.

    path     its program file, as seen inside root
    root     "" or the root directory to chroot into
    argv     what to put in front of a script (absolute path, as seen inside root) to run it
    version  (3, 12, 1)          text  "3.12.1", "3.15.0rc1"
    label    "3.12.1-shared", "3.11.2-static", "3.15.0rc1-sid", "3.14.4t-static", "3.14.4d-static", "3.11.2r-static"
    shared   the interpreter is in a libpython of its own
    threaded a build without the GIL
    debug    a build with assertions (--with-pydebug)
    traced   a build that has all objects in a list (--with-trace-refs; before 3.8 each one with assertions)
    with_gil the environment in which it uses a GIL
    usable   darter reads it
    missing  why it cannot be run here, or ""
    """

    def __init__(self, path, root="", version=(), text="", shared=False, threaded=False, missing="", debug=False,
                 traced=False):
        self.path, self.root, self.version, self.text = path, root, tuple(version), text
        self.shared, self.threaded, self.missing, self.debug, self.traced = shared, threaded, missing, debug, traced
        self.argv = ["chroot", root, path] if root else [path]
        flags = ("t" if threaded else "") + ("d" if debug else "r" if traced else "")
        kind = "sid" if root or (missing and not flags) else "shared" if shared else "static"
        self.label = f"{text}{flags}-{kind}"
        self.with_gil = {"PYTHON_GIL": "1"} if threaded else {}
        self.usable = self.version >= OLDEST

    def __repr__(self):
        return f"Python({self.label})"

    def demand(self):
        """Skips the test if this Python cannot be run here."""
        if self.missing:
            import harness

            harness.skip(self.missing)

    def stored(self):
        return {name: getattr(self, name)
                for name in ("path", "root", "version", "text", "shared", "threaded", "missing", "debug", "traced")}


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
            version, text, implementation, threaded, debug, traced = json.loads(process.stdout.readline())
            shared = "/libpython" in Path(f"/proc/{process.pid}/maps").read_text(errors="replace")
        except (OSError, ValueError):
            return None
    if implementation != "CPython":
        return None
    return Python(path, root, version, text, shared, threaded, debug=debug, traced=traced)


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
    named = re.compile(r"python[23]\.\d+t?d?$")
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


def built_pythons(make):
    """Those of scripts/ft-python; an entry that says why for each of BUILDS that is not there."""
    script = str(ROOT / "scripts" / "ft-python")

    def run(*args, **how):
        return subprocess.run([script, *args], stdout=subprocess.PIPE, text=True, **how).stdout.strip()

    folder = Path(run("--path", BUILDS[0])).parents[2]
    there = [path.parent.name for path in folder.glob("*/.complete")]
    found = []
    for build in [*BUILDS, *sorted(set(there) - set(BUILDS))]:
        made = make and build not in there and run(build)
        python = ask(run("--path", build)) if made or build in there else None
        why = f"no Python {build}: scripts/ft-python {build} builds it, which takes long (make test-full does)"
        if make:
            why = f"no Python {build}: scripts/ft-python {build} says why"
        text = build.rstrip("tdr")
        version = tuple(int(part) for part in text.split("."))
        found.append(python or Python(run("--path", build), "", version, text, threaded="t" in build, debug="d" in build,
                                      traced="r" in build or ("d" in build and version < (3, 8)), missing=why))
    return found


def find(make_sid, make_builds):
    return sorted(host_pythons() + sid_pythons(make_sid) + built_pythons(make_builds), key=lambda python: (python.version, python.label))


def load():
    handed = os.environ.get(HANDED_DOWN)
    if handed:
        return [Python(**entry) for entry in json.loads(handed)]
    wanted = os.environ.get("DARTER_SID") not in ("no", "look")
    found = find(make_sid=wanted, make_builds=wanted and os.environ.get("DARTER_FULL") == "1")
    os.environ[HANDED_DOWN] = json.dumps([python.stored() for python in found])
    return found


PYTHONS = load()  # all of them, 2.7 too
USABLE = [python for python in PYTHONS if python.usable]  # those that darter reads
# The one to take where the version does not matter: the system's own.
SYSTEM = next((python for python in USABLE if os.path.realpath(python.path) == os.path.realpath("/usr/bin/python3")
               and not python.root and not python.missing), USABLE[0] if USABLE else None)
