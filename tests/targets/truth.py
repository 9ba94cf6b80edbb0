"""What the truth targets share: each thread says of itself where it stands, then stands there.

The idiom that every situation ends with is one line,

    write(*truth.here()), truth.rest()

here() is the only Python function in it, and it has returned before anything is printed: write (os.write) and rest
(a partial of time.sleep) are C functions and add no frame. So what here() saw is what a reader must see from the
moment the line is printed, with no moment in between at which it would see something else.
"""
import functools
import json
import os
import sys
import threading
import time

import ages

write = os.write
FOREVER = 100000
rest = functools.partial(time.sleep, FOREVER)

extra = []  # entries that the target found out by other means: threads of other interpreters

_main = ages.get_ident()
_void = os.open("/dev/null", os.O_WRONLY)
_found = {}  # ident -> its entry
_tops = {}  # ident -> the frame that called here()

if "TRUTH_UID" in os.environ:  # a program that gives up its rights when it has started
    os.setgid(int(os.environ["TRUTH_UID"]))
    os.setuid(int(os.environ["TRUTH_UID"]))


def as_text(value):
    """Names are bytes in 2.7."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def stack_of(frame):
    """[name, file, line] of a frame and its callers, innermost first."""
    frames = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append([as_text(name), as_text(code.co_filename), frame.f_lineno or 0])
        frame = frame.f_back
    return frames


def entry(frame, main):
    return {
        "ident": ages.get_ident(),
        "native": ages.native_id(),
        "main": main,
        "interpreter": 0,
        "frames": stack_of(frame),
    }


def here():
    """Notes where the caller stands. The main thread comes last: it waits until all others stand still and gives
    write() what is to be printed for all of them, the truth and the word ready."""
    frame = sys._getframe(1)
    ident = ages.get_ident()
    if ident == _main:
        return 1, text([entry(frame, True)] + settled() + extra)
    _tops[ident] = frame
    _found[ident] = entry(frame, False)
    return _void, b"."


def settled():
    """Entries of the other threads, once each of them has come back from here() and not gone anywhere else since."""
    deadline = ages.monotonic() + 120
    for ident, top in list(_tops.items()):
        while sys._current_frames().get(ident) is not top:
            if ages.monotonic() > deadline:
                raise SystemExit("a thread left the place where it should stand")
            time.sleep(0.001)
    _tops.clear()
    return list(_found.values())


def stands():
    """All threads that have come by are known to stand."""
    _tops.clear()


def text(entries, **more):
    for one in entries:
        if "name" in one:
            continue
        thread = threading._active.get(one["ident"])
        one["name"] = as_text(thread.name) if thread is not None else None  # the kernel's
    document = {"pid": os.getpid(), "version": list(sys.version_info[:3]), "threads": entries}
    document.update(more)
    words = json.dumps(document) + "\nready\n"
    return words if isinstance(words, bytes) else words.encode()  # in 2.7 it is bytes already


def wait_for(count):
    """Until so many other threads have said where they are."""
    deadline = ages.monotonic() + 120
    while len(_found) < count:
        if ages.monotonic() > deadline:
            raise SystemExit("only %d of %d threads arrived" % (len(_found), count))
        time.sleep(0.001)


def start(function, name=None, daemon=True):
    thread = threading.Thread(target=function, name=name)
    thread.daemon = daemon
    thread.start()
    return thread


def alone(function, again=True):
    """The situation in the main thread. Played twice: the first time to learn the truth, which makes the interpreter
    build frame objects, the second time, where it stays, with none of them."""
    global here, rest
    if not again:
        function()
        raise SystemExit("the situation did not stay")
    heard = []

    def listen():
        heard.append(entry(sys._getframe(1), True))
        return _void, b"."

    real, here, rest = here, listen, functools.partial(time.sleep, 0)
    for _ in range(2):  # the two rounds have to be called from one line
        function()
        here = [(1, text(heard[:1]))].pop
        rest = functools.partial(time.sleep, FOREVER)
    raise SystemExit("the situation did not stay")


def all_together(functions):
    """Each situation in a thread of its own, named after it; the main thread stands here."""
    for function in functions:
        start(function, function.__name__)
    wait_for(len(functions))
    write(*here()), rest()


def play(names, once=()):
    """The functions of a target's module are its situations. An argument names the one to play alone, none plays them
    all, --list lists them. Those in once cannot be played twice."""
    file = names["__file__"]
    known = {
        name: value
        for name, value in names.items()
        if getattr(value, "__code__", None) is not None and value.__code__.co_filename == file and name[0] != "_"
    }
    if sys.argv[1:] == ["--list"]:
        print(json.dumps(list(known)))
    elif len(sys.argv) == 2:
        alone(known[sys.argv[1]], sys.argv[1] not in once)
    else:
        all_together(list(known.values()))
