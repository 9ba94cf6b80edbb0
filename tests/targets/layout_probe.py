"""Holds a layout against the interpreter that runs this: each structure is followed in its own memory, by the offsets
given on stdin ("name value" a line, as the layout program prints them), and compared with what Python itself says.

Prints "N facts" at the end; an assertion that fails says which fact is wrong.
"""

import ctypes
import dis
import gc
import struct
import sys
import threading
import time

import ages

ABSENT = None
FACTS = 0
L = {}


def load():
    for line in sys.stdin:
        name, value = line.split()
        if value == "DT_ABSENT":
            L[name] = ABSENT
        else:
            L[name] = int(value) if value.lstrip("-").isdigit() else value


def read(address, size):
    return ctypes.string_at(address, size)


def unpack(kind, address):
    return struct.unpack("<" + kind, read(address, struct.calcsize(kind)))[0]


def word(address):
    return unpack("Q", address)


def signed(address):
    return unpack("q", address)


def number(address):
    return unpack("i", address)


def byte(address):
    return unpack("B", address)


def same(what, found, wanted):
    global FACTS
    assert found == wanted, "%s: found %r, Python says %r" % (what, found, wanted)
    FACTS += 1


def flags_at(address):
    return word(address + L["type.flags"])


def flags(cls):
    return flags_at(id(cls))


def check_types():
    class Heap(object):
        pass

    same("tp_name", ctypes.string_at(word(id(Heap) + L["type.name"])), b"Heap")
    same("tp_basicsize", signed(id(Heap) + L["type.basicsize"]), Heap.__basicsize__)
    same("tp_dictoffset", signed(id(Heap) + L["type.dictoffset"]), Heap.__dictoffset__)
    same("tp_flags", flags(Heap), Heap.__flags__)
    same("type size", L["type.size"] < sys.getsizeof(Heap), True)
    instance = Heap()
    same("ob_type", word(id(instance) + L["object.ob_type"]), id(Heap))
    same("heap flag", [bool(flags(t) & L["type.heap_flag"]) for t in (Heap, int)], [True, False])
    kinds = {"unicode": type(u""), "bytes": bytes, "tuple": tuple, "dict": dict, "integer": type(1 << 100)}
    if L["integer.plain"] is not ABSENT:
        kinds["plain_integer"] = int
    for name, cls in kinds.items():
        others = [t for t in list(kinds.values()) + [Heap] if flags(t) & L["type.%s_flag" % name]]
        same(name + " flag", others, [cls])


def text(address):
    """Of a str, and in 2.7 of a unicode."""
    if L["unicode.data"] is not ABSENT:
        if flags_at(word(address + L["object.ob_type"])) & L["type.bytes_flag"]:
            return read(address + L["bytes.ob_sval"], signed(address + L["bytes.ob_size"]))
        width = 4 if sys.maxunicode > 0xffff else 2  # as darter finds out, too: it is an option of the build
        data = read(word(address + L["unicode.data"]), signed(address + L["unicode.length"]) * width)
        return data.decode({2: "utf-16-le", 4: "utf-32-le"}[width])
    state = unpack("I", address + L["unicode.state"])
    kind = state >> L["unicode.kind_shift"] & 7
    assert state >> L["unicode.compact_bit"] & 1
    ascii_only = state >> L["unicode.ascii_bit"] & 1
    length = signed(address + L["unicode.length"])
    data = read(address + L["unicode.ascii_size" if ascii_only else "unicode.compact_size"], length * kind)
    return data.decode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind])


def check_values():
    for value in ("plain", u"Gr\u00fc\u00dfe", u"\u03b1\u03b2\u03b3 \u4e2d", u"\U0001f40d snake", u"", "x" * 5000):
        same("str", text(id(value)), value)
    data = b"some \0 bytes"
    size = signed(id(data) + L["bytes.ob_size"])
    same("bytes", read(id(data) + L["bytes.ob_sval"], size), data)
    items = (object(), "two", 3)
    same("tuple size", signed(id(items) + L["tuple.ob_size"]), 3)
    same("tuple", [word(id(items) + L["tuple.ob_item"] + 8 * i) for i in range(3)], [id(item) for item in items])
    for value in (1, -1, 7, 2**29, -(2**30) - 5, 2**45 + 12345, 140000000000000, 2**70 + 1):
        if L["integer.plain"] is not ABSENT and isinstance(value, int):
            same("plain int", signed(id(value) + L["integer.plain"]), value)
            continue
        tag = signed(id(value) + L["integer.size_or_tag"])
        count, sign = (tag >> 3, 1 - (tag & 3)) if L["integer.tagged"] == "true" else (abs(tag), 1 if tag > 0 else -1)
        digits = [number(id(value) + L["integer.digits"] + 4 * i) for i in range(count)]
        same("int", sign * sum(digit << 30 * i for i, digit in enumerate(digits)), value)
    same("module dict", word(id(threading) + L["module.dict"]), id(threading.__dict__))


