"""Cores whose bytes were changed: an answer in bounded time and memory, whatever they say."""

import os
import random
import shutil
import signal
import struct

import cores
import truths
from harness import SYSTEM, USABLE, darter, each, limit, size

MEMORY = 512 << 20  # bytes of address space that darter may have
BOUND = ("prlimit", f"--as={MEMORY}")


def loads(core):
    """Offset, size and flags of the segments that lie in the file."""
    with open(core, "rb") as file:
        head = file.read(64)
        where, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
        file.seek(where)
        table = file.read(56 * count)
    found = []
    for i in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, 56 * i)
        if kind == 1 and length:
            found.append((offset, length, flags))
    return found


def answer(core, *options):
    done = darter("dump", "--json", "--core", core, *options, wrap=BOUND, limit=30)
    assert done.returncode in (0, 1, 4), (done.returncode, done.stderr)
    document = truths.json.loads(done.stdout)
    assert len(document["snapshots"]) + len(document["errors"]) == 1, document
    for error in document["errors"]:
        assert error["message"], error
    return document


WORDS = [0, 1, 8, 0xffffffffffffffff, 0x7fffffffffffffff, 0x4141414141414141, 0x10, 1 << 46, 0xfff]


def spoil_memory(file, chance, segments):
    """Other words in memory that can be written: pointers to elsewhere in it, lengths, nothing."""
    writable = [segment for segment in segments if segment[2] & 2]
    for _ in range(chance.choice([1, 10, 100, 1000])):
        offset, length, _ = chance.choice(writable)
        at = offset + chance.randrange(length // 8) * 8
        file.seek(chance.choice(writable)[0])
        word = chance.choice([*WORDS, struct.unpack("<Q", file.read(8))[0], chance.getrandbits(47) & ~7])
        file.seek(at)
        file.write(struct.pack("<Q", word))


def spoil_headers(file, chance, segments):
    """Other bytes in headers and notes, which the kernel writes before the first segment."""
    end = min(offset for offset, _, _ in segments)
    for _ in range(chance.choice([1, 4, 16, 64])):
        file.seek(chance.randrange(16, end))
        file.write(chance.choice([b"\0", b"\xff", b"\x7f", bytes([chance.randrange(256)]), b"\xff" * 8, b"\0" * 8]))


@each(USABLE)
@each(["memory", "headers"])
@limit(1800)
def test_spoilt_cores(python, what):
    spoil = {"memory": spoil_memory, "headers": spoil_headers}[what]
    root = ["--root", python.root or "/"]
    with cores.mortal(python, "truth_threads.py", "named") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        segments = loads(core)
        spoilt = core.with_name("spoilt")
        shown = 0
        for seed in range(size(12, 250)):
            shutil.copy(core, spoilt)
            with open(spoilt, "r+b") as file:
                spoil(file, random.Random(seed), segments)
            shown += len(answer(spoilt, *root)["snapshots"])
        assert len(answer(core, *root)["snapshots"]) == 1
    assert shown > 0, "not one of them was read: the test does not reach the stacks"


def test_a_core_that_is_all_one_word():
    """Every pointer leads to the same place, which may be itself."""
    with cores.mortal(SYSTEM, "truth_threads.py", "named") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        core = died()
        for offset, length, flags in loads(core):
            if not flags & 2:
                continue
            word = struct.pack("<Q", 0x946000)
            with open(core, "r+b") as file:
                file.seek(offset)
                file.write(word * (min(length, 1 << 20) // 8))
        assert answer(core)["errors"]
