"""A program that calls and returns as fast as it can, and knows which calls are possible.

    hammer.py single|threads|sixteen|generators|coroutines|churn|deep|exceptions|callbacks|fresh|twins|names|
              interpreters|swapping|lent|releases|naps|parallel|syscalls|borrowed LIBRARY|brief LIBRARY

Prints the rules that its stacks obey (read by tests/hammer/rules.c), a line "ready", and runs until it is killed:

    body FILE NAME FIRST LAST       a function and its lines
    call FILE LINE CALLER CALLEE    on that line this function is called and no other
    away FILE LINE                  that line may call into other files
    entry FILE NAME                 a function that other files call
    root FILE                       a stack begins in this file
    meanwhile FILE NAME FILE CALLER LINE
                                    while one thread is in the first function, the innermost frame of another one is
                                    this caller on this line
    idle                            the main thread may have no frame at all

The lines of one call path belong to no other, so a stack that was put together from two moments breaks a rule.
"""
import functools
import hashlib
import os
import random
import sys
import threading
import time
import types

import ages

FILE = "/hammer/generated.py"
QUALIFIED = sys.version_info >= (3, 11)
random.seed(7)


class Source:
    """Collects lines of the generated program and the rules that go with them."""

    def __init__(self):
        self.lines = []
        self.rules = []

    def add(self, text, caller=None, callee=None, away=False):
        self.lines.append(text)
        if callee:
            self.rules.append(("call", FILE, len(self.lines), caller, callee))
        if away:
            self.rules.append(("away", FILE, len(self.lines)))

    def function(self, name, body, arguments="", kind=""):
        """body(add) adds the lines inside."""
        first = len(self.lines) + 1
        self.add("%sdef %s(%s):" % (kind, name, arguments))
        body(lambda text, callee=None, away=False: self.add("    " + text, name, callee, away))
        self.rules.append(("body", FILE, name, first, len(self.lines)))

    def run(self, names):
        exec(compile("\n".join(self.lines) + "\n", FILE, "exec"), names)


def calls(source, prefix, depth, width=4, lines=5, call="%s(n)", leaf="n += %d"):
    """Layers of functions; each line of one calls a function of the next layer, always the same."""
    for layer in range(depth):
        for index in range(width):
            def body(add):
                for number in range(lines):
                    if layer == depth - 1:
                        add(leaf % number)
                    else:
                        callee = "%s_%d_%d" % (prefix, layer + 1, random.randrange(width))
                        add("n += " + call % callee, callee)
                add("return n & 15")
            source.function("%s_%d_%d" % (prefix, layer, index), body, "n")


def driver(source, prefix, width, call="%s(n)", then=None, last=None):
    """then: after each call, last: after all of them."""
    def body(add):
        add("n = 0")
        add("while True:")
        for index in range(width):
            callee = "%s_0_%d" % (prefix, index)
            add("    n += " + call % callee, callee)
            if then:
                add("    " + then)
        if last:
            add("    " + last)
    source.function(prefix + "_drive", body)


def single(source):
    calls(source, "s", 8)
    driver(source, "s", 4)
    return ["s"]


def releases(source):
    """Lets go of the GIL in every innermost function, and has it again a few microseconds later."""
    calls(source, "r", 8, lines=2, leaf="n += stat(WAY) and %d")
    driver(source, "r", 4)
    return ["r"]


def naps(source):
    """Short system calls in every innermost function, and a short sleep after some: whoever waits to be put on a CPU, or is
    on one without the GIL, is taken for the other easily."""
    calls(source, "z", 8, lines=2, leaf="n += seek(ZERO, 0, 0) + %d")
    driver(source, "z", 4, then="nap(0.00002)")
    return ["z"]


def threads(source, count=4):
    for number in range(count):
        calls(source, "t%d" % number, 6)
        driver(source, "t%d" % number, 4)
    return ["t%d" % number for number in range(count)]


def sixteen(source):
    return threads(source, 16)


def parallel(source):
    """The same functions in several threads, and generators that go from one to the other: without a GIL each thread has
    its own copy of their bytecode. Another thread computes in C all the time."""
    calls(source, "p", 5)

    def body(add):
        add("while True:")
        add("    n += p_0_3(n)", "p_0_3")
        add("    yield n & 15")
    source.function("p_gen", body, "n")
    for number in range(3):
        def body(add):
            add("n = 0")
            add("while True:")
            add("    n += p_0_%d(n)" % number, "p_0_%d" % number)
            add("    g = POOL.pop()")
            add("    n += next(g)", "p_gen")
            add("    POOL.append(g)")
        source.function("p%d_drive" % number, body)
    source.function("p3_drive", lambda add: add("while True: compute('sha256', b'word', b'salt', 1000000)"))
    return ["p0", "p1", "p2", "p3"]


