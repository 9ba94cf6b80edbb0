"""The walk-throughs of CONTRIBUTING.md, followed to the letter in a copy of the repository."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, SYSTEM, USABLE, copy_repository, limit, need_program, skip, target, wait_for

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(heading, page=PAGE):
    """The blocks of code below a heading: (language, the last path named before it, text)."""
    level = heading.split(" ", 1)[0]
    start = page.index(f"\n{heading}\n") + 1
    end = re.search(rf"^#{{1,{len(level)}}} ", page[start + len(heading):], re.MULTILINE)
    section = page[start : start + len(heading) + end.start()] if end else page[start:]
    found = []
    for match in BLOCK.finditer(section):
        before = BLOCK.sub("", section[: match.start()])
        paths = re.findall(r"`([\w./-]+/[\w.-]+\.[\w]+)`", before)
        found.append((match[1], paths[-1] if paths else "", match[2]))
    return found


def changed(text, diff):
    """The text with a change made: context and removed lines stand there once, and become context and added lines.

    The last line of the context may be the beginning of a longer one.
    """
    lines = diff.rstrip("\n").split("\n")
    old = "\n".join(line[1:] for line in lines if line[0] in " -")
    new = "\n".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(old) == 1, f"stands there {text.count(old)} times:\n{old}"
    return text.replace(old, new)


class Copy:
    def __init__(self, folder):
        self.folder = Path(folder)
        copy_repository(self.folder)

    def run(self, *argv, code=0, **kwargs):
        done = subprocess.run([str(word) for word in argv], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=kwargs.pop("stdin", subprocess.DEVNULL), timeout=500,
                              env={**os.environ, "NO_COLOR": "1"})
        assert code is None or done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def edit(self, path, diff):
        file = self.folder / path
        file.write_text(changed(file.read_text(), diff))

    def apply(self, language, path, text):
        if language == "c":
            assert not (self.folder / path).exists(), path
            (self.folder / path).write_text(text)
        elif language == "diff":
            self.edit(path, text)

    def follow(self, text, **words):
        """Types the commands of a block; each line below a command must begin a line of what it prints."""
        printed = ""
        for line in text.splitlines():
            if not line.startswith("$ "):
                assert re.search(rf"^{re.escape(line)}", printed, re.MULTILINE), f"not printed: {line}\n{printed}"
                continue
            argv, _, source = line[2:].partition(" < ")
            argv = [str(words.get(word, word)) for word in shlex.split(argv)]
            with open(self.folder / source if source else os.devnull) as stdin:
                printed = self.run(*argv, stdin=stdin)


@contextlib.contextmanager
def scratch(*options):
    need_program("git")
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        skip("this is no git work tree")
    with tempfile.TemporaryDirectory(prefix="darter-contributing-") as folder:
        copy = Copy(folder)
        copy.run("meson", "setup", "build", "--buildtype=debug", *options)
        yield copy


def seen(copy, program, *options):
    """What a dump prints once the program has come to its place."""
    return wait_for(lambda: (text := copy.run("build/darter", "dump", *options, program.pid)) and "nap" in text and text,
                    "the sleeper in its nap")


@limit(900)
def test_an_output_format():
    parts = blocks("## Adding an output format")
    assert [language for language, _, _ in parts] == ["c", "diff", "diff", "diff", "console"], parts
    with scratch("-Dtests=false") as copy, target(SYSTEM, "sleeper.py") as program:
        for part in parts[:-1]:
            copy.apply(*part)
        copy.run("ninja", "-C", "build", "darter")
        seen(copy, program)
        copy.follow(parts[-1][2], PID=program.pid)
        assert copy.run("build/darter", "dump", "-f", "chain", program.pid) == "<module>;main;nap 1\n"
        assert copy.run("build/darter", "dump", "-f", "chain", "--max-frames=2", program.pid) == "main;nap 1\n"
        assert "chain: one line per thread" in copy.run("build/darter", "dump", "-f", "none", "1", code=2)
        # Other versions lay out a few things differently: see scripts/lint.
        if shutil.which("clang-format") and " 14." in copy.run("clang-format", "--version"):
            laid_out = copy.run("clang-format", "src/format/chain.c")
            assert laid_out == (copy.folder / "src/format/chain.c").read_text(), laid_out


@limit(900)
def test_a_version_that_describes_itself():
    parts = blocks("### A version that describes itself: 3.13 and later")
    assert [language for language, _, _ in parts] == ["", "diff", "diff", "console"], parts
    assert "offsets/record.py > tests/golden/offsets/3.16.hex" in parts[0][2], parts[0]
    with scratch("-Dtests=true") as copy:
        if "cmocka" not in copy.run("ninja", "-C", "build", "-t", "commands", "tests/unit/test_debug_offsets"):
            skip("cmocka is not installed")
        # There is no 3.16 yet: the table of 3.15 under that number.
        offsets = copy.folder / "tests" / "golden" / "offsets"
        table = (offsets / "3.15.hex").read_text()
        (offsets / "3.16.hex").write_text(re.sub(r"^(7864656275677079....)0f03", r"\g<1>1003", table, flags=re.MULTILINE))
        assert (offsets / "3.16.hex").read_text() != table
        copy.apply(*parts[1])
        copy.run("ninja", "-C", "build", "tests/hammer/layout")
        with open(offsets / "3.16.hex") as stdin:
            assert "newer 1" in copy.run("build/tests/hammer/layout", stdin=stdin)
        copy.apply(*parts[2])
        copy.run("ninja", "-C", "build", "tests/unit/test_debug_offsets", "tests/hammer/layout")
        copy.follow(parts[3][2].replace("$ ninja -C build\n", ""))


def python_with_headers(version):
    for python in USABLE:
        if python.version[:2] == version and not python.root and not python.missing:
            code = "import sysconfig; print(sysconfig.get_path('include'))"
            said = subprocess.run([python.path, "-c", code], check=True, capture_output=True, text=True).stdout
            folder = Path(said.strip())
            if (folder / "internal" / "pycore_pystate.h").exists():
                return python, folder
    return skip(f"no Python {version[0]}.{version[1]} with its internal headers is installed")


@limit(900)
def test_a_version_with_a_table():
    parts = blocks("### A version with a table of ours: up to 3.12")
    assert [language for language, _, _ in parts] == ["console", "diff", "diff", "console"], parts
    python, directory = python_with_headers((3, 11))
    with scratch("-Dtests=false") as copy, target(python, "sleeper.py") as program:
        # As it was before 3.11 was known.
        (copy.folder / "src/python/layout_3_11.c").unlink()
        for _, path, diff in parts[1:3]:
            added = "".join(line[1:] + "\n" for line in diff.splitlines() if line.startswith("+"))
            file = copy.folder / path
            assert file.read_text().count(added) == 1, (path, added)
            file.write_text(file.read_text().replace(added, ""))
        copy.run("ninja", "-C", "build", "darter")
        assert "nap" not in copy.run("build/darter", "dump", program.pid, code=1)

        copy.follow(parts[0][2], HEADERS=directory)
        for part in parts[1:3]:
            copy.apply(*part)
        copy.run("ninja", "-C", "build", "darter")
        seen(copy, program)
        copy.follow(parts[3][2].replace("$ ninja -C build\n", ""), PID=program.pid)


def test_changes_are_made_where_they_belong():
    assert changed("a\n  b,\n  c,\n", "   b,\n+  new,\n") == "a\n  b,\n  new,\n  c,\n"
    assert changed("x\nold\ny\n", " x\n-old\n+new\n") == "x\nnew\ny\n"
    for text in ("c\n", "b\nb\n"):
        try:
            changed(text, " b\n+c\n")
        except AssertionError:
            continue
        raise AssertionError(f"a change of {text!r} was accepted")
