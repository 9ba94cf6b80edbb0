"""Damage to what an interpreter is made of, in a running process or in a core, and a judgement of what darter says then.

The structures are found by the same offsets that darter goes by (layouts.py), so that the damage is where it reads:
links that go round, pointers to nowhere, lengths beyond all memory, flipped bits, a description that is not true.
"""

import collections
import json
import random
import re
import struct
import subprocess

from harness import BUILD, FULL, size
from weigh import ASAN, sanitizers, weighed

LIMIT = 30  # seconds after which darter is taken to hang
LOOK = 2    # seconds that a look may take on a machine that does nothing else
WORDS = [0, 1, 8, 0xfff, 0x10, 1 << 46, 0x4141414141414141, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff]
LENGTHS = [(1 << 20) - 1, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 38, 1 << 47, 1 << 60, (1 << 63) - 1, (1 << 64) - 1]
LINKS = ["runtime.interpreters_head", "interpreter.next", "interpreter.threads_head", "interpreter.gil", "thread.next",
         "thread.prev", "thread.interp", "thread.frame", "thread.cframe", "cframe.current_frame", "cframe.previous",
         "frame.previous", "frame.code", "code.name", "code.filename", "code.linetable", "dict.keys"]
SIZES = ["unicode.length", "unicode.state", "bytes.ob_size", "code.units", "code.firstlineno", "dict.mask",
         "dictkeys.size", "dictkeys.log2_size", "dictkeys.log2_index_bytes", "dictkeys.nentries", "gil.switch_number"]
# What the layout says beside offsets.
CONSTANTS = {"size", "code_tag_mask", "width", "kind_shift", "compact_bit", "ascii_bit", "entry_size", "entry_key",
             "entry_value", "text_entry_size", "text_key", "text_value", "first", "capacity", "valid"}
KINDS = ["bits", "wild", "links", "lengths", "description"]