def key_entries(keys):
    """[(key, value)] of a PyDictKeysObject, with the values of its own entries."""
    if L["dictkeys.kind"] is ABSENT:
        size = signed(keys + L["dictkeys.size"])
        index = size * (1 if size <= 0xFF else 2 if size <= 0xFFFF else 4)
        step, key, value = L["dictkeys.entry_size"], L["dictkeys.entry_key"], L["dictkeys.entry_value"]
    else:
        index = 1 << byte(keys + L["dictkeys.log2_index_bytes"])
        if byte(keys + L["dictkeys.kind"]) == L["dictkeys.kind_general"]:
            step, key, value = L["dictkeys.entry_size"], L["dictkeys.entry_key"], L["dictkeys.entry_value"]
        else:
            step, key, value = L["dictkeys.text_entry_size"], L["dictkeys.text_key"], L["dictkeys.text_value"]
    first = keys + L["dictkeys.indices"] + index
    count = signed(keys + L["dictkeys.nentries"])
    return [(word(first + step * i + key), word(first + step * i + value)) for i in range(count)]


def with_values(keys, values):
    entries = key_entries(keys)
    found = [word(values + L["dictvalues.first"] + 8 * i) for i in range(len(entries))]
    return {key: value for (key, _), value in zip(entries, found) if value}


def dict_entries(address):
    if L["dict.keys"] is ABSENT:
        first, step = word(address + L["dict.table"]), L["dictkeys.entry_size"]
        places = [first + step * i for i in range(signed(address + L["dict.mask"]) + 1)]
        found = [(word(at + L["dictkeys.entry_key"]), word(at + L["dictkeys.entry_value"])) for at in places]
        return {key: value for key, value in found if value}
    keys, values = word(address + L["dict.keys"]), word(address + L["dict.values"])
    if values:
        return with_values(keys, values)
    return {key: value for key, value in key_entries(keys) if value}


def by_identity(mapping):
    return {id(key): id(value) for key, value in mapping.items()}


def check_dicts():
    words = {"key%d" % i: object() for i in range(5)}
    numbers = {i * 7: object() for i in range(300)}
    mixed = {"a": object(), 5: object(), (1, 2): object()}
    many = {"key%d" % i: object() for i in range(70000)}
    del many["key3"], words["key0"]
    for what, mapping in (("text keys", words), ("int keys", numbers), ("mixed keys", mixed), ("many keys", many)):
        same(what, dict_entries(id(mapping)), by_identity(mapping))


def instance_attributes(instance):
    cls, address = type(instance), id(instance)
    managed = flags(cls) & L["instance.managed_dict_flag"]
    kind = L["instance.kind"]
    if not managed:
        offset = signed(id(cls) + L["type.dictoffset"])
        assert offset > 0
        return dict_entries(word(address + offset))
    keys = word(id(cls) + L["type.cached_keys"])
    pointer = word(address + L["instance.dict_pointer"])
    if kind == "DT_INSTANCE_TWO":
        values = word(address + L["instance.values_pointer"])
        return with_values(keys, values) if values else dict_entries(pointer)
    if kind == "DT_INSTANCE_TAGGED":
        if pointer & L["instance.values_tag"]:
            return with_values(keys, pointer + L["instance.values_tag"])
        return dict_entries(pointer)
    assert kind == "DT_INSTANCE_INLINE"
    if flags(cls) & L["instance.inline_values_flag"]:
        values = address + signed(id(cls) + L["type.basicsize"])
        if byte(values + L["dictvalues.valid"]):
            return with_values(keys, values)
    return dict_entries(pointer)


