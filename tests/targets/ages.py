"""What Pythons of all ages can do, under one name: newer ones have it themselves, for older ones it is made here.

Imports nothing that a target may want to do without (threading).
"""
import ctypes
import functools
import types

try:
    from _thread import get_native_id as native_id  # 3.8 and later
except ImportError:
    native_id = functools.partial(ctypes.PyDLL(None).syscall, 186)  # gettid; C all the way, as the other one is

# What a code object is made of, in the order of its constructor.
_PARTS = ["co_argcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code", "co_consts",
          "co_names", "co_varnames", "co_filename", "co_name", "co_firstlineno", "co_lnotab", "co_freevars", "co_cellvars"]


def replaced(code, **changes):
    """code.replace(), which came with 3.8."""
    if hasattr(code, "replace"):
        return code.replace(**changes)
    return types.CodeType(*[changes.get(part, getattr(code, part)) for part in _PARTS if hasattr(code, part)])
