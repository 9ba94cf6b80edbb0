"""Core files that are compressed, and what pretends to be one."""

import bz2
import contextlib
import gzip
import lzma
import os
import re
import struct
import subprocess
import tempfile
from pathlib import Path

import cores
import truths
from harness import SYSTEM, darter, each, need_program, need_root, target

FORMATS = ["gz", "zst", "lz4"]


def pack(data, kind):
    if kind == "gz":
        return gzip.compress(data, 1)
    program = need_program({"zst": "zstd", "lz4": "lz4"}[kind])
    return subprocess.run([program, "-1", "-c"], input=data, capture_output=True, check=True).stdout


@contextlib.contextmanager
def program_and_core():
    with target(SYSTEM, "truth_threads.py", "named", **cores.SMALL) as program, \
            tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        core, _ = cores.gcore(program.pid, folder)
        yield program, core, Path(folder) / "packed"


@each(FORMATS)
def test_a_compressed_core_tells_the_truth(kind):
    with program_and_core() as (program, core, packed):
        data = core.read_bytes()
        plain = truths.check_core(program, core)
        packed.write_bytes(pack(data, kind))  # the name says nothing
        shown = truths.check_core(program, packed)
        assert shown["threads"] == plain["threads"] and shown["warnings"] == [], shown["warnings"]
        assert shown["core"]["size"] <= len(data), shown["core"]
        half = len(data) // 2
        packed.write_bytes(pack(data[:half], kind) + pack(data[half:], kind))
        assert truths.check_core(program, packed)["warnings"] == []


@each(FORMATS)
def test_a_compressed_core_that_is_damaged(kind):
    """Cut, or with other bytes in it: an error in words, or true frames and a warning."""
    with program_and_core() as (program, core, packed):
        data = pack(core.read_bytes(), kind)
        truth = {thread["ident"]: thread for thread in truths.told(program)["threads"]}
        for part in (1, 2, 4, 8, 12, 15):
            at = len(data) * part // 16
            for bad in (data[:at], data[:at] + b"\x5a" * 64 + data[at + 64:]):
                packed.write_bytes(bad)
                done = darter("dump", "--json", "--core", packed)
                document = truths.json.loads(done.stdout)
                if done.returncode:
                    assert done.returncode == 1 and len(document["errors"]) == 1, done
                    error = document["errors"][0]
                    assert re.search("damaged|cut short|cannot be read", error["message"]), error
                    assert not re.search("the file that the process had|ulimit", error["hint"] or ""), error
                    continue
                [snapshot] = document["snapshots"]
                assert any("is damaged or cut short" in text for text in snapshot["warnings"]), snapshot["warnings"]
                for thread in snapshot["threads"]:
                    frames = [tuple(frame) for frame in truth[thread["ident"]]["frames"]]
                    assert truths.stack(thread) == frames[:len(thread["frames"])], thread
        for length in (4, 5, 10, 20):
            packed.write_bytes(data[:length])
            done = darter("dump", "--core", packed, check=1)
            assert re.search("damaged or cut short|is cut short|not a core file", done.stderr), done.stderr


def header(whole):
    """The beginning of a core that says it is so large."""
    elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return elf + struct.pack("<IIQQQQQQ", 1, 6, 4096, 0x10000, 0, whole - 4096, whole, 4096)


def refuse(packed, code, pattern, **how):
    done = darter("dump", "--core", packed, check=code, **how)
    assert re.search(pattern, done.stderr), done.stderr
    assert not done.stdout
    return done.stderr


@each(FORMATS)
def test_what_is_no_core_is_not_decompressed(kind):
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        for data in (bytes(1 << 26), b"some text " * 1000, Path("/bin/true").read_bytes()):
            packed.write_bytes(pack(data, kind))
            refuse(packed, 1, "packed is not a core file")


