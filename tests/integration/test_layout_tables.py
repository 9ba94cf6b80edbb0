"""The layout tables are what CPython's headers say, and so is what debug offsets are turned into."""

import subprocess
import sys
from pathlib import Path

from harness import PYTHONS, ROOT, USABLE, each, skip, visible
from layouts import compiled, fields, layout_of, live_table, understood

GENERATE = ROOT / "scripts" / "gen-layout"
TABLED = [python for python in USABLE if python.version < (3, 13)]
DESCRIBED = [python for python in PYTHONS if python.version >= (3, 13)]
# What is compiled in (a JIT, statistics) and the patch version change the sizes by a few bytes, and nothing that is read;
# how wide a character of 2.7 is, is asked of each process.
BUILD_DEPENDENT = {"runtime.size", "interpreter.size", "unicode.width"}


def headers(python):
    """The directory of this Python's Python.h, with the internal headers below."""
    python.demand()
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    inside = subprocess.run([*python.argv, "-c", ask], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    directory = Path(python.root + inside)
    # What 2.7 and 3.6 keep to themselves lies in variables, not in structures.
    internal = {(2, 7): "Python.h", (3, 6): "Python.h", (3, 7): "internal/pystate.h"}
    if not (directory / internal.get(python.version[:2], "internal/pycore_pystate.h")).exists():
        skip(f"Python {python.text} has no internal headers installed")
    return directory


def generate(*args):
    return subprocess.run([sys.executable, GENERATE, *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def wrong_fields(found, wanted):
    """name -> (in darter, in the headers)"""
    assert found.keys() == wanted.keys()
    return {name: (found[name], value) for name, value in wanted.items()
            if found[name] != value and name not in BUILD_DEPENDENT}


@each(TABLED)
def test_the_committed_table_is_the_generated_one(python):
    directory = headers(python)
    if python.debug or python.traced:
        skip("its headers are those of its own build alone")
    major, minor = python.version[:2]
    committed = (ROOT / "src" / "python" / f"layout_{major}_{minor}.c").read_text()
    if f"headers of Python {python.text}:" not in committed:
        skip("the table is made from another patch version; its fields are compared by the next test")
    assert generate("--stdout", directory) == committed
    for file in (ROOT / "src" / "python").glob(f"layout_{major}_{minor}_*.c"):
        assert generate("--stdout", "--earlier", directory) == file.read_text(), file


@each(TABLED)
def test_the_compiled_table_is_what_the_headers_say(python):
    """Of each patch version that is found. A field that the generator forgot would be 0 here."""
    directory = headers(python)
    assert not wrong_fields(layout_of(python), fields(generate("--fields", directory)))


@each(TABLED)
def test_a_debug_build_is_read_by_one_of_the_two_tables(python):
    """--with-pydebug adds fields only behind those that are read; before 3.8 it traces references, too."""
    directory = headers(python)
    table = compiled(*python.version[:2], traced=python.traced or python.version < (3, 8))
    assert not wrong_fields(table, fields(generate("--fields", "--debug", directory)))


@each(TABLED)
def test_a_build_that_traces_references_has_a_table(python):
    directory = headers(python)
    table = compiled(*python.version[:2], traced=True)
    assert not wrong_fields(table, fields(generate("--fields", "--trace-refs", directory)))
    plain = compiled(*python.version[:2])
    assert int(table["object.size"]) == int(plain["object.size"]) + 16, (table["object.size"], plain["object.size"])


@each(DESCRIBED)
def test_traced_references_change_nothing_from_3_13_on(python):
    directory = headers(python)
    assert not wrong_fields(*(fields(generate("--fields", *option, directory)) for option in ([], ["--trace-refs"])))


@each(DESCRIBED)
def test_a_live_table_is_understood_as_the_headers_say(python):
    directory = headers(python)
    found = understood(live_table(python))
    assert found.pop("newer") == "0"
    options = (["--free-threaded"] if python.threaded else []) + (["--debug"] if python.debug else [])
    assert not wrong_fields(found, fields(generate("--fields", *options, directory)))


@each(USABLE)
def test_a_running_interpreter_agrees(python):
    """A program follows its own runtime, threads, frames, dicts and instances by the layout, and compares."""
    python.demand()
    layout = layout_of(python)
    with visible(python, "layout_probe.py") as script:
        done = subprocess.run([*python.argv, script], input="".join(f"{k} {v}\n" for k, v in layout.items()),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    # Before 3.7 the interpreter cannot tell where the variables of its GIL and of its collector are.
    assert int(done.stdout.split()[0]) > (70 if python.version >= (3, 7) else 60), done.stdout
