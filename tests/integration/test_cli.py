"""The command line: options, help, completions, man pages, output that fails, several processes, hostile names."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import schema
from harness import (DARTER, DEADLINE, ROOT, SYSTEM, TARGETS, USABLE, darter, each, need_program, need_root,
                     on_terminal, target, wait_for)

SHELLS = ("bash", "zsh", "fish")
NO_SUCH_PID = 2**31 - 1  # above every pid_max


def commands():
    listed = darter("help", check=0).stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line)]


def dump_json(*args, check=0):
    document = json.loads(darter("dump", "--json", *args, check=check).stdout)
    schema.check(document, schema.load("dump"))
    return document


def settle(program, function):
    """Waits until the program's main thread is in a function: it says "ready" a moment before."""
    def there():
        return any(thread["main"] and thread["frames"] and thread["frames"][0]["name"] == function
                   and thread["state"] == "sleeping" for thread in dump_json(program.pid)["snapshots"][0]["threads"])

    wait_for(there, f"{program.script} is in {function}()")


# ---- help ----


def test_alone_it_says_where_to_begin():
    alone = darter(check=0)
    assert "darter ps" in alone.stdout and "darter dump PID" in alone.stdout
    assert alone.stderr == ""
    for same in (["help"], ["--help"], ["-h"]):
        assert darter(*same, check=0).stdout == alone.stdout


def test_every_command_has_help():
    assert {"ps", "dump", "version", "help", "completion"} <= set(commands())
    for command in commands():
        shown = darter(command, "--help", check=0)
        assert shown.stderr == ""
        assert shown.stdout == darter("help", command, check=0).stdout
        for part in (f"darter {command}: ", f"Usage: darter {command} [options]", "Options:\n", "--help", "Examples:\n"):
            assert part in shown.stdout, f"{part!r} is not in the help of {command}"
        for option in ("--color=never", "--quiet", "--verbose"):
            known = darter(command, option, "--help").returncode == 0
            assert known == (option.split("=")[0] in shown.stdout), f"{command} {option}"


def test_help_is_as_wide_as_the_screen():
    for columns in (60, 80, 100):
        text = darter("dump", "--help", check=0, env={"COLUMNS": str(columns)}).stdout.split("Examples:")[0]
        assert max(map(len, text.splitlines())) <= columns
    wide = darter("dump", "--help", env={"COLUMNS": "5000"}).stdout.split("Examples:")[0]
    assert max(map(len, wide.splitlines())) <= 100


def test_version():
    assert re.fullmatch(r"darter \d+\.\d+\.\d+\n", darter("version", check=0).stdout)
    assert darter("--version", check=0).stdout == darter("-V", check=0).stdout == darter("version").stdout
    assert json.loads(darter("version", "--json", check=0).stdout)["schema"] == "darter.version/1"
    assert "*3*" not in darter("help", "--man", "version").stdout and "*3*" in darter("help", "--man", "dump").stdout


def test_starts_in_an_empty_root():
    """As it does when it is copied into a container that has nothing in common with this system."""
    need_root()
    with tempfile.TemporaryDirectory(prefix="darter-root-") as folder:
        shutil.copy(DARTER, folder)
        done = subprocess.run(["chroot", folder, "/darter", "version"], capture_output=True, text=True, timeout=DEADLINE)
    assert done.stdout == darter("version").stdout, done.stderr


# ---- completions and man pages ----


@each(SHELLS)
def test_completions_are_valid(shell):
    need_program(shell)
    script = darter("completion", shell, check=0).stdout
    checked = subprocess.run([shell, "--no-execute" if shell == "fish" else "-n"], input=script, text=True,
                             capture_output=True, timeout=DEADLINE)
    assert checked.returncode == 0 and checked.stderr == "", checked.stderr
    for word in (*commands(), "full-filenames", "auto always never", "text json"):
        assert word in script, f"{word} is not completed"


def test_the_examples_of_completion():
    """They are run as they stand, in a home where no shell was ever configured."""
    examples = re.findall(r"^  (\S.*)\n      ", darter("completion", "--help").stdout.split("Examples:\n")[1], re.M)
    assert len(examples) == len(SHELLS)
    for line in examples:
        shell = next(shell for shell in SHELLS if f"completion {shell}" in line)
        need_program(shell)
        with tempfile.TemporaryDirectory(prefix="darter-home-") as home:
            before = "autoload -U compinit && compinit -u -D && " if shell == "zsh" else ""
            env = {**os.environ, "HOME": home, "PATH": f"{DARTER.parent}:{os.environ['PATH']}"}
            done = subprocess.run([shell, "-c", before + line], env=env, capture_output=True, text=True, timeout=DEADLINE)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


