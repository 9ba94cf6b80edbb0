"""What darter says to people: mistakes and what was meant, the style of hints, lines that fit."""

import re
import subprocess
import tempfile
from pathlib import Path

from harness import DEADLINE, ROOT, darter, each, on_terminal


@each([
    (["dmp"], "did you mean 'darter dump'?"),
    (["1234"], "did you mean 'darter dump 1234'?"),
    (["dump", "--jsno", "1"], "did you mean --json?"),
    (["dump", "--children=yes", "1"], "--children takes no value"),
    (["dump", "-Z", "1"], "has no option -Z"),
    (["dump"], "which process?"),
    (["dump", "python"], "--name 'python'"),
    (["dump", "-p", "12x"], "'12x' is not a process id"),
    (["dump", "--every", "soon", "1"], "'soon' is not a number of seconds"),
    (["dump", "--pause", "always", "1"], "is none of: auto never"),
    (["dump", "-f", "xml", "1"], "there is no format 'xml'"),
    (["dump", "--pid"], "--pid needs a value (PID)"),
    (["ps", "1"], "takes no argument"),
    (["ps", "--pids", "--json"], "--pids and --json are two forms of the result"),
    (["help", "dunp"], "did you mean 'darter help dump'?"),
    (["completion"], "for which shell?"),
    (["completion", "csh"], "bash zsh fish"),
    (["dump", "\x1b[31m"], r"\x1b[31m"),
    (["dump", "2726,2727"], "several process ids are separated by spaces"),
    (["dump", "--name", "a(b"], "stands for itself behind a backslash"),
    (["help", "xyzzy"], "'darter help' shows the commands"),
    (["version", "-v"], "has no option -v"),
    (["--json", "ps"], "      darter ps --json\n"),
    (["--json"], "      darter ps --json\n"),
    (["-v", "dump", "12"], "      darter dump -v 12\n"),
    (["--name", "a b", "dump", "--all"], "      darter dump --name 'a b' --all\n"),
    (["--name=ps", "ps", "dump"], "      darter dump --name=ps ps\n"),
    (["--every=1", "\x1b[31m", "dump"], "--every=1 stands before the command: options follow it\n  'darter help'"),
    (["--frobnicate"], "there is no command '--frobnicate'"),
    (["dump", "/no/such.core"], "      darter dump --core /no/such.core\n"),
    (["dump", "-j", "./a b"], "      darter dump --core './a b'\n"),
    (["dump", "/\x1b"], "'darter dump --core FILE' shows"),
    (["dump", "--core", "a", "b"], "'b' is too much: one core is read at a time"),
    (["dump", "--core", "a", "12"], "a process cannot be given with it"),
    (["dump", "--core", "a", "--core", "b"], "--core is given twice"),
    (["dump", "--core", "a", "--root", "/", "--root", "/tmp"], "--root is given twice"),
    (["dump", "--core", "a", "--exe", "/", "--exe=/"], "--exe is given twice"),
    (["dump", "-f", "text", "--format=json", "1"], "--format is given twice"),
    (["dump", "--core", "-"], "cannot be read from a pipe\n  Write it to a file first"),
    (["core", "core.12"], "      darter dump --core core.12\n"),
    (["core", "-j"], "      darter dump --core FILE\n"),
    (["./core.12"], "      darter dump --core ./core.12\n"),
])
def test_mistakes_are_explained(case):
    words, part = case
    done = darter(*words, check=2)
    assert part in done.stderr, done.stderr
    assert done.stdout == "" and "\x1b" not in done.stderr


def test_a_file_is_no_process():
    """A word without a slash is a file where there is one of that name."""
    with tempfile.TemporaryDirectory(prefix="darter-words-") as folder:
        for name in ("core", "c.zst"):
            (Path(folder) / name).touch()
            for words in (["dump", name], ["dump", "--all", name], [name]):
                done = darter(*words, check=2, wrap=["env", "-C", folder])
                assert f"      darter dump --core {name}\n" in done.stderr, done.stderr
        done = darter("dump", "gone", check=2, wrap=["env", "-C", folder])
        assert "--core" not in done.stderr and "--name 'gone'" in done.stderr, done.stderr


def test_a_core_in_a_pipe():
    for name in ("/dev/stdin", "/dev/fd/0", "-"):
        done = darter("dump", "--core", name, check=2, input="\x7fELF")
        assert f"--core {name}: a core cannot be read from a pipe\n" in done.stderr, done.stderr


def test_no_name_matches():
    done = darter("dump", "--name", "no such command line anywhere \x7f", check=4)
    assert "matches 'no such command line anywhere" in done.stderr
    done = darter("dump", "--name", "nowhere-1", "--name", "nowhere-2", check=4)
    assert "matches 'nowhere-1' or 'nowhere-2'\n  'darter ps' lists" in done.stderr, done.stderr


def test_hints_have_one_style():
    """What is typed stands in single quotes, a sentence alone has no full stop, what is pasted has a line of its own."""
    sources = [file.read_text() for file in (ROOT / "src").rglob("*.c")]
    hints = [re.sub(r'"\s+"', "", hint) for text in sources for hint in re.findall(r'dt_hint\([^"]*"((?:[^"\\]|\\.|"\s+")*)"', text)]
    assert len(hints) > 50
    for hint in hints:
        assert "`" not in hint and r"\"(" not in hint, hint
        if hint.endswith("."):
            assert re.search(r"[.;] [A-Z]", hint) or hint.endswith("..."), f"one sentence has no full stop: {hint}"


def test_words_fit_the_terminal():
    long = "no-such-name " * 20
    pipe = darter("dump", "--name", "a(b", check=2).stderr.splitlines()
    assert len(pipe) == 3 and max(map(len, pipe)) > 60
    for words, code, pasted in ((["dump", "--name", "a(b"], 2, None), (["dump", f"--name={long}"], 4, long),
                                (["--json", "ps", *long.split()], 2, f"      darter ps --json {long.strip()}")):
        shown = on_terminal(*words, columns=60, env={"NO_COLOR": "1"}, check=code)
        assert pasted is None or pasted in shown, shown
        wide = [line for line in shown.splitlines() if len(line) > 60]
        assert not [line for line in wide if not pasted or pasted not in line], shown


def test_the_demo_explains_itself():
    def demo(*words):
        return subprocess.run([ROOT / "scripts" / "demo", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE)

    assert demo("--help").returncode == 0 and demo("--help").stdout.startswith("Usage: scripts/demo [DARTER]\n")
    for words in (["--nonsense"], ["one", "two"], ["/no/such/program"]):
        done = demo(*words)
        assert done.returncode == 2 and done.stderr.startswith("demo: ") and done.stdout == "", done