class Memory:
    """Bytes by address: of a process, or of a core in which pieces = [(address, size, offset)] lie."""

    def __init__(self, path, pieces=None):
        self.file = open(path, "r+b", buffering=0)
        self.pieces = pieces

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def seek(self, address, size):
        if self.pieces is None:
            self.file.seek(address)
            return
        for start, length, offset in self.pieces:
            if start <= address and address + size <= start + length:
                self.file.seek(offset + address - start)
                return
        raise OSError(f"0x{address:x} is not there")

    def read(self, address, size):
        self.seek(address, size)
        data = self.file.read(size)
        if len(data) != size:
            raise OSError(f"0x{address:x} cannot be read")
        return data

    def word(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def write(self, address, data):
        self.seek(address, len(data))
        self.file.write(data)


def runtime_of(pid):
    """Where the runtime of a healthy process is."""
    done = subprocess.run([BUILD / "tests" / "hammer" / "find", str(pid)], capture_output=True, text=True, check=True)
    return int(re.search(r"^\d+ ok .* 0x([0-9a-f]+) ", done.stdout)[1], 16)


class Structures:
    """Where those of an interpreter lie: places["thread"] has the addresses of its thread states, and so on."""

    def __init__(self, memory, layout, runtime):
        self.memory, self.places = memory, collections.defaultdict(list)
        self.at = {name: int(value) for name, value in layout.items() if value.isdigit()}
        self.add("runtime", runtime)
        for interpreter in self.chain(runtime, "runtime.interpreters_head", "interpreter.next"):
            self.add_interpreter(interpreter)
        assert self.places["frame"] and self.places["code"], dict(self.places)

    def add(self, group, address):
        if address and address not in self.places[group]:
            self.places[group].append(address)

    def follow(self, address, field, mask=~0):
        try:
            return self.memory.word(address + self.at[field]) & mask if field in self.at else 0
        except OSError:
            return 0

    def chain(self, start, first, following, limit=200):
        """Addresses in a list."""
        address = self.follow(start, first)
        while address and limit:
            yield address
            address, limit = self.follow(address, following), limit - 1

    def add_interpreter(self, interpreter):
        self.add("interpreter", interpreter)
        self.add("gil", self.follow(interpreter, "interpreter.gil") or
                 (self.at.get("runtime.gil") and self.places["runtime"][0] + self.at["runtime.gil"]))
        for name in ("interpreter.modules", "interpreter.sysdict"):
            table = self.follow(interpreter, name)
            self.add("dict", table)
            self.add("dictkeys", table and self.follow(table, "dict.keys"))
        for thread in self.chain(interpreter, "interpreter.threads_head", "thread.next"):
            self.add("thread", thread)
            holder, field = thread, "thread.frame"
            if "thread.cframe" in self.at:
                holder, field = self.follow(thread, "thread.cframe"), "cframe.current_frame"
                self.add("cframe", holder)
            for frame in self.chain(holder, field, "frame.previous"):
                self.add_frame(frame)

    def add_frame(self, frame):
        self.add("frame", frame)
        code = self.follow(frame, "frame.code", ~self.at.get("frame.code_tag_mask", 0))
        if not code or code in self.places["code"]:
            return
        self.add("code", code)
        for group, name in (("unicode", "code.name"), ("unicode", "code.filename"), ("unicode", "code.qualname"),
                            ("bytes", "code.linetable")):
            self.add(group, self.follow(code, name))
        self.add("type", self.follow(code, "object.ob_type"))

    def fields(self, names=None):
        """(address) of all fields, or of those with these names, by group."""
        found = collections.defaultdict(list)
        for name, offset in self.at.items():
            group, _, field = name.partition(".")
            if (names is None and field not in CONSTANTS and not field.endswith("_flag")) or (names and name in names):
                found[group] += [place + offset for place in self.places[group]]
        return {group: places for group, places in found.items() if places}


def spoil(structures, kind, chance):
    """Damages some of it; random.Random(seed) makes it the same again. Gives how many words were written."""
    memory, done = structures.memory, 0
    fields = structures.fields({"links": LINKS, "lengths": SIZES}.get(kind))
    everywhere = [place for places in structures.places.values() for place in places]
    for _ in range(chance.choice([1, 2, 10, 100])):
        place = chance.choice(fields[chance.choice(sorted(fields))])
        if kind == "description":  # words of the table that begins the runtime
            place = structures.places["runtime"][0] + 24 + 8 * chance.randrange(108)
        word = {"bits": lambda: memory.word(place) ^ 1 << chance.randrange(64),
                "wild": lambda: chance.choice([*WORDS, chance.getrandbits(64), chance.getrandbits(47) & ~7]),
                "links": lambda: chance.choice(everywhere),
                "lengths": lambda: chance.choice(LENGTHS),
                "description": lambda: chance.choice([*WORDS, 8 * chance.randrange(64), chance.choice(everywhere)])}[kind]
        try:
            memory.write(place, struct.pack("<Q", word()))
            done += 1
        except OSError:  # not in the core
            continue
    return done


# ---- what comes of it ----


class Tally:
    """How often darter said what, its slowest and its biggest run."""

    def __init__(self):
        self.verdicts, self.seconds, self.kilobytes, self.runs, self.sanitized = collections.Counter(), 0.0, 0, 0, 0

    def look(self, label, number, *args):
        """Runs darter dump --json, which gives one snapshot or one error in words, whatever it reads. Every sixth time
        with sanitizers, too."""
        if number % 6 == 0 and sanitizers():
            self.judge(f"{label}, sanitizers", weighed("dump", "--json", *args, limit=LIMIT, build=ASAN))
            self.sanitized += 1
        run = weighed("dump", "--json", *args, limit=LIMIT)
        self.verdicts[self.judge(label, run)] += 1
        self.runs += 1
        self.seconds, self.kilobytes = max(self.seconds, run.seconds), max(self.kilobytes, run.kilobytes)
        assert not FULL or run.seconds < LOOK, (label, run.seconds)

    @staticmethod
    def judge(label, run):
        assert run.code in (0, 1, 4), (label, run.code, run.err[-4000:])
        document = json.loads(run.out)
        assert len(document["snapshots"]) + len(document["errors"]) == 1, (label, document)
        for error in document["errors"]:
            assert run.code and error["message"], (label, run.code, error)
            return error["code"]
        (snapshot,) = document["snapshots"]
        return "shown, marked" if snapshot["torn"] or snapshot["warnings"] else "shown"

    @property
    def shown(self):
        return self.verdicts["shown"] + self.verdicts["shown, marked"]

    def row(self, name):
        said = ", ".join(f"{verdict} {count}" for verdict, count in sorted(self.verdicts.items()))
        return (f"| {name} | {self.runs} | {self.sanitized} | {self.seconds:.2f} | {self.kilobytes / 1024:.0f} | {said} |")


HEAD = ["| target | looks | more with sanitizers | slowest, s | biggest, MB | what darter said |", "|---|---|---|---|---|---|"]


def count_each(pythons):
    """How many of each Python: 500 together in the full tier, and no fewer than 40."""
    return size(len(KINDS), max(40, -(-500 // len(pythons))))


def chances(count, label, kinds=KINDS):
    """(kind, Random) of each look; a few are not the same few for each Python."""
    first = random.Random(label).randrange(len(kinds))
    for seed in range(count):
        yield kinds[(first + seed) % len(kinds)], random.Random(f"{label} {seed}")