def test_bash_completes():
    need_program("bash")
    ask = """source <("$1" completion bash)
        COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)); _darter; printf '%s\\n' "${COMPREPLY[@]}" """

    def complete(*words):
        path = {**os.environ, "PATH": f"{DARTER.parent}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-c", ask, "bash", DARTER, *words], capture_output=True, text=True, env=path,
                              check=True, timeout=DEADLINE).stdout.split()

    assert set(complete("darter", "")) == set(commands())
    assert complete("darter", "du") == ["dump"]
    assert complete("darter", "dump", "--full") == ["--full-filenames"]
    assert complete("darter", "dump", "--pause", "n") == ["never"]
    assert complete("darter", "dump", "--pause", "=", "n") == ["never"]
    assert {"text", "json"} <= set(complete("darter", "dump", "--format", ""))
    assert complete("darter", "dump", "-f", "js") == ["json"]
    assert set(complete("darter", "completion", "")) == set(SHELLS)
    with tempfile.TemporaryDirectory(prefix="darter-bash-") as folder:
        (Path(folder) / "file").touch()
        (Path(folder) / "folder").mkdir()
        assert set(complete("darter", "dump", "--core", f"{folder}/f")) == {f"{folder}/file", f"{folder}/folder"}
        assert complete("darter", "dump", "--root", f"{folder}/f") == [f"{folder}/folder"]
    with target(SYSTEM, "sleeper.py") as program:
        assert str(program.pid) in complete("darter", "dump", "")


def with_the_command(program, lines, between):
    """Whether the process is offered, with its command as the description."""
    return any(line.startswith(f"{program.pid}{between}") and line.endswith(f"{program.script} a:b") for line in lines)


def test_zsh_describes_processes():
    zsh = need_program("zsh")
    ask = """compdef() { }
        _describe() { print -rl -- ${(P)2} }
        source <("$1" completion zsh); _darter_pids"""
    path = {**os.environ, "PATH": f"{DARTER.parent}:{os.environ['PATH']}"}
    with target(SYSTEM, "sleeper.py", "a:b") as program:
        shown = subprocess.run([zsh, "-f", "-c", ask, "zsh", DARTER], capture_output=True, text=True, env=path, check=True,
                               timeout=DEADLINE)
        assert with_the_command(program, shown.stdout.splitlines(), ":"), shown


def test_zsh_offers_an_option_once():
    """Unless it may be given several times; and directories alone where one is wanted."""
    script = darter("completion", "zsh", check=0).stdout
    dump = script.split("\tdump)\n")[1].split(";;")[0].splitlines()
    repeated = {re.match(r"\t\t\t'\*(--?[a-z]+)", line)[1] for line in dump if line.startswith("\t\t\t'*-")}
    assert repeated == {"--pid", "-p", "--name"}, repeated
    assert any(line.startswith("\t\t\t'--core=[") and line.endswith(":FILE:_files' \\") for line in dump), dump
    assert any(line.startswith("\t\t\t'--root=[") and line.endswith(":DIR:_files -/' \\") for line in dump), dump
    assert any(line.startswith("\t\t\t'(-f --format)-f+[") for line in dump), dump


def test_fish_offers_directories_for_a_root():
    fish = need_program("fish")
    with tempfile.TemporaryDirectory(prefix="darter-fish-") as home:
        (Path(home) / "file").touch()
        (Path(home) / "folder").mkdir()
        path = {**os.environ, "PATH": f"{DARTER.parent}:{os.environ['PATH']}", "HOME": home}
        shown = subprocess.run([fish, "--no-config", "-c", f"darter completion fish | source; complete -C 'darter dump --root {home}/f'"],
                               capture_output=True, text=True, env=path, check=True, timeout=DEADLINE).stdout
        assert f"{home}/folder/" in shown and f"{home}/file" not in shown, shown


def test_fish_describes_processes():
    fish = need_program("fish")
    with target(SYSTEM, "sleeper.py", "a:b") as program, tempfile.TemporaryDirectory(prefix="darter-fish-") as home:
        path = {**os.environ, "PATH": f"{DARTER.parent}:{os.environ['PATH']}", "HOME": home}
        shown = subprocess.run([fish, "--no-config", "-c", "darter completion fish | source; complete -C 'darter dump '"],
                               capture_output=True, text=True, env=path, check=True, timeout=DEADLINE)
        assert with_the_command(program, shown.stdout.splitlines(), "\t"), shown


