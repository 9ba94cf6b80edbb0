"""A reader of .darter files that was written after docs/darter-file.md, and not after darter."""

import itertools
import struct
import subprocess

from harness import need_program

MAGIC, BLOCK = b"\x89darter\n", b"\xd7DBK"
DATA, LAST = 1, 2
STRINGS, FUNCTIONS, LOCATIONS, STACKS, PROCESSES, THREADS, RUNS, META, ORIGINS = range(1, 10)
MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def xxh64(data, seed):
    """XXH64, after its specification."""
    def rotate(value, bits):
        value &= MASK
        return (value << bits | value >> (64 - bits)) & MASK

    def stir(lane, word):
        return rotate(lane + word * P2, 31) * P1 & MASK

    at = 0
    if len(data) >= 32:
        lanes = [seed + P1 + P2 & MASK, seed + P2 & MASK, seed, seed - P1 & MASK]
        while at + 32 <= len(data):
            lanes = [stir(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = (value ^ stir(0, lane)) * P1 + P4 & MASK
    else:
        value = seed + P5 & MASK
    value = value + len(data) & MASK
    while at + 8 <= len(data):
        value = rotate(value ^ stir(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4 & MASK
        at += 8
    if at + 4 <= len(data):
        value = rotate(value ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3 & MASK
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ byte * P5 & MASK, 11) * P1 & MASK
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


class Input:
    """Numbers out of bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def take(self, size):
        assert self.at + size <= len(self.data), "cut short"
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise AssertionError("a varint without end")

    def signed(self):
        value = self.varint()
        return -(value + 1) // 2 if value & 1 else value // 2

    def column(self, count):
        return [self.varint() for _ in range(count)]

    def signed_column(self, count):
        return [self.signed() for _ in range(count)]

    def changes(self, count):
        return [value & MASK for value in itertools.accumulate(self.signed_column(count))]


class Recording:
    """A whole file; one that is damaged is none here."""

    def __init__(self, data):
        self.strings, self.functions, self.locations, self.stacks = {0: b""}, {}, {}, {0: ()}
        self.processes, self.threads, self.runs, self.meta, self.origins, self.missed = {}, {}, [], None, {}, 0
        self.packings = []
        magic, major, self.minor, _, key, own = struct.unpack_from("<8sHHIQQ", data)
        assert magic == MAGIC and major == 1 and own == xxh64(data[:24], 0)
        at, last, numbers = 32, None, itertools.count()
        while at < len(data):
            assert last != LAST, "something follows the last block"
            magic, last, packing, _, number, stored, raw, payload_sum, own = struct.unpack_from("<4sBBHIIIQI", data, at)
            assert magic == BLOCK and number == next(numbers)
            assert own == xxh64(data[at:at + 28], key) & 0xFFFFFFFF
            payload = data[at + 32:at + 32 + stored]
            assert len(payload) == stored and xxh64(payload, key) == payload_sum
            self.packings.append(packing)
            if packing:
                payload = subprocess.run([need_program("zstd"), "-dc"], input=payload, capture_output=True, check=True).stdout
            assert len(payload) == raw
            self.sections(Input(payload))
            at += 32 + stored
        self.ended = last == LAST

    def sections(self, payload):
        readers = {STRINGS: self.get_strings, FUNCTIONS: self.get_functions, LOCATIONS: self.get_locations,
                   STACKS: self.get_stacks, PROCESSES: self.get_processes, THREADS: self.get_threads,
                   RUNS: self.get_runs, META: self.get_meta, ORIGINS: self.get_origins}
        before = 0
        while payload.more():
            kind = payload.varint()
            content = Input(payload.take(payload.varint()))
            assert kind > before, "not in order"
            before = kind
            readers[kind](content)
            assert not content.more(), f"something is left in a section of kind {kind}"

    def get_strings(self, content):
        first, count = content.column(2)
        for number, length in enumerate(content.column(count), first):
            assert number not in self.strings
            self.strings[number] = length
        for number in range(first, first + count):
            self.strings[number] = content.take(self.strings[number])

    def get_functions(self, content):
        first, count = content.column(2)
        rows = zip(content.changes(count), content.changes(count), content.changes(count), content.column(count))
        for number, (name, file, line, kind) in enumerate(rows, first):
            self.functions[number] = (line, kind, self.strings[name], self.strings[file])

    def get_locations(self, content):
        first, count = content.column(2)
        for number, (function, line) in enumerate(zip(content.changes(count), content.changes(count)), first):
            self.locations[number] = (line, *self.functions[function])

    def get_stacks(self, content):
        first, count = content.column(2)
        for number, (back, location) in enumerate(zip(content.column(count), content.changes(count)), first):
            self.stacks[number] = (self.locations[location], *self.stacks[number - back])

    def get_processes(self, content):
        number = 0
        while content.more():
            number += content.signed()
            pid, ppid = content.signed(), content.signed()
            texts = [self.strings[text] for text in content.column(4)]
            self.processes[number] = (pid, ppid, *content.column(2), *texts)

    def get_threads(self, content):
        number = 0
        while content.more():
            number += content.signed()
            process, name, tid, ident = content.column(4)
            assert process in self.processes
            self.threads[number] = (process, tid, ident, content.signed(), content.varint(), self.strings[name])

    def get_runs(self, content):
        count = content.varint()
        threads, stacks, kinds, calls = (content.column(count) for _ in range(4))
        instants = list(itertools.accumulate(content.column(content.varint())))
        begins, lengths, cpu, samples = (content.signed_column(count), content.column(count), content.column(count),
                                         content.column(count))
        ends = {}
        for i, thread in enumerate(threads):
            assert thread in self.threads
            begin = ends.get(thread, 0) + begins[i]
            ends[thread] = begin + lengths[i]
            start, end = instants[begin], instants[ends[thread]]
            self.runs.append((thread, start, end - start, cpu[i], samples[i], kinds[i] % 8, kinds[i] // 8,
                              self.strings[calls[i]], self.stacks[stacks[i]]))

    def get_meta(self, content):
        rate = struct.unpack("<d", content.take(8))[0]
        times, texts = content.column(2), [self.strings[text] for text in content.column(5)]
        self.meta = (*times, rate, *texts, *content.column(11))
        if content.more():
            self.meta += (self.strings[content.varint()], content.varint())
            self.meta += (content.varint(),) if content.more() else (0,)
            self.meta += tuple(content.column(3)) if content.more() else (0, 0, 0)
            self.missed = self.meta[-4]

    def get_origins(self, content):
        count = content.varint()
        for number, *origin in zip(content.changes(count), content.column(count), content.column(count)):
            assert number in self.processes
            self.origins[number] = tuple(origin)

    def lines(self):
        """As tests/hammer/recording prints them."""
        yield from (line("process", (*process, *self.origins[number])) for number, process in sorted(self.processes.items()))
        yield from (line("thread", thread) for _, thread in sorted(self.threads.items()))
        yield from (line("run", (*run[:-1], *itertools.chain(*run[-1]))) for run in self.runs)
        yield line("meta", self.meta)


def line(word, values):
    return " ".join([word, *(value.hex() + "." if isinstance(value, bytes) else str(value) for value in values)])