@each(FORMATS)
def test_a_core_that_is_too_large_is_refused_before_it_is_decompressed(kind):
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        packed.write_bytes(pack(header(1 << 40) + bytes(1 << 22), kind))
        said = refuse(packed, 1, "is too large: decompressed it has 1099511627776 bytes, the limit is 17179869184")
        assert "DARTER_CORE_LIMIT=1025G raises the limit" in said, said
        packed.write_bytes(pack(header(1 << 24) + bytes((1 << 24) - 120), kind))
        refuse(packed, 1, "the limit is 1048576", env={"DARTER_CORE_LIMIT": "1m"})
        refuse(packed, 2, "DARTER_CORE_LIMIT is 'much'", env={"DARTER_CORE_LIMIT": "much"})
        refuse(packed, 2, "DARTER_CORE_LIMIT is '99999999T'", env={"DARTER_CORE_LIMIT": "99999999T"})
        refuse(packed, 2, "DARTER_CORE_LIMIT is '1 '", env={"DARTER_CORE_LIMIT": "1 "})
        refuse(packed, 2, "DARTER_CORE_LIMIT is 'G'", env={"DARTER_CORE_LIMIT": "G"})
        refuse(packed, 4, "no Python interpreter is found", env={"DARTER_CORE_LIMIT": ""})
        # More than the headers speak of is left alone.
        packed.write_bytes(pack(header(1 << 20) + bytes(1 << 27), kind))
        refuse(packed, 4, "no Python interpreter is found", env={"DARTER_CORE_LIMIT": "1M"})


def test_a_disk_without_room():
    need_root()
    need_program("unshare")
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        packed.write_bytes(pack(header(1 << 23) + os.urandom(1 << 23), "gz"))
        small = ["unshare", "-m", "sh", "-c", f'mkdir {folder}/small; mount -t tmpfs -o size=4m none {folder}/small && '
                 f'TMPDIR={folder}/small exec "$@"', "sh"]
        said = refuse(packed, 1, f"cannot be decompressed: {folder}/small has not enough room", wrap=small)
        assert "TMPDIR" in said, said
        refuse(packed, 4, "no Python interpreter is found")


def test_nowhere_to_decompress_to():
    need_program("unshare")
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        packed.write_bytes(pack(header(1 << 20) + bytes((1 << 20) - 120), "gz"))
        for wrong, why in ((f"{folder}/none", "No such file or directory"), (packed, "Not a directory")):
            refuse(packed, 1, f"TMPDIR is {wrong}, and no file can be made there: {why}", env={"TMPDIR": str(wrong)})
        refuse(packed, 4, "no Python interpreter is found", env={"TMPDIR": ""})
        need_root()
        sealed = ["unshare", "-m", "sh", "-c", "for i in /var/tmp /tmp; do mount --bind $i $i && mount -o remount,bind,ro $i; "
                  'done && exec "$@"', "sh"]
        said = refuse(packed, 1, "no file can be made in /var/tmp and in /tmp: ", wrap=sealed, env={"TMPDIR": ""})
        assert "TMPDIR names another directory" in said, said


def test_formats_that_are_not_read_are_named():
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        for name, compress in (("xz", lzma.compress), ("bzip2", bz2.compress)):
            packed.write_bytes(compress(header(1 << 20)))
            said = refuse(packed, 1, f"is compressed with {name}, which this darter does not read")
            assert f"'{name} -d' decompresses it" in said, said


def test_a_window_that_takes_too_much_memory():
    zstd = need_program("zstd")
    with tempfile.TemporaryDirectory(prefix="darter-core-") as folder:
        packed = Path(folder) / "packed"
        source = Path(folder) / "core"
        with source.open("wb") as out:
            out.write(header(1 << 28))
            out.truncate(1 << 28)
        subprocess.run([zstd, "-q", "-1", "--long=28", "--single-thread", source, "-o", packed], check=True)
        assert "--long=31" in refuse(packed, 1, "window that takes too much memory")