def test_man_pages():
    need_program("scdoc")
    man = need_program("man")
    pages = DARTER.parent / "man"
    assert {page.name for page in pages.glob("*.1")} == {"darter.1"} | {f"darter-{command}.1" for command in commands()}
    for page in pages.glob("*.1"):
        shown = subprocess.run([man, "--warnings", "-l", page], capture_output=True, text=True, timeout=DEADLINE,
                               env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
        assert shown.returncode == 0 and shown.stderr == "", shown.stderr
        for part in ("NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
            assert part in shown.stdout, f"{part} is not in {page.name}"
    options = re.findall(r"^ .*?(--[a-z-]+)", darter("dump", "--help").stdout.split("Options:")[1], re.M)
    source = (pages / "darter-dump.1.scd").read_text()
    assert len(options) > 10 and all(f"*{option}*" in source for option in options)


EXITS = {"report": ("0124", ["no recording", "nothing is left", "no such file"]),
         "record": ("01234", ["Ctrl-C", "memory that does not answer", "no name matches", "128 plus", "may not be executed"]),
         "dump": ("01234", ["core", "no such process"]), "ps": ("012", ["no Python program is running"]), "version": ("012", [])}


@each(EXITS)
def test_exit_codes_are_told(command):
    """In the page of each command, as far as it has them."""
    codes, words = EXITS[command]
    text = darter("help", "--man", command, check=0).stdout.split("# EXIT STATUS\n")[1].split("# SEE ALSO")[0]
    assert "".join(re.findall(r"^\*(\d)\*$", text, re.M)) == codes, text
    assert all(word in text for word in words), text
    assert ("core" in text) == (command == "dump"), text


def test_core_files_are_told_of():
    """In the overview, in the help of dump and in both pages; and so are the variables that matter to them."""
    assert "darter dump --core FILE  What a program was doing when it died" in darter("help").stdout
    shown = darter("help", "dump", check=0).stdout
    assert "Usage: darter dump [options] [PID...]\n       darter dump [options] --core FILE\n" in shown
    page, whole = (darter("help", "--man", *words, check=0).stdout for words in (["dump"], []))
    assert "*darter dump* \\[options\\] --core FILE\n" in page
    for name in ("DARTER_CORE_LIMIT", "TMPDIR"):
        row = f"\n*{name}*\n\tWith --core: ".replace("_", "\\_")
        assert row in page.split("# ENVIRONMENT\n")[1] and row in whole.split("# ENVIRONMENT\n")[1], row
        assert re.search(rf"^  {name} +With --core", shown.split("\nEnvironment:\n")[1], re.M), shown
    for text in (page, whole):
        assert "core" in text.split("# EXIT STATUS")[1].split("# SEE ALSO")[0] and "core file" in text.split("# COMMANDS")[0]


# ---- colours and widths ----


def test_colours_only_where_they_are_wanted():
    with target(SYSTEM, "sleeper.py") as program:
        pid = program.pid
        assert "\x1b[" in on_terminal("dump", pid)
        assert "\x1b" not in on_terminal("dump", pid, env={"NO_COLOR": "1"})
        assert "\x1b" not in on_terminal("dump", pid, env={"TERM": "dumb"})
        assert "\x1b" not in on_terminal("dump", "--color=never", pid)
        assert "\x1b[" in on_terminal("dump", pid, env={"NO_COLOR": ""})
        assert "\x1b[" in darter("dump", "--color=always", pid, check=0).stdout
        assert "\x1b" not in darter("dump", pid, check=0, env={"NO_COLOR": ""}).stdout


def test_the_table_fits_the_terminal():
    with target(SYSTEM, "sleeper.py", "a long argument " * 50) as program:
        for columns in (20, 40, 60, 80, 132):
            shown = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal("ps", columns=columns))
            assert max(len(line) for line in shown.splitlines()) <= columns
            assert re.search(rf"^ *{program.pid} ", shown, re.M)
        line = next(line for line in darter("ps", check=0).stdout.splitlines() if line.split()[0] == str(program.pid))
        assert line.count("a long argument") == 50


# ---- ps ----


@each(USABLE)
def test_ps_lists_every_python(python):
    with target(python, "sleeper.py") as program:
        settle(program, "nap")
        document = json.loads(darter("ps", "--json", check=0).stdout)
        schema.check(document, schema.load("ps"))
        row = next(row for row in document["processes"] if row["pid"] == program.pid)
        assert row["python"] == python.text and row["error"] is None and row["threads"] == 1
        assert "sleeper.py" in row["command"]
        assert row["doing"]["function"] == "nap" and row["doing"]["file"].endswith("sleeper.py")
        assert str(program.pid) in darter("ps", "--pids", check=0).stdout.split()
        # A build without the GIL is told in every way.
        snapshot = dump_json(program.pid)["snapshots"][0]
        assert row["free_threaded"] == snapshot["free_threaded"] == python.threaded, (row, snapshot)
        shown = darter("dump", program.pid, check=0).stdout
        assert (f"\nPython {python.text} (free-threaded, /" in shown) == python.threaded, shown


# ---- several processes ----


def test_a_process_that_is_not_there():
    done = darter("dump", NO_SUCH_PID, check=4)
    assert str(NO_SUCH_PID) in done.stderr and done.stdout == ""
    document = dump_json(NO_SUCH_PID, check=4)
    assert [(error["pid"], error["code"]) for error in document["errors"]] == [(NO_SUCH_PID, "not found")]


def test_one_wrong_process_does_not_stop_the_others():
    with target(SYSTEM, "sleeper.py") as one, target(SYSTEM, "sleeper.py") as two:
        done = darter("dump", one.pid, NO_SUCH_PID, "-p", two.pid, check=4)
        assert [int(pid) for pid in re.findall(r"^Process (\d+)", done.stdout, re.M)] == [one.pid, two.pid]
        assert done.stderr.count(str(NO_SUCH_PID)) >= 1
        document = dump_json(one.pid, NO_SUCH_PID, two.pid, check=4)
        assert [snapshot["pid"] for snapshot in document["snapshots"]] == [one.pid, two.pid]
        assert [error["pid"] for error in document["errors"]] == [NO_SUCH_PID]
        both = darter("dump", "--json", one.pid, NO_SUCH_PID, two.pid, wrap=("sh", "-c", 'exec "$@" 2>&1', "sh"), check=4)
        whole, words = both.stdout.split("\n", 1)
        assert len(json.loads(whole)["snapshots"]) == 2 and words.startswith("darter: there is no process"), both.stdout
        twice = dump_json(one.pid, one.pid, "-p", one.pid)
        assert len(twice["snapshots"]) == 1


def test_children_that_are_not_python_are_passed_over():
    with target(SYSTEM, "mixed_family.py") as program:
        child, other = map(int, re.findall(r"\d+", program.wait_line(lambda line: line.startswith("child "))))
        settle(program, "parent_nap")
        alone = darter("dump", program.pid, check=0)
        assert "parent_nap" in alone.stdout and "child_nap" not in alone.stdout
        for option in ("-s", "--children", "--subprocesses"):
            both = darter("dump", option, program.pid, check=0)
            assert "parent_nap" in both.stdout and "child_nap" in both.stdout
            assert both.stderr == ""
        document = dump_json("-s", program.pid)
        assert [snapshot["pid"] for snapshot in document["snapshots"]] == [program.pid, child]
        assert document["snapshots"][1]["ppid"] == program.pid
        refused = dump_json(other, check=4)
        assert refused["errors"][0]["code"] == "not python"


def test_a_shell_with_a_python_child():
    """The shell is not Python itself; its child is what the user wants to see."""
    with target(SYSTEM, "sleeper.py", wrap=("sh", "-c", '"$@"; exit 0', "sh")) as program:
        document = dump_json("--children", program.pid)
        assert [snapshot["ppid"] for snapshot in document["snapshots"]] == [program.pid]
        assert document["errors"] == []
        os.kill(document["snapshots"][0]["pid"], signal.SIGKILL)


def test_by_name():
    with target(SYSTEM, "sleeper.py", "needle-7f3a") as one, target(SYSTEM, "sleeper.py", "needle-7f3b") as two:
        found = dump_json("--name", "sleeper[.]py needle-7f3(a|b)$")
        assert {snapshot["pid"] for snapshot in found["snapshots"]} == {one.pid, two.pid}
        found = dump_json("--name", "needle-7f3b$", "--name", "needle-7f3a$", "--name", "sleeper[.]py needle-7f3a$")
        assert [snapshot["pid"] for snapshot in found["snapshots"]] == [two.pid, one.pid]


# ---- what is shown ----


@each(["written", "replaced"])
def test_a_source_file_that_was_changed_meanwhile(how):
    """What stands there now is not what the program runs."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(shutil.copy(TARGETS / "sleeper.py", folder))
        with target(SYSTEM, script) as program:
            settle(program, "nap")
            assert "time.sleep(3600)" in darter("dump", program.pid, check=0).stdout
            time.sleep(0.3)  # its beginning is known to a tenth of a second
            before, text = script.stat(), script.read_text().replace("time.sleep(3600)", "launch()")
            if how == "written":
                script.write_text(text)
            else:  # as an archive or a deployment does, with the time that it had elsewhere
                other = script.with_suffix(".new")
                other.write_text(text)
                os.utime(other, ns=(before.st_mtime_ns, before.st_mtime_ns - 10**12))
                other.replace(script)
            shown = darter("dump", program.pid, check=0).stdout
            assert "nap (sleeper.py:9)" in shown and "launch()" not in shown, shown


def test_text_and_options():
    with target(SYSTEM, "sleeper.py") as program:
        settle(program, "nap")
        text = darter("dump", program.pid, check=0).stdout
        assert text.startswith(f"Process {program.pid}: ")
        assert re.search(rf'^Python {re.escape(SYSTEM.text)} \(', text, re.M)
        assert re.search(rf'^Thread {program.pid} ".*" \(sleeping in \w+\)$', text, re.M)
        assert "\n    nap (sleeper.py:9)\n        time.sleep(3600)\n    main (sleeper.py:15)\n    <module> (sleeper.py:18)\n" in text
        assert "time.sleep" not in darter("dump", "--no-source", program.pid, check=0).stdout
        assert f"nap ({program.script}:9)" in darter("dump", "--full-filenames", program.pid, check=0).stdout
        short = darter("dump", "--max-frames=1", program.pid, check=0).stdout
        assert "nap (" in short and "main (" not in short and "[2 frames more]" in short
        assert "proof: " in darter("dump", "-v", program.pid, check=0).stdout
        assert "nap (" in darter("dump", "--pause=never", program.pid, check=0).stdout
        assert "nap (" in darter("dump", "--nonblocking", program.pid, check=0).stdout
        assert darter("dump", "-f", "text", program.pid, check=0).stdout == text
        schema.check(json.loads(darter("dump", "--format=json", program.pid, check=0).stdout), schema.load("dump"))


def test_hostile_names():
    with target(SYSTEM, "hostile.py") as program:
        def whole():
            document = dump_json(program.pid)
            return document if any("\x1b]0;owned" in (frame["name"] or "") for thread in document["snapshots"][0]["threads"]
                                   for frame in thread["frames"]) else None

        document = wait_for(whole, "the thread with the hostile names is in its function")
        evil = next(thread for thread in document["snapshots"][0]["threads"] if not thread["main"])
        assert evil["name"] == '\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\n"},{\\'
        assert evil["frames"][0]["file"] == f"/tmp/{evil['name']}.py"
        for text in (darter("dump", program.pid, check=0).stdout, darter("dump", "--json", program.pid, check=0).stdout,
                     darter("dump", "-v", "--full-filenames", program.pid, check=0).stdout, darter("ps", check=0).stdout):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert r"\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\n" in darter("dump", program.pid).stdout


# ---- output that fails, and ends ----


def test_a_full_disk_is_an_error():
    with target(SYSTEM, "sleeper.py") as program, open("/dev/full", "w") as full:
        for words in (["dump", program.pid], ["dump", "-j", program.pid], ["ps"], ["help"], ["dump", "--every=0.01", program.pid]):
            done = subprocess.run([DARTER, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
            assert done.returncode == 1, f"{words}: {done}"
            assert "No space left on device" in done.stderr, done.stderr


def test_a_reader_that_goes_away():
    with target(SYSTEM, "sleeper.py") as program:
        for words in (["dump", program.pid], ["dump", "--every", "0.01", "--json", program.pid]):
            read, write = os.pipe()
            process = subprocess.Popen([DARTER, *map(str, words)], stdout=write, stderr=subprocess.PIPE, text=True)
            os.close(write)
            os.read(read, 1)
            os.close(read)
            errors = process.communicate(timeout=DEADLINE)[1]
            assert errors == "" and process.returncode in (0, -signal.SIGPIPE)


def test_the_golden_files_are_as_the_schemas_say():
    for name in ("dump", "ps"):
        files = sorted((ROOT / "tests" / "golden").glob(f"{name}*.json"))
        assert files
        for file in files:
            schema.check(json.loads(file.read_text()), schema.load(name))
