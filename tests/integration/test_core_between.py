"""Cores of a thread that was just entering the evaluation loop: the word that leads to its frames is not yet written.

3.11 and 3.12 are like that for a few instructions. A thread is stopped within the loop, which looks the same, and the word
is then written into the core as it would have been found.
"""

import contextlib
import json
import os
import signal
import struct

import cores
import spoil
import truths
from harness import USABLE, darter, each, wait_for
from layouts import layout_of

SLEEP, LOOP = [11], [12, 13]  # lines of the target
STACK = ["spin", "outer", "main", "<module>"]
HAVE_C_FRAMES = [python for python in USABLE if python.version[:2] in ((3, 11), (3, 12))]


class Words:
    """The words of the one thread state in a core, by the names of their fields."""

    def __init__(self, memory, layout, runtime):
        self.memory, self.layout = memory, layout
        self.cframe = spoil.Structures(memory, layout, runtime).places["cframe"][0]
        self.frame = self.get(self.cframe, "cframe.current_frame")
        before = self.get(self.cframe, "cframe.previous")
        self.caller = self.get(before, "cframe.current_frame")

    def get(self, place, name):
        return self.memory.word(place + int(self.layout[name]))

    def put(self, place, name, word):
        self.memory.write(place + int(self.layout[name]), struct.pack("<Q", word))

    def entry(self):
        """The frame that marks the entry from C."""
        return next(place for place in (self.frame, self.get(self.frame, "frame.previous"))
                    if self.get(place, "frame.previous") == self.caller)


def stands(thread, lines):
    return thread["frames"][0]["line"] in lines and bool(thread["syscall"]) == (lines == SLEEP)


@contextlib.contextmanager
def core_of(python, lines, *script):
    """A core of a program that stands at one of the lines: its words, and a function that looks at it."""
    layout = layout_of(python)
    with cores.mortal(python, *script) as (program, died):
        wait_for(lambda: stands(truths.seen(program)["threads"][0], lines), "the program stands there")
        runtime = spoil.runtime_of(program.pid)
        os.kill(program.pid, signal.SIGABRT)
        path = died()
        with spoil.Memory(path, cores.Core(path).pieces) as memory:
            yield Words(memory, layout, runtime), lambda code=0: look(path, python, code)


def look(path, python, code):
    done = darter("dump", "--json", "--core", path, "--root", python.root or "/", check=code)
    return json.loads(done.stdout)["snapshots"][0] if code == 0 else None


def first(snapshot):
    thread = snapshot["threads"][0]
    return [frame["name"] for frame in thread["frames"]], thread["torn"], thread["proof"]


@each(HAVE_C_FRAMES)
def test_a_word_that_leads_nowhere(python):
    with core_of(python, LOOP, "computing.py") as (words, seen):
        assert first(seen()) == (STACK, False, "still")
        for word in (0, 0x10, 0x4141414141414141, words.cframe, words.cframe + 1):
            words.put(words.cframe, "cframe.current_frame", word)
            snapshot = seen()
            assert first(snapshot) == (STACK[1:], False, "still"), (hex(word), snapshot)
            assert snapshot["warnings"] == [] and snapshot["torn"] == 0, (hex(word), snapshot)


@each(HAVE_C_FRAMES)
def test_a_word_that_leads_to_a_frame_that_has_returned(python):
    """It was called by another function than the one that calls now; or by that one, and all of the stack is true."""
    with core_of(python, LOOP, "computing.py") as (words, seen):
        entry = words.entry()
        words.put(entry, "frame.previous", words.get(words.caller, "frame.previous"))
        snapshot = seen()
        assert first(snapshot) == (STACK[2:], True, "none"), snapshot
        assert snapshot["torn"] == 1 and any("just being changed" in text for text in snapshot["warnings"]), snapshot
        words.put(entry, "frame.previous", words.caller)
        assert first(seen()) == (STACK, False, "still")


@each(HAVE_C_FRAMES)
def test_a_thread_that_cannot_be_entering(python):
    """It sleeps: then the word is damaged, and the outer frames are no whole stack."""
    with core_of(python, SLEEP, "computing.py", "sleep") as (words, seen):
        assert first(seen()) == (STACK, False, "still")
        words.put(words.cframe, "cframe.current_frame", 0x10)
        seen(1)
