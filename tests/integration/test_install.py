"""`make install` into a scratch directory, and a C program that is built against what is there."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, SYSTEM, TARGETS, alone, limit, need_program, target


def run(*argv, **kwargs):
    done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=250, stdin=subprocess.DEVNULL, **kwargs)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}"
    return done.stdout


def commands(program):
    """The commands that darter's help lists."""
    return re.findall(r"^  ([a-z][a-z-]+)  ", run(program, "help"), re.MULTILINE)


@alone  # it uses the one build-install directory
@limit(600)
def test_installed_files_serve_a_c_program():
    need_program("pkg-config")
    with tempfile.TemporaryDirectory() as scratch:
        staging = Path(scratch) / "staging"
        run("make", "--no-print-directory", "install", f"DESTDIR={staging}", "PREFIX=/opt/darter", cwd=ROOT)
        prefix = staging / "opt" / "darter"
        installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
        names = {os.path.basename(name) for name in installed}
        assert "bin/darter" in installed and "include/darter/darter.h" in installed, installed
        assert {"libdarter.a", "libdarter.so", "libdarter.so.0", "darter.pc"} <= names, installed
        assert {"darter.bash", "darter", "_darter", "darter.fish"} & names and "_darter" in names, installed
        assert "darter.fish" in names and "share/man/man1/darter.1" in installed, installed
        for command in commands(prefix / "bin" / "darter"):
            assert f"share/man/man1/darter-{command}.1" in installed or command in ("help", "version"), command

        pc = next(prefix.rglob("darter.pc"))
        env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(staging)}
        flags = run("pkg-config", "--cflags", "--libs", "darter", env=env).split()
        program = Path(scratch) / "use_library"
        run("cc", "-Wall", "-Werror", TARGETS / "use_library.c", "-o", program, *flags)
        library = {**os.environ, "LD_LIBRARY_PATH": str(pc.parent.parent)}
        version = run("pkg-config", "--modversion", "darter", env=env).strip()
        assert run(program, env=library) == f"version {version}\n"
        with target(SYSTEM, "sleeper.py") as sleeper:
            assert "nap" in run(program, sleeper.pid, env=library)
            assert "nap" in run(prefix / "bin" / "darter", "dump", sleeper.pid)

        # Only what the header promises leaves the shared library.
        table = run("nm", "-D", "--defined-only", next(prefix.rglob("libdarter.so")))
        symbols = {line.split()[-1] for line in table.splitlines()}
        promised = set(re.findall(r"\b(dt_\w+)\(", (ROOT / "include" / "darter" / "darter.h").read_text()))
        assert symbols and symbols <= promised, symbols - promised
