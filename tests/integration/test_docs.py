"""What the pages say holds: links lead somewhere, commands parse, named tests exist, the C program builds and runs."""

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, ROOT, SYSTEM, darter, each, need_program, skip, target

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDERS = {"PID": "1234", "PID...": "1234", "N": "3", "SECONDS": "1", "REGEX": "x", "NAME": "text",
                "COMMAND": "dump", "FILE": "a.darter", "OTHER": "b.darter"}


def name(page):
    return str(page.relative_to(ROOT))


def anchors(text):
    """The anchors that a page's headings have on the usual hosts."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


@each([name(page) for page in PAGES])
def test_links_lead_somewhere(page):
    path = ROOT / page
    prose = FENCE.sub("", path.read_text())
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        aim = (path.parent / file).resolve() if file else path
        assert aim.exists(), f"{page}: {link}: there is no such file"
        assert aim.is_relative_to(ROOT), f"{page}: {link}: outside of the repository"
        if anchor and aim.suffix == ".md":
            known = anchors(aim.read_text())
            assert anchor in known, f"{page}: {link}: no such heading; there are {known}"


def command_lines(text):
    """Every `darter ...` of a page: in blocks those after a prompt or sudo, in sentences those in backticks."""
    for _, block in FENCE.findall(text):
        for line in block.splitlines():
            match = re.match(r"\s*(?:\$ |# )?(?:sudo (?:-u \S+ )?)?(?:build/)?darter( .*)?$", line)
            if match and ("$ " in line or "sudo" in line):
                yield (match[1] or "").strip()
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        match = re.match(r"(?:sudo (?:-u \S+ )?)?darter( [a-z].*)?$", code)
        if match:
            yield (match[1] or "").strip()


def words_of(line):
    """The words of one command: up to a pipe, a comment or a redirection."""
    words = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>;&")
    lexer.whitespace_split = True
    for word in lexer:
        if set(word) <= set("|<>;&"):
            break
        words.append(PLACEHOLDERS.get(word, word))
    return words


@each([name(page) for page in PAGES if page.name != "CONTRIBUTING.md"])  # test_contributing.py types those
def test_commands_parse(page):
    # With --help at the end a command line is read as always, and nothing is done.
    for line in command_lines((ROOT / page).read_text()):
        words = words_of(line)
        if words and words[0] not in ("help", "--help", "--version"):
            end = words.index("--") if "--" in words else len(words)  # what follows is another program's
            done = darter(*words[:end], "--help")
            assert done.returncode == 0, f"{page}: darter {line}: {done.stderr}"


def test_command_lines_are_found():
    text = "`darter ps --json` and `darter` alone\n\n```\n$ darter dump 1 | jq .\ndarter: no\n$ sudo darter ps # all\n```\n"
    assert sorted(command_lines(text)) == ["", "dump 1 | jq .", "ps # all", "ps --json"], list(command_lines(text))
    assert words_of("dump PID --name 'a|b' | jq .") == ["dump", "1234", "--name", "a|b"]
    assert words_of("ps # all") == ["ps"]
    lines = [line for page in PAGES for line in command_lines(page.read_text())]
    assert len(lines) > 20, lines
    assert darter("dump", "--no-such-option", "--help").returncode == 2


def test_tests_that_are_named_exist():
    page = (ROOT / "docs" / "supported.md").read_text()
    named = re.findall(r"`(test_\w+)(?:::(test_\w+))?`", page)
    assert len(named) > 20, named
    for stem, test in named:
        file = ROOT / "tests" / "integration" / f"{stem}.py"
        assert file.exists(), stem
        assert not test or f"\ndef {test}(" in file.read_text(), f"{stem}::{test}"


def test_the_c_program_of_the_library_page():
    need_program("pkg-config")
    page = (ROOT / "docs" / "library.md").read_text()
    (program,) = [code for language, code in FENCE.findall(page) if language == "c"]
    described = BUILD / "meson-uninstalled"
    if not described.is_dir():
        skip(f"{BUILD.name} has no pkg-config file of its own (an older meson)")
    env = {**os.environ, "PKG_CONFIG_PATH": str(described)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "darter"], env=env, check=True, capture_output=True,
                           text=True).stdout.split()
    (instead,) = re.findall(r"`(dt_open_core\([^`]*\))` instead of `dt_attach", page)
    with tempfile.TemporaryDirectory(prefix="darter-docs-") as folder:
        source, binary = Path(folder) / "holder.c", Path(folder) / "holder"
        source.write_text(re.sub(r"dt_attach\(.*?\), NULL, &target, &err\)", lambda _: instead, program))
        assert instead in source.read_text()
        subprocess.run(["cc", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", source], check=True)
        source.write_text(program)
        argv = ["cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source, "-o", binary, *flags]
        built = subprocess.run(argv, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD)}
        with target(SYSTEM, "hum.py") as hum:
            done = subprocess.run([binary, str(hum.pid)], env=env, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            assert re.search(rf"^\* \S+: running in spin \({re.escape(hum.script)}:\d+\)$", done.stdout, re.MULTILINE), done
            assert done.stdout.count("wait (") + done.stdout.count("wait_here (") >= 2, done.stdout
        done = subprocess.run([binary, "0"], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and done.stderr.strip(), done
        assert subprocess.run([binary], env=env, capture_output=True).returncode == 2
