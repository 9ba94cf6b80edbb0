"""Interpreters inside of programs that are on PyPI: a web server that embeds Python, programs packed up with theirs."""

import copy
import hashlib
import json
import os
import socket
import tempfile
from pathlib import Path

import cores
import packages
import truths
from harness import TARGETS, children, darter, each, limit, target, wait_for

WORKERS, THREADS = 2, 3


def request(path):
    """Asks for a page, which never comes: the connection is kept open."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return connection


def merged(texts):
    """One truth per process out of one per request."""
    found = {}
    for text in texts:
        told = json.loads(text)
        whole = found.setdefault(told["pid"], {**told, "threads": []})
        whole["threads"] += told["threads"]
    return found


@limit(900)
@each(["one interpreter", "as it comes"])
def test_uwsgi(how):
    """Workers are forked by a master that has the interpreter already, and their threads are made in C."""
    server = copy.copy(packages.HOME)
    program_file = packages.package("uwsgi") / "uwsgi"
    with tempfile.TemporaryDirectory(prefix="darter-uwsgi-") as folder:
        address = f"{folder}/socket"
        server.argv = [program_file, "--master", "--no-orphans", "--processes", WORKERS, "--threads", THREADS,
                       "--http-socket", address, "--pythonpath", TARGETS, "--need-app", "--wsgi-file"]
        if how == "one interpreter":
            server.argv.insert(1, "--single-interpreter")
        with target(server, "truth_served.py", ready=None) as program:
            wait_for(lambda: os.path.exists(address) and len(children(program.pid)) == WORKERS, "workers that listen")
            connections = [request(address) for _ in range(WORKERS * THREADS)]
            wait_for(lambda: program.lines.count("ready") == len(connections), "all threads to have a request")
            truth = merged(line for line in program.lines if line.startswith("{"))
            assert sorted(truth) == sorted(children(program.pid)), truth
            for pid, told in truth.items():
                assert len(told["threads"]) == THREADS, told
                snapshot = truths.seen(pid)
                found = truths.differences(told, snapshot)
                assert not found, found
                assert snapshot["warnings"] == [], snapshot["warnings"]
            # A core of a worker tells the same.
            pid, told = min(truth.items())
            core, whole = cores.gcore(pid, folder)
            assert whole, "gdb could not read all of it"
            snapshot = truths.seen_core(core)
            found = truths.differences(told, snapshot, dead=True)
            assert not found and snapshot["pid"] == pid, (found, snapshot["pid"])
            listed = {one["pid"]: one for one in json.loads(darter("ps", "--json", check=0).stdout)["processes"]}
            assert all(listed[pid]["error"] is None for pid in truth), listed
            master = truths.seen(program.pid)
            assert not any(thread["frames"] for thread in master["threads"]), master
            for connection in connections:
                connection.close()


def packed(kind):
    """A program made by PyInstaller: the file to start."""
    script = TARGETS / "truth_frozen.py"
    sources = b"".join((TARGETS / name).read_bytes() for name in ("truth_frozen.py", "truth.py", "ages.py"))
    installer = packages.package("pyinstaller") / "pyinstaller"

    def make(path):
        packages.run("PyInstaller fails", installer, f"--{kind}", "--name", "app", "--paths", TARGETS, "--distpath", path / "made",
                     "--workpath", path / "work", "--specpath", path, "--log-level", "ERROR", script,
                     env={**os.environ, "PYINSTALLER_CONFIG_DIR": str(path / "config")})

    name = f"frozen-{kind}-{packages.HOME.label}-{hashlib.sha256(sources).hexdigest()[:12]}"
    folder = packages.made(name, make) / "made"
    return folder / "app" / "app" if kind == "onedir" else folder / "app"


@limit(900)
@each(["onedir", "onefile"])
def test_pyinstaller(kind):
    frozen = copy.copy(packages.HOME)
    frozen.argv = [str(packed(kind))]
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder, target(frozen, "truth_frozen.py") as program:
        # One file unpacks itself and starts what it has unpacked.
        pid = program.pid if kind == "onedir" else children(program.pid)[0]
        snapshot = truths.check(program, pid=pid)
        assert snapshot["warnings"] == [] and "libpython" in snapshot["library"], snapshot
        if kind == "onedir":
            assert snapshot["library"].startswith(str(Path(frozen.argv[0]).parent)), snapshot["library"]
        else:
            assert "/_MEI" in snapshot["library"], snapshot["library"]
            told = darter("dump", program.pid, check=4).stderr
            assert f"child {pid} looks like Python: give that one instead, or '--children'" in told, told
        core, whole = cores.gcore(pid, folder)
        assert whole, "gdb could not read all of it"
        found = truths.differences(truths.told(program), truths.seen_core(core), dead=True)
        assert not found, found
        if kind == "onefile":  # what was unpacked goes with the program, and is needed
            program.process.terminate()
            wait_for(lambda: not os.path.exists(snapshot["library"]), "the libraries to be gone")
            gone = darter("dump", "--core", core, check=1)
            assert snapshot["library"] in gone.stderr, gone.stderr