def check_instances():
    class Plain(object):
        def __init__(self, first):
            self.first = first
            self.second = [first]

    class Big(object):
        def __init__(self):
            for i in range(100):
                setattr(self, "attribute%d" % i, object())

    class Exotic(Exception):
        pass

    plain, exotic = Plain("a name"), Exotic("x")
    exotic.extra = object()
    wanted = {id("first"): id(plain.first), id("second"): id(plain.second)}
    same("instance", instance_attributes(plain), wanted)
    shown = Plain("its dict was asked for")
    same("instance with dict", instance_attributes(shown), by_identity(shown.__dict__))
    again = instance_attributes(shown)
    same("instance whose dict exists", again, by_identity(shown.__dict__))
    shown.__dict__[5] = object()
    same("instance with an odd key", instance_attributes(shown), by_identity(shown.__dict__))
    big = Big()
    before = instance_attributes(big)
    same("instance with many attributes", before, by_identity(big.__dict__))
    same("subclass of a C class", instance_attributes(exotic), by_identity(exotic.__dict__))
    main = threading.current_thread()
    before = instance_attributes(main)
    same("a Thread object", before, by_identity(main.__dict__))
    attribute = "_Thread__name" if L["mangled_thread_name"] == "true" else "_name"
    same("name of a thread", main.__dict__[attribute], main.name)


def check_code():
    def yielding():
        yield 1

    for code in (check_code.__code__, yielding.__code__, (lambda: 0).__code__):
        at = id(code)
        same("co_filename", text(word(at + L["code.filename"])), code.co_filename)
        same("co_name", text(word(at + L["code.name"])), code.co_name)
        if L["code.qualname"] is not ABSENT:
            same("co_qualname", text(word(at + L["code.qualname"])), code.co_qualname)
        table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
        address = word(at + L["code.linetable"])
        same("line table", read(address + L["bytes.ob_sval"], signed(address + L["bytes.ob_size"])), table)
        same("co_firstlineno", number(at + L["code.firstlineno"]), code.co_firstlineno)
        if L["code.firsttraceable"] is ABSENT:
            same("co_code", word(at + L["code.bytecode"]), id(code.co_code))
            continue
        resume = next(i.offset for i in dis.get_instructions(code) if i.opname == "RESUME")
        same("first traceable instruction", number(at + L["code.firsttraceable"]) * 2, resume)
        same("argument of RESUME", byte(at + L["code.bytecode"] + resume + 1) & 3, 0)


def frames_of(thread):
    """[(code, address of the frame)] by following the pointers, innermost first."""
    if L["thread.cframe"] is not ABSENT:
        frame = word(word(thread + L["thread.cframe"]) + L["cframe.current_frame"])
    else:
        frame = word(thread + L["thread.frame"])
    found = []
    while frame and not (L["thread.base_frame"] is not ABSENT and frame == word(thread + L["thread.base_frame"])):
        code = word(frame + L["frame.code"]) & ~L["frame.code_tag_mask"]
        shim = L["frame.owner"] is not ABSENT and byte(frame + L["frame.owner"]) >= L["frame.owner_shim_min"]
        if not shim:
            found.append((code, frame))
        frame = word(frame + L["frame.previous"])
    return found


def line_place(frame, code):
    """Byte offset of the frame's instruction as the layout has it (-2: none yet)."""
    kind, at = L["ip_kind"], frame + L["frame.ip"]
    if kind == "DT_IP_LASTI_BYTES":
        return number(at)
    if kind == "DT_IP_LASTI_UNITS":
        return number(at) * 2
    return word(at) - (code + L["code.bytecode"])


def generator(thread):
    """Its own frame's owner, as long as it stands on the stack."""
    own = id(generator.__code__)
    yield next(byte(frame + L["frame.owner"]) for code, frame in frames_of(thread) if code == own)


def check_frames(thread):
    def inner(depth):
        if depth:
            return inner(depth - 1)
        python, wanted = sys._getframe(), []
        while python:
            wanted.append(python)
            python = python.f_back
        # frames_of() and this line are calls of their own: compare from this frame on.
        found = frames_of(thread)
        while found and found[0][0] != id(inner.__code__):
            found.pop(0)
        same("frames", [code for code, _ in found], [id(frame.f_code) for frame in wanted])
        for (code, frame), python in list(zip(found, wanted))[1:4]:
            place = line_place(frame, code)
            assert 0 <= place < len(python.f_code.co_code), place
            # Callers stand at their call instruction or (3.11, 3.12) at a cache entry behind it.
            same("instruction", abs(place - python.f_lasti) <= 24, True)
        return len(found)

    same("depth", inner(40) > 40, True)
    if L["frame.owner"] is not ABSENT:
        own = id(check_frames.__code__)
        same("owner", next(byte(frame + L["frame.owner"]) for code, frame in frames_of(thread) if code == own), 0)
        same("owner of a generator's frame", list(generator(thread)), [L["frame.owner_generator"]])