def syscalls(source):
    """Several threads that go into the kernel and back all the time."""
    for number in range(3):
        calls(source, "k%d" % number, 6, lines=2, leaf="n += stat(WAY) and %d")
        driver(source, "k%d" % number, 4)
    return ["k0", "k1", "k2"]


def generators(source, prefix="g", depth=6, width=3):
    for layer in range(depth):
        for index in range(width):
            def body(add):
                for _ in range(3):
                    callee = "%s_%d_%d" % (prefix, layer + 1, random.randrange(width))
                    if layer == depth - 1:
                        add("yield n")
                        add("n += 1")
                    elif index % 2 and sys.version_info >= (3, 3):
                        add("yield from %s(n)" % callee, callee)
                    else:
                        add("for n in %s(n): yield n" % callee, callee)
            source.function("%s_%d_%d" % (prefix, layer, index), body, "n")

    def body(add):
        add("while True:")
        for index in range(width):
            add("    for n in %s_0_%d(1): pass" % (prefix, index), "%s_0_%d" % (prefix, index))
            add("    g = %s_0_%d(1)" % (prefix, index), "%s_0_%d" % (prefix, index))
            for _ in range(5):
                add("    next(g)", "%s_0_%d" % (prefix, index))
            add("    for n in g: pass", "%s_0_%d" % (prefix, index))
    source.function(prefix + "_drive", body)
    return [prefix]


def coroutines(source, prefix="a", depth=6, width=3):
    """Await chains, driven by hand; each leaf lets go once, and the whole chain is left and entered again."""
    for layer in range(depth):
        for index in range(width):
            def body(add):
                for _ in range(3):
                    callee = "%s_%d_%d" % (prefix, layer + 1, random.randrange(width))
                    if layer == depth - 1:
                        add("await Stop()")
                    else:
                        add("n += await %s(n)" % callee, callee)
                add("return n & 15")
            source.function("%s_%d_%d" % (prefix, layer, index), body, "n", "async ")

    def body(add):
        add("while True:")
        for index in range(width):
            callee = "%s_0_%d" % (prefix, index)
            add("    c = %s(1)" % callee, callee)
            for _ in range(5):
                add("    c.send(None)", callee)
            add("    try:")
            add("        while True: c.send(None)", callee)
            add("    except StopIteration: pass")
    source.function(prefix + "_drive", body)
    return [prefix]


def callbacks(source):
    """C between Python and Python: each call enters the evaluation loop anew."""
    calls(source, "b", 5, call="sum(map(%s, (n,)))")
    driver(source, "b", 4, call="sorted((n,), key=%s)[0]")
    return ["b"]


def deep(source, prefix="d", depth=600):
    """Grows to the full depth and falls back to somewhere, again and again: over the edges of data-stack chunks."""
    for layer in range(depth):
        def body(add):
            if layer == depth - 1:
                add("return 0")
            else:
                callee = "%s_%d_0" % (prefix, layer + 1)
                add("if n & 1: %s(n >> 1)" % callee, callee)
                add("return 1")
        source.function("%s_%d_0" % (prefix, layer), body, "n")

    def body(add):
        add("while True:")
        for bits in (600, 3, 150, 40, 400, 1):
            add("    %s_0_0((1 << %d) - 1)" % (prefix, bits), "%s_0_0" % prefix)
    source.function(prefix + "_drive", body)
    return [prefix]


def exceptions(source, prefix="e", depth=6, width=3):
    for layer in range(depth):
        for index in range(width):
            def body(add):
                if layer == depth - 1:
                    add("if n % 3 == 0: raise KeyError(n)")
                    add("return n + 1")
                    return
                for number in range(3):
                    callee = "%s_%d_%d" % (prefix, layer + 1, random.randrange(width))
                    other = "%s_leaf_%d" % (prefix, random.randrange(width))
                    if (layer + index) % 2:
                        add("n += %s(n)" % callee, callee)
                        continue
                    add("try:")
                    add("    n = %s(n)" % callee, callee)
                    add("except KeyError:")
                    add("    n = %s(n)" % other, other)
                    if number % 2:
                        add("finally:")
                        add("    n += %s(n)" % other, other)
                add("return n & 255")
            source.function("%s_%d_%d" % (prefix, layer, index), body, "n")
    for index in range(width):
        source.function("%s_leaf_%d" % (prefix, index), lambda add: add("return n + 1"), "n")

    def body(add):
        add("n = 0")
        add("while True:")
        for index in range(width):
            add("    try: n += %s_0_%d(n)" % (prefix, index), "%s_0_%d" % (prefix, index))
            add("    except KeyError: n += 1")
    source.function(prefix + "_drive", body)
    return [prefix]


