"""The .darter file as docs/darter-file.md describes it: a reader that was written after that page finds in a file what
darter put there."""

import os
import re
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from darter_file import Recording, xxh64
from harness import BUILD, ROOT, SYSTEM, darter, target


def test_another_reader_finds_what_was_written():
    with tempfile.TemporaryDirectory(prefix="darter-file-") as folder:
        path = Path(folder) / "example.darter"
        truth = subprocess.run([BUILD / "tests" / "hammer" / "recording", path], capture_output=True, text=True, check=True)
        recording = Recording(path.read_bytes())
    wanted = truth.stdout.splitlines()
    # C prints a double exactly, as a hexadecimal number.
    words = wanted[-1].split()
    wanted[-1] = " ".join([*words[:3], str(float.fromhex(words[3])), *words[4:]])
    found = list(recording.lines())
    assert len(found) == len(wanted) > 100, (len(found), len(wanted))
    for mine, theirs in zip(found, wanted):
        assert mine == theirs, f"\n{mine}\n{theirs}"
    assert recording.ended and len(recording.packings) == 7, recording.packings


def test_a_recording_tells_when_it_began():
    """By a clock that nobody sets, too, and which boot that counts from."""
    with tempfile.TemporaryDirectory(prefix="darter-file-") as folder, target(SYSTEM, "hum.py") as program:
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        darter("record", "-q", "-d", "0.2", "-o", Path(folder) / "a.darter", program.pid, check=0)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        boot, began = Recording((Path(folder) / "a.darter").read_bytes()).meta[-6:-4]
    assert boot.decode() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert before < began < after


def test_the_page_has_the_version_that_is_written():
    """And says from which one on a file has what."""
    page = (ROOT / "docs" / "darter-file.md").read_text()
    (major,) = re.findall(r"^\| 8 \| u16 \| major version: (\d+)\.", page, re.M)
    (minor,) = re.findall(r"^\| 10 \| u16 \| minor version: (\d+)\.", page, re.M)
    with tempfile.TemporaryDirectory(prefix="darter-file-") as folder, target(SYSTEM, "hum.py") as program:
        darter("record", "-q", "-d", "0.2", "-o", Path(folder) / "a.darter", program.pid, check=0)
        written = struct.unpack_from("<HH", (Path(folder) / "a.darter").read_bytes(), 8)
    assert written == (int(major), int(minor))
    told = {int(version) for version in re.findall(rf"from version {major}\.(\d+) on", page)}
    assert told == set(range(1, int(minor) + 1)), told


def test_a_process_has_an_origin():
    """When it began, and an image that is another one after an exec."""
    again = ("import os, sys, time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: sum(range(1000))\n"
             "len(sys.argv) > 1 and os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])")
    with tempfile.TemporaryDirectory(prefix="darter-file-") as folder:
        file = Path(folder) / "a.darter"
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        darter("record", "-q", "-o", file, "--", *SYSTEM.argv, "-c", again, again, check=0)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        origins = [*Recording(file.read_bytes()).origins.values()]
    assert len(origins) == 2 and len({start for start, _ in origins}) == 1, origins
    assert before - 10**9 // os.sysconf("SC_CLK_TCK") <= origins[0][0] <= after, (before, origins, after)
    assert len({image for _, image in origins} - {0}) == 2, origins


def test_the_sum_is_the_one_that_everybody_has():
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(b"Nobody inspects the spammish repetition", 0) == 0xFBCEA83C8A378BF1
