"""A program whose thread list was made up: THREADS thread states on one chain of FRAMES frames that are not shown (marks
of entries from C), which is more than anybody can walk. Offsets come on stdin ("name value" a line, then an empty one).

    endless.py FRAMES THREADS
"""
import ctypes
import mmap
import struct
import sys
import time


def memory(size):
    area = mmap.mmap(-1, size)
    return area, ctypes.addressof(ctypes.c_char.from_buffer(area))


def load():
    layout = {}
    for line in iter(sys.stdin.readline, "\n"):
        name, value = line.split()
        layout[name] = None if value == "DT_ABSENT" else int(value) if value.isdigit() else value
    return layout


def main(frame_count, thread_count):
    layout = load()
    size = (layout["frame.size"] + 7) & ~7
    stride = (max(layout["thread." + name] or 0 for name in ("next", "prev", "interp", "frame", "cframe", "base_frame",
                                                            "thread_id", "native_thread_id")) + 15) & ~7
    frames, first = memory(frame_count * size)
    threads, newest = memory(thread_count * stride)
    cframe, current = memory(4096)
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    own = get()
    interpreter = ctypes.c_uint64.from_address(own + layout["thread.interp"]).value

    def put(area, at, value):
        struct.pack_into("<Q", area, at, value)

    for i in range(frame_count):
        put(frames, i * size + layout["frame.previous"], first + (i + 1) * size if i + 1 < frame_count else 0)
        frames[i * size + layout["frame.owner"]] = layout["frame.owner_shim_min"]
    if layout["thread.cframe"] is not None:
        put(cframe, layout["cframe.current_frame"], first)
    for i in range(thread_count):
        at = i * stride
        put(threads, at + layout["thread.next"], newest + (i + 1) * stride if i + 1 < thread_count else 0)
        put(threads, at + layout["thread.interp"], interpreter)
        put(threads, at + layout["thread.thread_id"], i + 1)
        put(threads, at + (layout["thread.frame"] if layout["thread.cframe"] is None else layout["thread.cframe"]),
            first if layout["thread.cframe"] is None else current)
    ctypes.c_uint64.from_address(own + layout["thread.next"]).value = newest
    print("ready", flush=True)
    time.sleep(3600)


main(int(sys.argv[1]), int(sys.argv[2]))
