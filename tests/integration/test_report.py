"""darter report: every format, what counts and what is shown, and files that are cut off or damaged."""

import base64
import json
import os
import re
import struct
import subprocess
import time

import schema
from darter_file import Recording
from harness import DARTER, DEADLINE, SYSTEM, darter, each, target, wait_for
from recordings import Recorder, folder, functions, stacks, wait_recorded

BEGINNINGS = {"text": "Recorded process ", "svg": "<?xml", "folded": "<module>", "speedscope": '{"$schema"', "chrome": '{"displayTimeUnit"'}
NAMES = {"text": None, "svg": "a.svg", "folded": "a.folded", "speedscope": "a.json", "chrome": "a.trace.json"}


def recording(here, name="hum.py", *words, seconds=1.5):
    with target(SYSTEM, name) as program:
        darter("record", "-q", "-d", seconds, *words, "-o", here / "a.darter", program.pid, check=0)
        return here / "a.darter", program.pid


def block_ends(data):
    """Where each block of a .darter file ends, and before them its head."""
    ends = [32]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 32 + struct.unpack_from("<I", data, ends[-1] + 12)[0])
    return ends


@each(BEGINNINGS)
def test_every_format(name):
    with folder() as here:
        file, _ = recording(here)
        by_name = darter("report", file, "-f", name, check=0)
        assert by_name.stdout.startswith(BEGINNINGS[name]) and by_name.stderr == "", by_name
        assert "spin" in by_name.stdout
        if name in ("speedscope", "chrome"):
            json.loads(by_name.stdout)
        if NAMES[name]:
            darter("report", file, "-o", here / NAMES[name], check=0)
            assert (here / NAMES[name]).read_text() == by_name.stdout
            darter("report", file, "-o", here / NAMES[name].upper(), check=0)
            assert (here / NAMES[name].upper()).read_text() == by_name.stdout
        piped = darter("report", "-", "-f", name, check=0, wrap=("sh", "-c", f'exec "$@" < {file}', "sh"))
        assert piped.stdout == by_name.stdout


def test_what_counts_and_what_is_shown():
    with folder() as here:
        file, pid = recording(here)
        assert functions(file, "--idle") > functions(file)
        assert functions(file, "--idle", "--main-thread") == functions(file)
        assert "spin" not in functions(file, "--hide", "^spin$") and "main" in functions(file, "--hide", "^spin$")
        assert not {"spin", "main"} & functions(file, "--hide", "^spin$", "--hide", "hum.py:main")
        assert "spin" not in functions(file, "--hide", "^hum.py:spin$")
        assert "wait_here" in functions(file, "--idle", "--thread-name", "Thread-")
        assert "spin" not in functions(file, "--idle", "--thread-name", "Thread-")
        assert all(path[0].startswith(f"thread {pid} ") for path, _ in stacks(file, "--threads"))
        assert {path[-1] for path, _ in stacks(file, "-F")} >= {"spin (hum.py:8)"}
        assert {path[-1] for path, _ in stacks(file, "--no-lines")} >= {"spin (hum.py)"}
        assert stacks(file, "--nolineno") == stacks(file, "--no-lines")
        assert any("/hum.py" in path[-1] for path, _ in stacks(file, "--full-filenames"))
        assert stacks(file, "--gc") == []
        for mode in ("--cpu", "--gil"):
            assert "spin" in functions(file, mode)
            assert sum(weight for _, weight in stacks(file, mode)) < 10 * 10**6
        assert "CPU time" in darter("report", file, "--cpu").stdout


def test_who_sleeps_with_the_gil_in_hand_is_not_idle():
    """Everybody else waits for it: who asks where the GIL is must be told."""
    with folder() as here, target(SYSTEM, "keeps_gil.py") as program:
        file = here / "a.darter"
        darter("record", "-q", "-d", "1.5", "-o", file, program.pid, check=0)
        for options in ([], ["--gil"]):
            times = {name: sum(weight for path, weight in stacks(file, *options) if name in path[-1])
                     for name in ("keeps", "computes")}
            assert times["keeps"] > 2 * times["computes"] or not options, times
            assert times["keeps"] > 0.5e6, times
        assert re.search(r"^ *\d.*% .* sleeping with the GIL in hand$", darter("report", file, "--gil", check=0).stdout, re.MULTILINE)