def churn(source):
    """Threads that start, call a little, and end."""
    calls(source, "c", 3)
    source.function("c_short", lambda add: [add("c_0_%d(1)" % index, "c_0_%d" % index) for index in range(4)])

    def body(add):
        add("while True:")
        add("    threads = [Thread(target=c_short) for _ in range(4)]", away=True)
        add("    for thread in threads: thread.start()", away=True)
        add("    for thread in threads: thread.join()", away=True)
    source.function("c_drive", body)
    if sys.version_info < (3, 12):  # a comprehension is a function of its own
        name = "c_drive.<locals>.<listcomp>" if QUALIFIED else "<listcomp>"
        line = len(source.lines) - 2
        source.rules += [("call", FILE, line, "c_drive", name), ("body", FILE, name, line, line)]
    source.rules.append(("entry", FILE, "c_short"))
    return ["c"]


class Stop:
    """Awaiting it gives control back to the driver once. All of it is C: it has no frame that could be seen."""

    __await__ = staticmethod(functools.partial(iter, (None,)))


def interpreters(source):
    """Three with a GIL each (3.12 and later), all of them busy at once."""
    for number in range(3):
        calls(source, "i%d" % number, 6)
        driver(source, "i%d" % number, 4)
    return ["i0", "i1", "i2"]


def swapping(source):
    """Another interpreter with a GIL of its own (3.12 and later), run by the main thread in turn with what the main
    interpreter does: one thread, two GILs."""
    calls(source, "m", 3)
    calls(source, "x", 3)
    source.function("x_turn", lambda add: [add("x_0_%d(1)" % index, "x_0_%d" % index) for index in range(4)])
    source.rules.append(("entry", FILE, "x_turn"))
    driver(source, "m", 4, last="swap()")
    # Whoever is in x_turn was called from there, and has not come back.
    source.rules.append(("meanwhile", FILE, "x_turn", FILE, "m_drive", len(source.lines)))
    return ["m"]


def make_swap(source):
    """The function that has the other interpreter take its turn. It is all C: it has no frame."""
    run, interpreter = make_interpreter(own_gil=True)
    run(interpreter, "exec(compile(%r, %r, 'exec'))" % ("\n".join(source.lines) + "\n", FILE))
    return functools.partial(run, interpreter, "x_turn()")


def lent(source):
    """An interpreter that is made by the main thread and run by another one: its thread state names its maker."""
    calls(source, "l", 6)
    driver(source, "l", 4)
    return ["l"]


def lend(source):
    """Does not come back: the other interpreter says that it is ready, and in some versions never gives the GIL away again."""
    run, interpreter = make_interpreter(own_gil=False)
    ages.start_new_thread(run, (interpreter, script_for(source, "l_drive", 1, "ready\n")))
    time.sleep(1000000)


def borrowed(source):
    """A thread state that is made by the main thread and run by one of C's."""
    calls(source, "t", 6)
    driver(source, "t", 4)
    return ["t"]


def brief(source):
    """Threads of C that live for a few calls, each with a thread state where the last one lay."""
    calls(source, "t", 6)

    def body(add):
        for index in range(4):
            add("t_0_%d(1)" % index, "t_0_%d" % index)
    source.function("t_drive", body)
    return ["t"]


def hand_to_c(variant, function, library):
    """Does not come back."""
    ages.say("ready")
    import ctypes

    strange = ctypes.PyDLL(library)
    getattr(strange, variant)(ctypes.py_object(function))
    time.sleep(1000000)


def script_for(source, function, pipe, word="."):
    """Runs a function of the generated program, and says so before."""
    text = "import os\nnames = {}\nexec(compile(%r, %r, 'exec'), names)\nos.write(%d, %r)\nnames[%r]()\n"
    return text % ("\n".join(source.lines) + "\n", FILE, pipe, word.encode(), function)


