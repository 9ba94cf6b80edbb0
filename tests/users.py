"""An ordinary user, who has no right but that to his own processes: to start a Python as him, and to look as him."""

import contextlib
import copy
import os
import shutil
import stat
import tempfile
from pathlib import Path

from harness import TARGETS, need_program, need_root, skip

NOBODY = 65534
# A home that is closed to others is covered by an empty one in which only the folder of a Python is to be seen.
UNCOVER = """
home=$1 folder=$2 aside=$3; shift 3
mount --bind "$folder" "$aside" && mount -t tmpfs -o mode=755 none "$home" && mkdir -p "$folder" &&
mount --bind "$aside" "$folder" && exec "$@"
"""


def need_ordinary_user():
    need_root()
    need_program("setpriv")
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and int(scope.read_text()) > 0:
        skip("Yama lets nobody look into processes that are not descendants")


def closed(path):
    """The outermost folder on the way to a file that others may not enter, or None."""
    return next((folder for folder in reversed(Path(path).parents) if not folder.stat().st_mode & stat.S_IXOTH), None)


class Ordinary:
    """wrap: what is put before a program; folder: where he can read targets, and programs that are copied there."""

    wrap = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

    def __init__(self, folder):
        self.folder = folder

    def copied(self, program):
        return shutil.copy(program, self.folder)

    def script(self, name):
        return self.folder / "targets" / name

    def python(self, python):
        """The same Python, started as him."""
        mine = copy.copy(python)
        home = None if python.root else closed(python.path)
        if python.root:
            mine.argv = ["chroot", f"--userspec={NOBODY}:{NOBODY}", python.root, python.path]
        elif home:
            aside = self.folder / "aside"
            aside.mkdir(exist_ok=True)
            mine.argv = [need_program("unshare"), "-m", "sh", "-c", UNCOVER, "sh", str(home),
                         str(Path(python.path).parents[1]), str(aside), *self.wrap, python.path]
        else:
            mine.argv = [*self.wrap, python.path]
        return mine


@contextlib.contextmanager
def ordinary_user():
    need_ordinary_user()
    with tempfile.TemporaryDirectory(prefix="darter-user-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copytree(TARGETS, Path(folder) / "targets", ignore=shutil.ignore_patterns("__pycache__"))
        yield Ordinary(Path(folder))