@each([kind for kind in BEGINNINGS if kind != "text"])
def test_that_nothing_is_shown_is_said(kind):
    with folder() as here:
        file, _ = recording(here)
        none = darter("report", file, "-f", kind, "--thread-name", "no such needle", check=0)
        why = "no wall time of threads whose name matches 'no such needle' was recorded"
        assert none.stderr == f"darter: there is nothing to show: {why}\n", none.stderr
        assert ("nothing to show: " + why in none.stdout.replace("&apos;", "'").replace("&#39;", "'")) == (kind in ("svg", "speedscope")), none.stdout
        assert "nothing was recorded" not in none.stdout.lower() and "--idle" not in none.stdout
        assert darter("report", "-q", file, "-o", here / "a.out", "-f", kind, "--gc", check=0).stderr == ""
        idle = darter("report", file, "-f", kind, "--thread-name", "Thread-", check=0)
        assert re.fullmatch(r"darter: nothing was busy: all [0-9.]+ s of wall time of threads whose name matches 'Thread-' "
                            r"went into waiting. '--idle' shows where\n", idle.stderr), idle.stderr
        assert darter("report", file, "-f", kind, "--thread-name", "Thread-", "--idle", check=0).stderr == ""


def test_a_file_that_is_cut_off():
    with folder() as here:
        file, _ = recording(here)
        whole = file.read_bytes()
        cut = here / "cut.darter"
        cut.write_bytes(whole[:-60])  # a part of the last of its blocks
        done = darter("report", cut, check=0)
        assert "cut.darter was cut off before its end: what is left is shown" in done.stderr and "spin" in done.stdout, done
        assert darter("report", "-q", cut, check=0).stderr == ""
        # What is left becomes a whole recording again.
        darter("report", "-q", cut, "-o", here / "whole.darter", check=0)
        again = darter("report", here / "whole.darter", check=0)
        assert again.stderr == "" and again.stdout == done.stdout


def test_what_stands_behind_the_end():
    """Nothing is lost, and that is what is said."""
    with folder() as here:
        file, _ = recording(here)
        whole = darter("report", file, check=0)
        for more in (b"x", os.urandom(200), bytes(200), file.read_bytes()[32:90]):
            (here / "more.darter").write_bytes(file.read_bytes() + more)
            done = darter("report", here / "more.darter", check=0)
            assert "more.darter is whole; what the file has behind its end is no part of it" in done.stderr, done
            assert done.stdout == whole.stdout and "damaged" not in done.stderr, done


