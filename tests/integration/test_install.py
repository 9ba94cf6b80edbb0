"""`make install` into a scratch directory, and a C program that is built against what is there."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, SYSTEM, TARGETS, alone, copy_repository, limit, need_program, need_root, target, wait_for


def run(*argv, **kwargs):
    done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=250, stdin=subprocess.DEVNULL, **kwargs)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}"
    return done.stdout


def program_of_the_manual():
    """The C program that docs/library.md shows."""
    return re.search(r"^```c\n(.*?)^```$", (ROOT / "docs" / "library.md").read_text(), re.MULTILINE | re.DOTALL).group(1)


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
        # Not lib64 nor lib/ARCH: below /usr/local this is where ld.so and pkg-config look on every system.
        assert {"lib/libdarter.a", "lib/libdarter.so", "lib/libdarter.so.0", "lib/pkgconfig/darter.pc"} <= installed
        assert "bin/darter" in installed and "include/darter/darter.h" in installed, installed
        assert {"darter.bash", "darter", "_darter", "darter.fish"} & names and "_darter" in names, installed
        assert "darter.fish" in names and "share/man/man1/darter.1" in installed, installed
        for command in commands(prefix / "bin" / "darter"):
            assert f"share/man/man1/darter-{command}.1" in installed or command in ("help", "version"), command

        env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
               "PKG_CONFIG_SYSROOT_DIR": str(staging)}
        flags = run("pkg-config", "--cflags", "--libs", "darter", env=env).split()
        program = Path(scratch) / "use_library"
        run("cc", "-Wall", "-Werror", TARGETS / "use_library.c", "-o", program, *flags)
        library = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
        version = run("pkg-config", "--modversion", "darter", env=env).strip()
        assert run(program, env=library) == f"version {version}\n"
        with target(SYSTEM, "sleeper.py") as sleeper:
            wait_for(lambda: "nap" in run(program, sleeper.pid, env=library), "the library to see the nap")
            wait_for(lambda: "nap" in run(prefix / "bin" / "darter", "dump", sleeper.pid), "darter to see the nap")

        # Only what the header promises leaves the shared library.
        table = run("nm", "-D", "--defined-only", prefix / "lib" / "libdarter.so")
        symbols = {line.split()[-1] for line in table.splitlines()}
        promised = set(re.findall(r"\b(dt_\w+)\(", (ROOT / "include" / "darter" / "darter.h").read_text()))
        assert symbols and symbols <= promised, symbols - promised


@alone  # it uses the one build-install directory
@limit(600)
def test_the_program_of_the_manual_builds_with_nothing_but_the_pkg_config_path():
    need_program("pkg-config")
    with tempfile.TemporaryDirectory() as scratch:
        prefix, source, program = Path(scratch) / "prefix", Path(scratch) / "holder.c", Path(scratch) / "holder"
        run("make", "--no-print-directory", "install", "DESTDIR=", f"PREFIX={prefix}", cwd=ROOT)
        source.write_text(program_of_the_manual())
        env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        run("sh", "-c", 'cc "$1" -o "$2" $(pkg-config --cflags --libs darter)', "sh", source, program, env=env)
        library = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
        with target(SYSTEM, "sleeper.py") as sleeper:
            wait_for(lambda: "nap" in run(program, sleeper.pid, env=library), "the library to see the nap")


@limit(600)
def test_sudo_leaves_the_checkout_to_its_owner():
    """`sudo make install` in a user's checkout: the user can build there afterwards, and clean it."""
    need_root()
    user = [need_program("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        checkout, staging = Path(scratch) / "checkout", Path(scratch) / "staging"
        copy_repository(checkout)
        run("chown", "-R", "65534:65534", checkout)
        run("make", "--no-print-directory", "install", f"DESTDIR={staging}", cwd=checkout)
        assert (staging / "usr/local/bin/darter").stat().st_uid == 0
        assert (checkout / "build-install").stat().st_uid == 65534
        run(*user, "make", "--no-print-directory", "install", f"DESTDIR={checkout / 'mine'}", "PREFIX=/opt", cwd=checkout)
        assert (checkout / "mine/opt/bin/darter").stat().st_uid == 65534
        run(*user, "make", "clean", cwd=checkout)
        assert not (checkout / "build-install").exists()
