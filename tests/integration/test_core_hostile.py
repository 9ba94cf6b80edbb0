"""Cores whose bytes were changed: an answer in bounded time and memory, whatever they say."""

import os
import shutil
import signal
import struct
import tempfile

import cores
import spoil
import truths
from harness import SYSTEM, USABLE, darter, each, limit, record_figure
from layouts import layout_of

HERE = [python for python in USABLE if not python.missing]


def spoil_words(path, core, chance):
    """Other words anywhere in memory that can be written: pointers to elsewhere in it, lengths, nothing."""
    with open(path, "r+b") as file:
        for _ in range(chance.choice([1, 10, 100, 1000])):
            offset, length, _, _ = chance.choice(core.writable)
            file.seek(offset + chance.randrange(length // 8) * 8)
            word = chance.choice([*spoil.WORDS, chance.choice(core.writable)[3], chance.getrandbits(47) & ~7])
            file.write(struct.pack("<Q", word))


def spoil_bytes(path, start, end, chance):
    with open(path, "r+b") as file:
        for _ in range(chance.choice([1, 4, 16, 64])):
            file.seek(chance.randrange(start, end))
            file.write(chance.choice([b"\0", b"\xff", b"\x7f", bytes([chance.randrange(256)]), b"\xff" * 8, b"\0" * 8]))


KINDS = ["words", "headers", "notes", "cut", *spoil.KINDS]


def spoil_core(path, core, kind, chance, layout, runtime):
    if kind == "words":
        spoil_words(path, core, chance)
    elif kind == "headers":
        spoil_bytes(path, 16, core.headers_end, chance)
    elif kind == "notes":
        spoil_bytes(path, core.headers_end, core.notes_end, chance)
    elif kind == "cut":
        os.truncate(path, chance.choice([chance.randrange(core.size), chance.randrange(core.notes_end + 4096)]))
    else:
        with spoil.Memory(path, core.pieces) as memory:
            assert spoil.spoil(spoil.Structures(memory, layout, runtime), kind, chance), kind


def look_at(python, tally):
    layout, options = layout_of(python), ["--root", python.root or "/"]
    with cores.mortal(python, "truth_threads.py", "named") as (program, died):
        runtime = spoil.runtime_of(program.pid)
        os.kill(program.pid, signal.SIGABRT)
        path = died()
        spoilt, core = path.with_name("spoilt"), cores.Core(path)
        for number, (kind, chance) in enumerate(spoil.chances(spoil.count_each(HERE), python.label, KINDS)):
            shutil.copy(path, spoilt)
            spoil_core(spoilt, core, kind, chance, layout, runtime)
            tally.look(f"{python.label} {kind} {number}", number, "--core", spoilt, *options)
        healthy = spoil.Tally()
        healthy.look(python.label, 1, "--core", path, *options)
        assert healthy.verdicts == {"shown": 1}, healthy.verdicts


@limit(7200)
def test_corrupted_cores():
    rows, shown = [], 0
    for python in HERE:
        tally = spoil.Tally()
        look_at(python, tally)
        rows.append(tally.row(python.label))
        shown += tally.shown
    assert shown, "not one of them was read: the test does not reach the stacks"
    record_figure("Corrupted cores", "\n".join(spoil.HEAD + rows))


def test_a_faulting_thread_that_cannot_be_reached():
    """The list of threads leads nowhere before it comes to the oldest, which got the signal: it is not without Python."""
    layout = layout_of(SYSTEM)
    with cores.mortal(SYSTEM, "truth_threads.py", "named") as (program, died):
        runtime = spoil.runtime_of(program.pid)
        os.kill(program.pid, signal.SIGABRT)
        path = died()
        with spoil.Memory(path, cores.Core(path).pieces) as memory:
            newest = spoil.Structures(memory, layout, runtime).places["thread"][0]
            memory.write(newest + int(layout["thread.next"]), struct.pack("<Q", 0x10))
        first, *others = truths.seen_core(path)["threads"]
        text = darter("dump", "--core", path, check=0).stdout
    assert first["faulting"] and first["tid"] == program.pid and first["frames"] == [], first
    assert first["torn"] and first["proof"] == "none", first
    assert [thread["torn"] for thread in others] == [False], others
    assert "[its frames are missing or damaged in the core]" in text and "no Python code" not in text, text


def test_a_core_that_is_all_one_word():
    """Every pointer leads to the same place, which may be itself."""
    with cores.mortal(SYSTEM, "truth_threads.py", "named") as (program, died):
        os.kill(program.pid, signal.SIGABRT)
        path = died()
        with open(path, "r+b") as file:
            for offset, length, _, _ in cores.Core(path).writable:
                file.seek(offset)
                file.write(struct.pack("<Q", 0x946000) * (min(length, 1 << 20) // 8))
        tally = spoil.Tally()
        tally.look("one word", 0, "--core", path)
        assert not tally.shown, tally.verdicts


# ---- notes that would cost much memory or time ----

NT_FILE, OTHER = 0x46494c45, 0x999


def core_of_notes(path, headers, *notes):
    """A core that has nothing but notes (type, description, size of it: the rest is a hole), with so many headers of them."""
    begin = 64 + 56 * headers
    with open(path, "wb") as file:
        file.seek(begin)
        for kind, description, length in notes:
            at = file.tell()
            file.write(struct.pack("<III8s", 5, length, kind, b"CORE") + description)
            file.seek(at + 20 + length)
        file.truncate()
        size = file.tell() - begin
        file.seek(0)
        file.write(b"\x7fELF\2\1\1".ljust(16, b"\0"))
        file.write(struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, headers, 0, 0, 0))
        file.write(struct.pack("<IIQQQQQQ", 4, 0, begin, 0, 0, size, 0, 4) * headers)


def list_of_files(count, page=4096):
    rows = b"".join(struct.pack("<QQQ", address, address + 4096, 0) for address in range(1 << 16, (count + 16) << 12, 4096))
    return struct.pack("<QQ", count, page) + rows + b"".join(b"%c%c\0" % (33 + i // 90 % 90, 33 + i % 90) for i in range(count))


def one(kind, description, size=0):
    return kind, description, size or len(description) + -len(description) % 4


BOMBS = {
    "a list of files that makes no sense, 60 times": lambda: (60, one(NT_FILE, struct.pack("<QQ", 1, 0), 15 << 20)),
    "the same, too large": lambda: (60, one(NT_FILE, struct.pack("<QQ", 1, 0), 63 << 20)),
    "as many files as there may be": lambda: (1, one(NT_FILE, list_of_files(1 << 18))),
    "more than that": lambda: (1, one(NT_FILE, list_of_files(600000))),
    "far more": lambda: (1, one(NT_FILE, list_of_files(2400000))),
    "65,000 headers of the same notes": lambda: (65000, *[one(OTHER, b"", 1 << 16)] * 16),
}


@each(BOMBS)
def test_notes_cost_little(what):
    with tempfile.NamedTemporaryFile(prefix="darter-core-") as core:
        headers, *notes = BOMBS[what]()
        core_of_notes(core.name, headers, *notes)
        tally = spoil.Tally()
        tally.look(what, 0, "--core", core.name)
    assert tally.verdicts == {"not python": 1}, tally.verdicts