def test_a_loss_is_not_forgotten():
    """The figures are of what is left, and a file that was repaired tells what is missing, in each output that tells what it is
    worth."""
    with folder() as here:
        file, _ = recording(here, seconds=3)
        whole = file.read_bytes()
        ends = block_ends(whole)
        assert len(ends) > 3, ends
        lost = bytearray(whole)
        lost[(ends[1] + ends[2]) // 2] ^= 1
        (here / "lost.darter").write_bytes(lost)
        first = darter("report", here / "lost.darter", check=0)
        assert "1 of its " in first.stderr, first.stderr
        darter("report", "-q", here / "lost.darter", "-o", here / "repaired.darter", check=0)
        again = darter("report", here / "repaired.darter", check=0)
        assert again.stderr == "" and again.stdout == first.stdout, (first, again)
        good, left = (darter("report", "-q", path, check=0).stdout for path in (file, here / "repaired.darter"))
        samples = [int(re.search(r": ([0-9,]+) samples", text)[1].replace(",", "")) for text in (good, left)]
        assert samples[1] < samples[0], samples
        assert "Quality: good" not in left and re.search(r"Quality: .*% of the recording lost", left), left
        said = rf"was damaged: .* and {samples[0] - samples[1]} of {samples[0]} samples are lost"
        assert re.search(said, " ".join(left.split())), left
        for kind in ("svg", "chrome"):
            assert "% of the recording lost" in darter("report", here / "repaired.darter", "-f", kind, check=0).stdout, kind


def test_a_file_of_which_nothing_is_left():
    """Whole blocks are of no use without the one that tells whose they are."""
    with folder() as here:
        file, _ = recording(here)
        whole = bytearray(file.read_bytes())
        whole[70] ^= 1  # in the first block
        (here / "a.darter").write_bytes(whole)
        for words in ([], ["-f", "svg"], ["-o", here / "b.darter"]):
            done = darter("report", file, *words, check=1)
            assert "a.darter is damaged: nothing of what was recorded can be shown\n  if it was copied" in done.stderr, done
            assert done.stdout == ""
        assert [path.name for path in here.iterdir()] == ["a.darter"]


def test_every_length():
    with folder() as here:
        file, _ = recording(here)
        whole = file.read_bytes()
        for size in range(1, len(whole), max(1, len(whole) // 40)):
            (here / "cut").write_bytes(whole[:size])
            done = darter("report", here / "cut")
            assert "cut off" in done.stderr and done.returncode in (0, 1), (size, done)
            assert (done.returncode == 0) == ("what is left is shown" in done.stderr) == (done.stdout != ""), (size, done)


def test_a_file_that_is_still_written():
    with folder() as here, target(SYSTEM, "hum.py") as program:
        with Recorder(["-o", here / "a.darter", program.pid], here) as recorder:
            wait_recorded(here / "a.darter", program.pid)
            done = darter("report", here / "a.darter", check=0)
            assert "a.darter is still going on: what was written until now is shown" in done.stderr, done.stderr
            (here / "copy.darter").write_bytes((here / "a.darter").read_bytes())
            assert "was cut off before its end" in darter("report", here / "copy.darter", check=0).stderr
            recorder.end()
        assert darter("report", here / "a.darter", check=0).stderr == ""


def test_a_copy_is_the_same():
    with folder() as here:
        file, _ = recording(here)
        darter("report", file, "-o", here / "copy.darter", check=0)
        for name in ("text", "folded", "chrome", "speedscope"):
            assert darter("report", here / "copy.darter", "-f", name).stdout == darter("report", file, "-f", name).stdout


def test_files_that_are_no_recordings():
    with folder() as here:
        file, _ = recording(here)
        whole = bytearray(file.read_bytes())
        for name, data, part in (("text", b"no recording\n" * 100, "is not a recording of darter\n  'darter record -o"),
                                 ("empty", b"", "it is empty"), ("head", whole[:10], "is cut off"),
                                 ("nothing", whole[:64], "is cut off in its first block: no part of it can be read"), ("zeros", bytes(4096), "is not a recording")):
            (here / name).write_bytes(data)
            done = darter("report", here / name, check=1)
            assert part in done.stderr and done.stdout == "", (name, done)
        for place in range(40, len(whole), max(1, len(whole) // 40)):
            damaged = bytearray(whole)
            damaged[place] ^= 0x5A
            (here / "damaged").write_bytes(damaged)
            done = darter("report", here / "damaged")
            assert done.returncode in (0, 1) and "damaged" in done.stderr, (place, done)
        done = darter("report", here / "not-there.darter", check=4)
        assert "No such file or directory" in done.stderr
        assert "cannot be read: Is a directory\n  recordings are files: DIRECTORY/*.darter" in darter("report", here, check=1).stderr


def test_one_of_several_that_cannot_be_read():
    """The others are shown. The newest file of a rotation has nothing in it for a moment: that is no failure."""
    with folder() as here:
        file, _ = recording(here)
        shown = darter("report", file, check=0).stdout
        (here / "new.darter").write_bytes(file.read_bytes()[:32])
        (here / "text.darter").write_text("no recording")
        done = darter("report", here / "new.darter", file, check=0)
        assert done.stdout == shown and "new.darter is empty: the recording ended before" in done.stderr, done
        assert darter("report", "-q", here / "new.darter", file, check=0).stderr == ""
        done = darter("report", file, here / "text.darter", here / "gone.darter", check=1)
        assert done.stdout == shown and "text.darter is not a recording" in done.stderr and "No such file" in done.stderr, done
        assert darter("report", here / "gone.darter", file, here / "text.darter", check=4).stdout == shown
        done = darter("report", here / "new.darter", here / "text.darter", check=1)
        assert "nothing to show in any of these 2 files" in done.stderr and done.stdout == "", done


def test_several_files_are_one():
    """Files of a rotation, in any order: one process, and its time as long as all of them together."""
    with folder() as here, target(SYSTEM, "hum.py") as program:
        darter("record", "-q", "-d", "2", "--rotate", "0.5", "-o", here / "a.darter", program.pid, check=0)
        files = sorted(here.iterdir())
        assert len(files) > 2
        sums = [sum(weight for _, weight in stacks(file)) for file in files]
        assert darter("report", *reversed(files), "-o", here / "all.darter", check=0).stderr == ""
        together = sum(weight for _, weight in stacks(here / "all.darter"))
        # Files overlap by a moment, which counts once.
        assert max(sums) < together <= sum(sums) + len(files), (together, sums)
        text = darter("report", *files, check=0).stdout
        assert text.startswith(f"Recorded process {program.pid} ") and text == darter("report", here / "all.darter").stdout
        trace = json.loads(darter("report", *files, "-f", "chrome", check=0).stdout)
        assert len({event["pid"] for event in trace["traceEvents"]}) == 1
        # One that cannot be read is an error, and no reason to show nothing.
        done = darter("report", *files, here / "missing.darter", check=4)
        assert done.stdout == text and "missing.darter" in done.stderr


def total(*files):
    """Seconds of all threads."""
    lines = darter("report", "-q", *files, "--idle", "-f", "folded", check=0).stdout.splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines) / 1e6


def test_a_process_that_ends_counts_once():
    """Two recorders look at it until it ends; and a recording beside its own copy, and beside itself."""
    with folder() as here, target(SYSTEM, "hum.py") as program:
        with Recorder(["-o", "a.darter", program.pid], here) as one, Recorder(["-o", "b.darter", program.pid], here) as other:
            for name in ("a.darter", "b.darter"):
                wait_recorded(here / name, program.pid)
            time.sleep(1)
            program.kill()
            one.end(0)
            other.end(0)
        first, second = here / "a.darter", here / "b.darter"
        (here / "copy.darter").write_bytes(first.read_bytes())
        for again in (second, here / "copy.darter", first):
            done = darter("report", first, again, check=0)
            assert done.stdout.startswith(f"Recorded process {program.pid} ") and "was recorded twice" in done.stderr, done
            # The threads of a recorder do not begin and end with those of the other one.
            most = max(total(first), total(again))
            assert 0.98 * most <= total(first, again) and total(first, again) < 1.3 * most, (most, total(first, again))
        same = [darter("report", first, again, check=0) for again in (here / "copy.darter", first)]
        assert (same[0].stdout, same[0].stderr) == (same[1].stdout, same[1].stderr), same


def test_a_title_that_changes():
    """It is one process in the files of a rotation, by the title that it had first."""
    with folder() as here, target(SYSTEM, "titles.py") as program:
        with Recorder(["-v", "--rotate", "0.4", "-o", "a.darter", program.pid], here) as recorder:
            recorder.wait_said("recording process")
            for job in range(3):
                program.send(f"job {job}")
                program.wait_line(f"job {job}")
                said = recorder.errors.count("written to")
                wait_for(lambda said=said: recorder.errors.count("written to") > said + 1, "a file has this title")
            recorder.end()
        files = sorted(here.glob("*.darter"))
        titles = {darter("report", "-q", file).stdout.splitlines()[0].partition("(")[2].partition(")")[0] for file in files}
        assert titles >= {"job 0", "job 1"}, titles
        done = darter("report", *files, check=0)
        assert done.stdout.startswith(f"Recorded process {program.pid} (") and "titles.py" in done.stdout.splitlines()[0], done.stdout


def test_recordings_of_one_time():
    """Two of one process, which began one after the other: the time that they cover, and what was recorded twice counts once."""
    with folder() as here, target(SYSTEM, "hum.py") as program:
        with Recorder(["-q", "-d", "2", "-o", "a.darter", program.pid], here) as first:
            wait_recorded(here / "a.darter", program.pid)
            darter("record", "-q", "-d", "2", "-o", here / "b.darter", program.pid, check=0)
            first.end(None)
        metas = [Recording((here / name).read_bytes()).meta for name in ("a.darter", "b.darter")]
        boots = [meta[-5] for meta in metas]
        union = (boots[1] + metas[1][1] - boots[0]) / 1e9
        text = darter("report", here / "a.darter", here / "b.darter", check=0).stdout
        assert abs(float(re.search(r" for ([0-9.]+) s: ", text)[1]) - union) < 0.01 < 4 - union, (text, metas)
        assert "Nothing could be" not in text, text
        assert float(re.search(r"; ([0-9.]+) of 100 rounds a second", text)[1]) < 115, text


def test_json():
    """The document of a recording, of what is in its file."""
    with folder() as here, target(SYSTEM, "hum.py") as program:
        file = here / "a.darter"
        first = json.loads(darter("record", "-j", "-q", "-d", "0.5", "-o", file, program.pid, check=0).stdout)
        again = json.loads(darter("report", "-j", file, check=0).stdout)
        for document in (first, again):
            schema.check(document, schema.load("record"))
        assert (again["files"], again["format"], again["reason"]) == ([], None, None), again
        same = set(first) - {"files", "format", "reason", "own_cpu_ns", "own_rss"}
        assert {name: first[name] for name in same} == {name: again[name] for name in same}, (first, again)
        done = darter("report", "--json", "-q", file, here / "gone.darter", "-o", here / "a.svg", check=4)
        document = json.loads(done.stdout)
        schema.check(document, schema.load("record"))
        assert (document["files"], document["format"], done.stderr) == ([str(here / "a.svg")], "svg", ""), document
        assert [(error["pid"], error["code"]) for error in document["errors"]] == [(None, "not found")] and document["samples"] > 0
        assert "<svg" in (here / "a.svg").read_text()
        document = json.loads(darter("report", "--json", here / "gone.darter", check=4).stdout)
        schema.check(document, schema.load("record"))
        assert document["samples"] == document["processes"] == 0 and len(document["errors"]) == 1, document


@each([
    (["a.darter", "--json", "-f", "text"], "--json and -f are two results for stdout"),
    (["a.darter", "--json", "-o", "-"], "--json and -o - are two results for stdout"),
    ([], "which recording?"),
    (["-", "a.darter", "-"], "'-' is given twice: stdin can be read only once"),
    ([""], "an empty text is no name of a file"),
    (["a.darter", "-f", "xml"], "there is no format 'xml'"),
    (["a.darter", "-o", "a.xyz"], "which format is 'a.xyz' to have?"),
    (["a.darter", "-o", "/no/such/a.svg"], "there is no directory '/no/such/'"),
    (["a.darter", "--hide", "("], "is not a POSIX extended regular expression"),
    (["a.darter", "--gil", "--cpu"], "exclude each other"),
    (["a.darter", "--children"], "has no option --children"),
])
def test_mistakes(case):
    words, part = case
    # Where something is piped in, who names no file may have meant that.
    done = darter("report", *words, check=2, wrap=("sh", "-c", 'echo | "$@"', "sh"))
    assert ("; a file named - is stdin" in done.stderr) == (words == []), done
    assert part in done.stderr and done.stdout == "", done.stderr


def test_an_output_that_fails_leaves_nothing():
    with folder() as here:
        file, _ = recording(here)
        (here / "a.svg").write_text("old")
        (here / "bad").write_text("no recording")
        darter("report", here / "bad", "-o", here / "a.svg", check=1)
        assert (here / "a.svg").read_text() == "old"
        assert sorted(path.name for path in here.iterdir()) == ["a.darter", "a.svg", "bad"]
        for kind in ("svg", "darter"):
            full = darter("report", file, "-f", kind, "-o", "/dev/full", check=1)
            assert "darter: '/dev/full' cannot be written: No space left on device\n  make room there, " in full.stderr, full
        assert os.path.exists("/dev/full")


# A name of 30,000 bytes, a stack of it that is 65,000 deep, and 300 different frames inside of that.
BOMB = base64.b64decode(
    "iWRhcnRlcgoBAAEAAAAAAGdFIwEAAAAAOQACdZwX5nzXREJLAgEAAAAAAACKBAAA/oUCAGphSxtOqz0bp7EmDCi1L/0EaLQOAJbfbSUQuGw6/O"
    "9T+P/vKVCSh10edvlNHnZ52GX8f///////bze2tzQCfgBgAFgAV6xUoTJFShQoT5w0YbJESRIkR4wUITJESBAgP3z04LFDRw4cN2zUoDFDRgwY"
    "L1y0YLFCRQoUJ0yUIDFCRAgQHzx04LBBQwYMFyxUoDBBQgQIDxw0YLBAQQIEBwwUIEA2QMCYWIAmszOFOR+7rGyWTPKmJRNA2xdr2c/J/0l541"
    "nyyCF/3PHGGV9c8cQRP9zwwgkfXPDAAf/b77753ltv53njfbfdddM9t9xxw/22222zvbbaaaN9ttkdO3XozJETB84bN23YrFGTBs0ZM2XIjBET"
    "BswXL124bNFSlgVLs5Z1rGH9/NWubjWrV63qVKP61KYuNaktH7WoQ105qD/t6U5zetOazjSmL23pSlN60pKONKQf7ehGM3rRik40og9t6EITet"
    "CCDjSg/+xnyvvM5z3refI8AZGF7GMd21jGLlaxiUXsYQ1bWMIOVrCBBexf/dpXvu5Vr87mFa93tWtd6TpXucYVrm91a1vZula1phWtZzV72MK+"
    "PNjA/rWve83rXes617i+ta1rTesHAGYHoAPXKyYCWp3lfaAfFKAiClCDF/gs9Q6QJRUABjucQdByFYYDW3pmZmZmUlVVVVVWVVVZVVZVWlVVWm"
    "WqqqqqWologFhEtKgZ5GoGWjxErmaQU3CFF5yicQpfXDvaTRAUjgCFAIQA88F0MJMm0mwwGcwFU8E8mgmm0SyaRHNoCs2gCTR/ps/smTxzZ+rM"
    "nIkzb6bNrJk08zZnpm3KzJhZmzDzZbrMlskyaXNlqsyUiTJPpsmc7cJ2b9cdd24Htvvaee26dly7rZ3WLmuHtbvaWe2qdlS7qZ3ULmoHtXuSIR"
    "FgKomJjCCIxWQlJCKxmCzWJAswEnyzk9NNsPk1vWbX5JpbU2tmTax5Na1m1aSaU1NqRk2o+TSHTCEzyAQyf0wfs8fkMXdMHTPHxDFvTBuzxqQx"
    "Z0wZM8Z0mjDmi+litpgs5oqpYqaYKOaJaWKWmE2TxBwxRcwQE8T8MJmmh9lhcpgbpoaZYWKYS1NpXpgWZoVJYU6YEmaECSEpLop74pq4JW7TJX"
    "FHXBE3xAVxP1ym6+F2uBzuhqvhZrgY7tJVuheuhVvhUrgTroQb4UK4D66Dm3SRboPL4C64Cu7RTXCNbtElukNX6AZdoPtzfW7P5bk7V+fmXJx7"
    "c21uzaW5tztzbVfmxtzahbkv1+W2XJZLuytX5aZclHtyTe5shh0jAo5oswFaTktdNyAlm4EDBQCQ1IJEZEk/mt/tN/Oz/WR+Mb/aD+b38nP5tf"
    "xYfrTfyk/ll/JD+Z38TH6zG3bf7eV1F+x+Xa/bdbnu1tW6WRfrXl2rW3Wp7tSVulEX6j7dIVfIDXKB3B/Xx+1xedwdV8fNcXHcG9fGrXFp3BlX"
    "xo1xnS6M++K6uC0ui7viqrgBDgC4FdxWXaxTgGopQI0UV4UUoAK/uqpS7nimAoFZRAdENU1xVfUClwLur1V4qu0XCAPQQ2o=")


def test_a_small_recording_with_a_huge_output():
    """No output is without bound: names and stacks are cut, and the rest is refused."""
    with folder() as here:
        (here / "bomb.darter").write_bytes(BOMB)
        for kind in ("chrome", "speedscope", "svg", "text"):
            darter("report", here / "bomb.darter", "-f", kind, "-o", here / "out", check=0)
            assert (here / "out").stat().st_size < 100 << 20, kind
            (here / "out").unlink()
        words = ["report", str(here / "bomb.darter"), "-f", "folded"]
        done = darter(*words, "-o", here / "out", check=1)
        said = "darter: as folded this recording would be larger than 2 GiB\n  svg and text stay small"
        assert done.stderr.startswith(said), done.stderr
        assert [path.name for path in here.iterdir()] == ["bomb.darter"]
        done = subprocess.run([DARTER, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
        assert done.returncode == 1 and done.stderr.startswith(said), done.stderr