def variable(name):
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))


def find_runtime():
    """(address of the runtime, None where there are variables instead; address of the main interpreter)"""
    if L["gil_place"] == "DT_GIL_IN_VARIABLES":
        head = ctypes.pythonapi.PyInterpreterState_Head
        head.restype = ctypes.c_void_p
        return None, head()
    runtime = variable("_PyRuntime")
    same("finalizing", word(runtime + L["runtime.finalizing"]), 0)
    return runtime, word(runtime + L["runtime.interpreters_head"])


def check_runtime():
    runtime, interpreter = find_runtime()
    while word(interpreter + L["interpreter.next"]):
        interpreter = word(interpreter + L["interpreter.next"])
    if L["interpreter.id"] is not ABSENT:
        same("interpreter id", signed(interpreter + L["interpreter.id"]), 0)
    same("sys.modules", word(interpreter + L["interpreter.modules"]), id(sys.modules))
    same("sysdict", word(interpreter + L["interpreter.sysdict"]), id(sys.__dict__))
    if L["runtime.main_thread"] is not ABSENT:
        same("main thread", word(runtime + L["runtime.main_thread"]), ages.get_ident())

    begun, go_on = threading.Event(), threading.Event()
    other = ages.daemon(lambda: (begun.set(), go_on.wait()))
    begun.wait()
    states, state, previous = {}, word(interpreter + L["interpreter.threads_head"]), 0
    while state:
        states[word(state + L["thread.thread_id"])] = state
        same("thread's interpreter", word(state + L["thread.interp"]), interpreter)
        if L["thread.prev"] is not ABSENT:
            same("thread's previous", word(state + L["thread.prev"]), previous)
        if L["thread.native_thread_id"] is not ABSENT:
            native = {ages.get_ident(): ages.native_id(), other.ident: other.native_id}
            same("native id", word(state + L["thread.native_thread_id"]), native[word(state + L["thread.thread_id"])])
        previous, state = state, word(state + L["thread.next"])
    same("threads", sorted(states), sorted((ages.get_ident(), other.ident)))
    own = states[ages.get_ident()]
    if L["interpreter.threads_main"] is not ABSENT:
        same("main thread state", word(interpreter + L["interpreter.threads_main"]), own)

    check_frames(own)
    if runtime is None:
        same("current thread state", word(variable("_PyThreadState_Current")), own)
        go_on.set()
        return
    if L["gil_place"] == "DT_GIL_IN_RUNTIME":
        gil = runtime + L["runtime.gil"]
        same("tstate_current", word(runtime + L["runtime.tstate_current"]), own)
    else:
        gil = word(interpreter + L["interpreter.gil"])
    used = L["gil.enabled"] is ABSENT or number(gil + L["gil.enabled"]) != 0
    if hasattr(sys, "_is_gil_enabled"):
        same("GIL is used", used, sys._is_gil_enabled())
    if L["thread.state"] is not ABSENT:
        same("attached", number(own + L["thread.state"]), 1)
        while number(states[other.ident] + L["thread.state"]) == 1:  # it is just going to sleep
            time.sleep(0.001)
    switches = word(gil + L["gil.switch_number"])
    if used:
        same("GIL is taken", number(gil + L["gil.locked"]), 1)
        same("GIL holder", word(gil + L["gil.last_holder"]), own)
    go_on.set()
    other.join()
    if used:
        same("GIL was handed over", 0 < word(gil + L["gil.switch_number"]) - switches < 100000, True)
    if used and L["thread.holds_gil"] is not ABSENT:
        same("holds_gil", number(own + L["thread.holds_gil"]), 1)
    check_collector(runtime, interpreter)


def check_collector(runtime, interpreter):
    place = (runtime + L["runtime.gc_collecting"] if L["interpreter.gc_collecting"] is ABSENT
             else interpreter + L["interpreter.gc_collecting"])
    seen = []

    class Bomb(object):
        def __init__(self):
            self.me = self

        def __del__(self):
            seen.append(number(place))

    Bomb()
    same("not collecting", number(place), 0)
    gc.collect()
    same("collecting", seen, [1])


if __name__ == "__main__":
    load()
    check_types()
    check_values()
    check_dicts()
    check_instances()
    check_code()
    check_runtime()
    ages.say(FACTS, "facts")
