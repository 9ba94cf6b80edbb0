"""C, C++ and Rust frames between those of Python: the merged stack is the known one."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import native
import schema
from recordings import stacks
from harness import SHAPES, SYSTEM, USABLE, darter, each, limit, need_program, process_state, target, wait_for

PYTHONS = [python for python in SHAPES if python.version >= (3, 8)]
PYTHONS += [python for python in USABLE if python.threaded and not python.debug and python not in PYTHONS][:1]


def shown(pid, *options, **how):
    document = json.loads(darter("dump", "--json", *options, pid, check=0, **how).stdout)
    schema.check(document, schema.load("dump"))
    return document["snapshots"][0]["threads"]


def main_thread(threads):
    return next(thread for thread in threads if thread["main"])


def names(thread, library):
    """Of Python, and of the library alone, without the library of its language."""
    return [frame["name"] for frame in thread["frames"]
            if not frame["native"] or (Path(frame["file"]).name == library.name and not (frame["name"] or "").startswith("std::"))]


def at_the_end(program, library, language="c", options=()):
    """The main thread, once it has come to the end of its chain of calls."""
    def look():
        thread = main_thread(shown(program.pid, "--native", *options))
        return thread if native.LANGUAGES[language][1]["leaf"][0] in names(thread, library) else None

    return wait_for(look, "the end of the chain")


@each(PYTHONS)
@each(["c", "cpp", "rs"])
@limit(300)
def test_the_chain_of_calls_is_the_known_one(python, language):
    python.demand()
    with tempfile.TemporaryDirectory(prefix="darter-native-", dir=f"{python.root}/tmp") as folder:
        os.chmod(folder, 0o755)
        library = native.library(language, folder)
        inside = str(library)[len(python.root):]
        for gil in ("holds", "releases"):
            for leaf in ("spins", "sleeps"):
                with target(python, "native_chain.py", inside, gil, leaf) as program:
                    thread = at_the_end(program, library, language)
                    case = f"{gil}, {leaf}: {thread}"
                    wanted, seen = native.chain(language, leaf == "sleeps"), names(thread, library)
                    if thread["native_missing"]:
                        # libffi keeps its frame in a register. Of a thread in a system call nobody knows what is in it,
                        # unless a function that was called since has saved it.
                        assert leaf == "sleeps" and "nothing tells who called" in thread["native_missing"], case
                        first = wanted.index("innermost")
                        assert seen[:first] == wanted[:first], case
                        assert seen[first:] == [name for name in wanted[first:] if name in native.PYTHON], case
                    else:
                        assert seen == wanted, case
                    assert not thread["torn"] and thread["proof"] in ("pause", "still"), case
                    assert not any(frame["name"] == "Py_RunMain" for frame in thread["frames"]), case
                    # Free-threaded builds have no GIL.
                    assert thread["gil"] == (gil == "holds") or python.threaded, case
                    assert all(frame["name"] != "?" for frame in thread["frames"]), case


def test_threads_without_python_are_shown():
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        with target(SYSTEM, "native_pool.py", native.pool(folder), 2, 3) as program:
            threads = shown(program.pid, "--native")
            foreign = [thread for thread in threads if thread["foreign"]]
            assert len(threads) == 6 and len(foreign) == 5, threads
            does = sorted(next(frame["name"] for frame in thread["frames"] if Path(frame["file"]).name == "libpool.so")
                          for thread in foreign)
            assert does == ["pool_compute"] * 2 + ["pool_wait"] * 3, foreign
            assert all(thread["ident"] == 0 and thread["tid"] and not thread["native_missing"] for thread in foreign), foreign
            assert {thread["state"] for thread in foreign} == {"running", "sleeping"}
            # Nobody is stopped: who runs has no frames then, and it is said why.
            quiet = [thread for thread in shown(program.pid, "--native", "--pause", "never") if thread["foreign"]]
            unseen = [thread for thread in quiet if thread["native_missing"]]
            assert len(quiet) == 5 and len(unseen) == 2, quiet
            assert all("not to be stopped" in thread["native_missing"] and not thread["frames"] for thread in unseen), unseen
            assert [thread for thread in shown(program.pid) if thread["foreign"]] == []
            text = darter("dump", "--native", program.pid, check=0).stdout
            assert text.count("pool_compute (libpool.so)") == 2 and text.count("pool_wait (libpool.so)") == 3, text


def test_what_is_shown_can_be_chosen():
    python = next(python for python in USABLE if python.shared and python.version >= (3, 12) and not python.root)
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        library = native.library("c", folder)
        with target(python, "native_chain.py", library, "holds", "spins") as program:
            at_the_end(program, library)

            def frames(*options):
                return [frame["name"] for frame in main_thread(shown(program.pid, *options))["frames"]]

            usual, leaf, all_ = frames("--native"), frames("--native=leaf"), frames("-n=all")
            assert "_PyEval_EvalFrameDefault" in all_ and "_PyEval_EvalFrameDefault" not in usual
            assert "Py_RunMain" in all_ and "Py_RunMain" not in usual
            assert set(leaf) < set(usual) < set(all_)
            assert leaf[:2] == ["chain_spin", "chain_leaf"] and "chain_outer" not in leaf, leaf
            assert [name for name in leaf if name in native.PYTHON] == native.PYTHON
            assert frames() == native.PYTHON
            wrong = darter("dump", "--native=some", program.pid, check=2).stderr
            assert "--native: 'some' is none of: all leaf" in wrong, wrong


def test_a_library_that_was_replaced_or_stripped():
    """The code that runs is that of the file which is still mapped, whatever has its name now."""
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        library = native.library("c", folder)
        with target(SYSTEM, "native_chain.py", library, "releases", "spins") as program:
            expected = names(at_the_end(program, library), library)
            assert expected == native.chain("c", False)
            library.unlink()
            library.write_bytes(b"\x7fELF" + b"\xff" * 4000)
            assert names(main_thread(shown(program.pid, "--native")), library) == expected
        library.unlink()
        native.library("c", folder)
        subprocess.run([need_program("strip"), "--strip-all", library], check=True)
        with target(SYSTEM, "native_chain.py", library, "releases", "spins") as program:
            at_the_end(program, library)
            stripped = names(main_thread(shown(program.pid, "--native")), library)
            assert stripped == [None if name == "chain_middle" else name for name in expected], stripped


def test_tables_are_kept_and_not_believed():
    """A table on disk that was damaged is made again; where none can be kept it works all the same."""
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        library = native.library("c", folder)
        with target(SYSTEM, "native_chain.py", library, "releases", "spins") as program:
            at_the_end(program, library)

            def look(cache):
                env = {"XDG_CACHE_HOME": str(cache)}
                assert names(main_thread(shown(program.pid, "--native", env=env)), library) == native.chain("c", False)

            cache = Path(folder) / "cache"
            cache.mkdir()
            look(cache)
            kept = {file.name: file.read_bytes() for file in (cache / "darter" / "unwind").iterdir()}
            assert kept and all(len(data) > 32 for data in kept.values())
            assert (cache / "darter" / "unwind").stat().st_mode & 0o777 == 0o700
            for name, data in kept.items():
                (cache / "darter" / "unwind" / name).write_bytes(data[:-5] + b"wrong")
            look(cache)
            assert {file.name: file.read_bytes() for file in (cache / "darter" / "unwind").iterdir()} == kept
            (cache / "darter" / "unwind").chmod(0o777)  # anybody may write there: not to be trusted
            for name, data in kept.items():
                (cache / "darter" / "unwind" / name).write_bytes(b"")
            look(cache)
            assert all(not file.read_bytes() for file in (cache / "darter" / "unwind").iterdir())
            look("/nowhere")


def test_nobody_is_left_stopped():
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        with target(SYSTEM, "native_pool.py", native.pool(folder), 3, 2) as program:
            for _ in range(10):
                shown(program.pid, "--native")
            states = [process_state(f"{program.pid}/task/{task.name}") for task in Path(f"/proc/{program.pid}/task").iterdir()]
            assert sorted(set(states)) == ["R", "S"], states


def recorded(folder, pid, *show):
    """[(names from the outermost on, microseconds)], the longest first."""
    file = Path(folder) / "a.darter"
    darter("record", "-q", "--native", "-d", "1.5", "-o", file, pid, check=0)
    found = [([re.sub(r" \([^()]*\)$", "", frame) for frame in path], weight) for path, weight in stacks(file, *show)]
    return sorted(found, key=lambda one: -one[1])


@each(PYTHONS)
@each(["c", "rs"])
def test_a_recording_has_the_known_chain(python, language):
    python.demand()
    with tempfile.TemporaryDirectory(prefix="darter-native-", dir=f"{python.root}/tmp") as folder:
        os.chmod(folder, 0o755)
        library = native.library(language, folder)
        with target(python, "native_chain.py", str(library)[len(python.root):], "releases", "spins") as program:
            at_the_end(program, library, language)
            found = recorded(folder, program.pid)
    known = set(native.chain(language, False))
    wanted = native.chain(language, False)[::-1]
    # On a busy machine it may not have been seen for most of the time; what was seen is the known chain.
    chains = [[name for name in names if name in known] for names, _ in found if wanted[-1] in names]
    assert chains and all(chain == wanted for chain in chains), found
    assert not any("Py_RunMain" in names for names, _ in found), found


def test_a_recording_has_threads_without_python():
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        with target(SYSTEM, "native_pool.py", native.pool(folder), 1, 2) as program:
            found = recorded(folder, program.pid, "--idle")
    times = {name: sum(weight for names, weight in found if name in names) for name in ("pool_compute", "pool_wait", "<module>")}
    assert times["pool_compute"] > 0 and times["pool_wait"] > 2e6 and times["<module>"] > 1e6, (times, found)
    assert not any("pool_compute" in names and "<module>" in names for names, _ in found)


def test_modules_are_read_again_while_it_is_recorded():
    """The vDSO has no file: what is known of it is kept from one reading of the map to the next."""
    with tempfile.TemporaryDirectory(prefix="darter-native-") as folder:
        with target(SYSTEM, "phases.py", "plain", 1000, 0) as program:
            file = Path(folder) / "a.darter"
            darter("record", "-q", "--native", "-d", "3.5", "-o", file, program.pid, check=0, env={"MALLOC_PERTURB_": "165"})
            assert "[vdso]" in darter("report", file, "-f", "folded", check=0).stdout


def test_native_frames_of_a_core_are_refused():
    refused = darter("dump", "--native", "--core", "/nowhere", check=2).stderr
    assert "--native is not possible with --core yet" in refused, refused
