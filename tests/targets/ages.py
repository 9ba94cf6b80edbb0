"""What Pythons of all ages can do, under one name: newer ones have it themselves, for older ones it is made here.

Imports nothing that a target may want to do without: threading; and ctypes, which makes a GIL in Pythons that have none
before their first thread.
"""
import functools
import sys
import time
import types

try:
    from _thread import get_ident, start_new_thread
except ImportError:  # 2.7
    from thread import get_ident, start_new_thread

__all__ = ["computation", "daemon", "get_ident", "monotonic", "native_id", "never_switch", "replaced", "run", "say",
           "start_new_thread"]
GETTID = 186
monotonic = getattr(time, "monotonic", time.time)


def _find_native_id():
    try:
        from _thread import get_native_id
    except ImportError:  # before 3.8
        import ctypes

        get_native_id = functools.partial(ctypes.PyDLL(None).syscall, GETTID)
    return get_native_id


def native_id():
    """The kernel's id of this thread."""
    global native_id
    native_id = _find_native_id()
    return native_id()


def say(*words):
    """A line, at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def daemon(target, args=(), name=None):
    """A thread that is started, and ends with the program."""
    import threading

    thread = threading.Thread(target=target, args=args, name=name)
    thread.daemon = True
    thread.start()
    return thread


def never_switch():
    """Who has the GIL keeps it for longer than any test takes, unless it gives it away."""
    if hasattr(sys, "setswitchinterval"):
        sys.setswitchinterval(1000)
    else:
        sys.setcheckinterval(2147483647)


def computation():
    """A function of C that computes without the GIL and with no end: searches for a word in a very long list that stays
    where it is."""
    import ctypes

    libc = ctypes.CDLL(None)
    return functools.partial(libc.lfind, b"a", b"b", ctypes.byref(ctypes.c_size_t(1 << 62)), ctypes.c_size_t(0),
                             ctypes.cast(libc.strcmp, ctypes.c_void_p))


def run(coroutine):
    """asyncio.run(), which came with 3.7."""
    import asyncio

    if hasattr(asyncio, "run"):
        return asyncio.run(coroutine)
    return asyncio.new_event_loop().run_until_complete(coroutine)


# What a code object is made of, in the order of its constructor.
_PARTS = ["co_argcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code", "co_consts",
          "co_names", "co_varnames", "co_filename", "co_name", "co_firstlineno", "co_lnotab", "co_freevars", "co_cellvars"]


def replaced(code, **changes):
    """code.replace(), which came with 3.8."""
    if hasattr(code, "replace"):
        return code.replace(**changes)
    return types.CodeType(*[changes.get(part, getattr(code, part)) for part in _PARTS if hasattr(code, part)])
