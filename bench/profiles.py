"""What the profilers' files hold, each in its own format: stacks, and how many samples.

A frame is (file, function, line), or None for what the profiler marks as not known; a stack is a list of frames, the
outermost first.
"""

import collections
import json
import re
from dataclasses import dataclass, field

from measure import COLOURS


@dataclass
class Profile:
    """rounds: looks at the process, failed ones included. failed: those that came to nothing, and left no stack."""

    rounds: int = 0
    failed: int = 0
    processes: int = 1
    stacks: list = field(default_factory=list)  # (frames, weight), the weight in the tool's own unit


class Unreadable(Exception):
    """A file or a message is not what it should be: the tool has failed, or has another format now."""


def search(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise Unreadable(f"nothing like {pattern!r} in {text[-500:]!r}")
    return found


# ---- folded lines ----


def folded(text):
    """(frames, weight) of each line, frames as they are written."""
    for line in text.splitlines():
        path, _, weight = line.rpartition(" ")
        if path:
            yield path.split(";"), int(weight)


def darter_frame(text):
    """name (file:line), without the line where the code has none; what is in brackets has no place."""
    found = re.fullmatch(r"(.*) \((.*?)(?::(\d+))?\)", text, re.DOTALL)
    return (found[2], found[1], int(found[3] or 0)) if found else None


def darter(answer, text):
    """answer: what `record --json` printed; text: the recording as folded stacks, or "" where nobody asked for them."""
    told = json.loads(answer)
    stacks = [([darter_frame(frame) for frame in frames], weight) for frames, weight in folded(text)]
    return Profile(told["rounds"], told["lost"], told["processes"], stacks)


def collapsed(answer, text):
    """profiling.sampling: tid:N;file:name:line;... count. "~" is the file of what it adds itself (<GC>)."""
    rounds = int(search(r"Captured (\d+) samples", answer)[1])
    percent = float(search(r"Error rate: ([\d.]+)", answer)[1])
    stacks = []
    for (_, *frames), weight in folded(text):
        parts = [frame.rsplit(":", 2) for frame in frames]
        stacks.append(([(file, name, int(line)) for file, name, line in parts if file != "~"], weight))
    return Profile(rounds, round(rounds * percent / 100), stacks=stacks)


# ---- speedscope, as py-spy writes it ----


def speedscope(answer, text, threads=1):
    """threads: how many are looked at in a round. Samples are counted for each of them, errors for all at once."""
    found = search(r"Samples: (\d+) Errors: (\d+)", answer)
    profile = Profile(int(found[1]) // threads + int(found[2]), int(found[2]))
    if not text:
        return profile
    document = json.loads(text)
    frames = [(frame["file"], frame["name"], frame["line"] or 0) for frame in document["shared"]["frames"]]
    counts = collections.Counter(tuple(stack) for thread in document["profiles"] for stack in thread["samples"])
    named = (re.match(r"Process (\d+)", thread["name"]) for thread in document["profiles"])
    profile.processes = max(1, len({name[1] for name in named if name}))
    profile.stacks = [([frames[number] for number in stack], count) for stack, count in counts.items()]
    return profile


# ---- MOJO, as austin writes it ----

METADATA, STACK, FRAME, INVALID, KNOWN, KERNEL, GC, IDLE, TIME, MEMORY, STRING, STRING_KNOWN = range(1, 13)


class Mojo:
    """A MOJO file of version 3: a byte for the kind of each event, numbers of variable length, texts up to a zero."""

    def __init__(self, data):
        self.data, self.at = data, 4
        self.texts, self.frames = {1: ":unknown:"}, {}
        self.samples = collections.Counter()  # of each thread
        self.stacks = collections.Counter()
        if data[:3] != b"MOJ" or data[3] != 3:
            raise Unreadable(f"no MOJO file of version 3: {data[:4]!r}")

    def number(self):
        """Six bits and a sign in the first byte, then seven in each, the lowest first."""
        byte = self.data[self.at]
        value, shift, negative = byte & 0x3F, 6, byte & 0x40
        while byte & 0x80:
            self.at += 1
            byte = self.data[self.at]
            value |= (byte & 0x7F) << shift
            shift += 7
        self.at += 1
        return -value if negative else value

    def text(self):
        end = self.data.index(0, self.at)
        value = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return value

    def thread(self):
        return self.number(), self.number(), self.text()

    def frame(self):
        key, file, name, line, _, _, _ = (self.number() for _ in range(7))
        self.frames[key] = (self.texts.get(file, "?"), self.texts.get(name, "?"), line)

    def read(self):
        thread, stack = None, []
        while self.at < len(self.data):
            kind = self.data[self.at]
            self.at += 1
            if kind == METADATA:
                self.text(), self.text()
            elif kind == STACK:
                thread, stack = self.thread(), []
            elif kind == FRAME:
                self.frame()
            elif kind == KNOWN:
                stack.append(self.frames.get(self.number()))
            elif kind == INVALID:
                stack.append(None)
            elif kind == KERNEL:
                self.text()
            elif kind in (TIME, MEMORY):
                self.number()
                if kind == TIME:
                    self.samples[thread] += 1
                    self.stacks[tuple(stack)] += 1
            elif kind == STRING:
                key = self.number()
                self.texts[key] = self.text()
            elif kind == STRING_KNOWN:
                self.number()
            elif kind not in (GC, IDLE):
                raise Unreadable(f"event {kind} at {self.at - 1} of a MOJO file")


def mojo(answer, data, threads=1):
    """threads: how many are looked at in a round."""
    found = search(r"Error rate[^\d]*(\d+)/(\d+)", COLOURS.sub("", answer))
    given_up, samples = int(found[1]), int(found[2])
    profile = Profile(samples // threads, given_up)
    if not data:
        return profile
    file = Mojo(data)
    try:
        file.read()
    except (IndexError, ValueError):
        pass  # the last sample was cut off
    # Some of what it gave up is in the file.
    marked = sum(count for stack, count in file.stacks.items() if None in stack or not stack)
    profile.failed = max(0, given_up - marked)
    profile.processes = max(1, len({thread[0] for thread in file.samples}))
    profile.stacks = [(list(stack), count) for stack, count in file.stacks.items()]
    return profile