def make_interpreter(own_gil):
    """A new interpreter, and the function that runs a script in it."""
    if sys.version_info >= (3, 13):
        import _interpreters

        return _interpreters.run_string, _interpreters.create("isolated" if own_gil else "legacy")
    import _xxsubinterpreters

    if sys.version_info >= (3, 12):
        return _xxsubinterpreters.run_string, _xxsubinterpreters.create(isolated=own_gil)
    return _xxsubinterpreters.run_string, _xxsubinterpreters.create()


def in_interpreter(source, function, pipe):
    run, interpreter = make_interpreter(own_gil=True)
    run(interpreter, script_for(source, function, pipe))


def renamed(code, name, file, line):
    more = {"co_qualname": name} if QUALIFIED else {}
    return ages.replaced(code, co_name=name, co_filename=file, co_firstlineno=line, **more)


def fresh_outer(inner, n):
    n += 1
    n += inner(n)
    return n


def fresh_inner(n):
    n += 1
    n += 2
    return n


def fresh(twins=False):
    """New code objects all the time, in the memory of those before. Name, file and line all carry the number; twins
    have even the line in common, so that only the text of name and file tells them apart."""
    outer, inner = fresh_outer.__code__, fresh_inner.__code__
    number = 100000
    names = {}
    function = types.FunctionType
    while True:
        number = number + 1 if number < 999999 else 100000
        line = 10 if twins else number
        file = "/fresh/%d.py" % number
        first = function(renamed(outer, "outer_%d" % number, file, line), names)
        second = function(renamed(inner, "inner_%d" % number, file, line + 10), names)
        first(second, 1)
        first(second, 2)


def names():
    """A thread that changes its name all the time. The second number of a name follows from the first."""
    thread = threading.current_thread()
    number = 0
    while True:
        number = (number + 1) % 1000000
        thread.name = "name-%d-%d" % (number, number * 7 + 3)


def start(prefix, variant, source, namespace):
    """The thread of one of the drivers."""
    reader, writer = os.pipe()
    target = namespace[prefix + "_drive"]
    if variant == "interpreters":
        target = functools.partial(in_interpreter, source, prefix + "_drive", writer)
    name = None if variant == "parallel" else "hammer-" + prefix  # of one whose functions are its own
    ages.daemon(target, name=name)
    if variant == "interpreters":
        os.read(reader, 1)


def main(variant):
    source = Source()
    prefixes = []
    if variant == "names":
        ages.daemon(names)
    elif variant not in ("fresh", "twins"):
        prefixes = globals()[variant](source)
    namespace = {"Thread": threading.Thread, "Stop": Stop, "stat": os.stat, "WAY": "/tmp/.." * 20,
                 "seek": os.lseek, "ZERO": os.open("/dev/zero", os.O_RDONLY), "nap": time.sleep,
                 "compute": hashlib.pbkdf2_hmac}
    source.run(namespace)
    if variant == "parallel":
        namespace["POOL"] = [namespace["p_gen"](1) for _ in range(8)]
    if variant == "swapping":
        namespace["swap"] = make_swap(source)
    rules = source.rules + [("root", __file__), ("root", threading.current_thread.__code__.co_filename)]
    rules += [("root", "<string>"), ("root", "<script>")]  # where another interpreter begins
    rules += [("root", FILE)] if variant in ("borrowed", "brief") else []  # called by C
    rules += [("entry", FILE, prefix + "_drive") for prefix in prefixes]
    rules += [("idle",)] if sys.argv[2:] == ["idle"] else []  # run by a thread that C made
    print("\n".join("\t".join(str(part) for part in rule) for rule in rules))
    for prefix in prefixes[1:]:
        start(prefix, variant, source, namespace)
    if variant in ("borrowed", "brief"):
        hand_to_c(variant, namespace["t_drive"], sys.argv[2])
    if variant == "lent":
        sys.stdout.flush()
        lend(source)
    ages.say("ready")
    if prefixes:
        # One that is not of a single call path keeps its own: from 3.14 on the kernel hears of names, too.
        if variant not in ("churn", "swapping", "parallel"):
            threading.current_thread().name = "hammer-" + prefixes[0]
        namespace[prefixes[0] + "_drive"]()
    elif variant == "names":
        names()
    else:
        fresh(variant == "twins")


if __name__ == "__main__":
    main(sys.argv[1])
