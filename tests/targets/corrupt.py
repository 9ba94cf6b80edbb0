"""A program that damages its own interpreter on purpose, and then only sleeps in C.

    corrupt.py KIND     the offsets come on stdin, "name value" a line (tests/hammer/layout), until an empty line

    threads          the list of threads goes round, and every thread has a deep stack
    interpreters     the list of interpreters goes round
    everything       both at once
    frames           a chain of frames goes round
    forged-frames    a chain of many frames that never were
    forged-threads   a long list of threads that never were, all with the same deep stack
    forged-ids       the same, each with the id of a thread that nobody has, beside many threads that there are
    name             the name of a function is longer than all memory
    long-name        ... and one just as long as is believed
    line-table       the line table of a function is longer than all memory
    active           a million threads in threading._active, all with the same long name
    modules          sys.modules is said to have 2 ** 38 entries
    frame-pointer    the innermost frame is at an address that nobody has
    GIL              the GIL is held, by a thread state that is none
    offsets          the table by which 3.13 and later describe themselves is damaged
"""
import ctypes
import gc
import sys
import threading

import ages

LAYOUT = {}
DEPTH = 400
libc = ctypes.CDLL(None)
keep = []


def load():
    for line in iter(sys.stdin.readline, "\n"):
        name, value = line.split()
        if value.lstrip("-").isdigit():
            LAYOUT[name] = int(value)


def word(address):
    return ctypes.c_uint64.from_address(address).value


def put(address, value):
    ctypes.c_uint64.from_address(address).value = value


def field(name):
    return LAYOUT[name]


def runtime():
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))


def interpreter():
    if "runtime.main_thread" not in LAYOUT:  # there is no runtime
        head = ctypes.pythonapi.PyInterpreterState_Head
        head.restype = ctypes.c_void_p
        return head()
    return word(runtime() + field("runtime.interpreters_head"))


def threads():
    found, state = [], word(interpreter() + field("interpreter.threads_head"))
    while state:
        found.append(state)
        state = word(state + field("thread.next"))
    return found


def place_of_frame(state):
    """Where the address of the innermost frame is."""
    if "thread.cframe" in LAYOUT:
        return word(state + field("thread.cframe")) + field("cframe.current_frame")
    return state + field("thread.frame")


def frames(state):
    """Those of another thread: they stay as they are."""
    found, frame = [], word(place_of_frame(state))
    while frame:
        found.append(frame)
        frame = word(frame + field("frame.previous"))
    return found


def round_threads():
    states = threads()
    put(states[-1] + field("thread.next"), states[0])


def round_interpreters():
    put(interpreter() + field("interpreter.next"), interpreter())


def round_frames():
    """From the middle back to the innermost one: what called them is never come to."""
    chain = frames(threads()[0])
    put(chain[len(chain) // 2] + field("frame.previous"), chain[0])


def copies(address, size, count, link):
    """The addresses of many copies of a structure, each of which leads to the next."""
    one = ctypes.string_at(address, size)
    room = ctypes.create_string_buffer(one * count, size * count)
    first = (ctypes.addressof(room) + 7) & ~7
    keep.append(room)
    ctypes.memmove(first, one * (count - 1), size * (count - 1))
    for index in range(count - 2):
        put(first + index * size + link, first + (index + 1) * size)
    return first, first + (count - 2) * size


def forge_frames():
    """A frame of a thread, over and over."""
    state = threads()[0]
    chain = frames(state)
    # Before 3.11 they are objects; the link and all that is read lie at their beginning.
    first, last = copies(chain[1], max(field("frame.size"), 128) if "frame.owner" in LAYOUT else 128, 1000000,
                         field("frame.previous"))
    put(last + field("frame.previous"), word(chain[1] + field("frame.previous")))
    put(chain[0] + field("frame.previous"), first)


def forge_threads(ids):
    state = threads()[0]
    first, last = copies(state, field("thread.size"), 100000, field("thread.next"))
    put(last + field("thread.next"), 0)
    if ids:
        size = field("thread.size")
        for address in range(first, last + 1, size):
            put(address + field("thread.native_thread_id"), (address - first) // size + 1000000)
    put(state + field("thread.next"), first)


def lengthen(value, name, length):
    put(id(value) + field(name), length)


def deep(depth=DEPTH):
    return deep(depth - 1) if depth else stay()


def corrupt(kind):
    code = deep.__code__
    if kind in ("threads", "everything"):
        round_threads()
    if kind in ("interpreters", "everything"):
        round_interpreters()
    if kind == "frames":
        round_frames()
    if kind == "forged-frames":
        forge_frames()
    if kind in ("forged-threads", "forged-ids"):
        forge_threads(kind == "forged-ids")
    if kind == "name":
        lengthen(code.co_name, "unicode.length", 1 << 60)
        if "code.qualname" in LAYOUT:
            lengthen(code.co_qualname, "unicode.length", 1 << 60)
    if kind == "long-name":
        name = "x" * (1 << 20)
        for part in ("code.name", "code.qualname", "code.filename"):
            if part in LAYOUT:
                put(id(code) + field(part), id(name))
        keep.append(name)
    if kind == "line-table":
        table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
        lengthen(table, "bytes.ob_size", 1 << 60)
    if kind == "active":
        threading.current_thread().name = "y" * 1000000
        threading._active.update(dict.fromkeys(range(1000000), threading.current_thread()))
    if kind == "modules" and "dict.mask" in LAYOUT:
        put(id(sys.modules) + field("dict.mask"), (1 << 38) - 1)
    elif kind == "modules":
        keys = word(id(sys.modules) + field("dict.keys"))
        if "dictkeys.size" in LAYOUT:
            put(keys + field("dictkeys.size"), 1 << 39)
        else:
            ctypes.c_uint8.from_address(keys + field("dictkeys.log2_size")).value = 39
        put(keys + field("dictkeys.nentries"), 1 << 38)
    if kind == "frame-pointer":
        put(place_of_frame(threads()[0]), 0xdeadbeef000)
    if kind == "offsets":
        ctypes.memset(runtime() + 24, 0xff, 400)
    if kind == "GIL":
        gil = word(interpreter() + field("interpreter.gil")) if "interpreter.gil" in LAYOUT else \
            runtime() + field("runtime.gil")
        put(gil + field("gil.last_holder"), 0xdeadbeef000)


resting = []


def stay():
    """Another thread, deep down. It never comes back."""
    resting.append(1)
    libc.pause()


def main(kind):
    load()
    gc.disable()
    count = 200 if kind == "forged-ids" else 3
    if kind == "forged-ids":
        deep.__defaults__ = (3,)
    for _ in range(count):
        ages.daemon(deep)
    while len(resting) < count:
        libc.usleep(1000)
    libc.usleep(1000)
    # Nothing of Python may end, begin or be collected from here on.
    # The GIL names its holder again when it is given away: there it is kept.
    calls = ctypes.PyDLL(None) if kind == "GIL" else libc
    pause, write = calls.pause, calls.write
    corrupt(kind)
    write(1, b"ready\n", 6)
    while True:
        pause()


if __name__ == "__main__":
    sys.setrecursionlimit(DEPTH + 200)
    main(sys.argv[1])
