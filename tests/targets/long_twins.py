"""Two functions that are made and dropped in turn, in the memory of each other, and differ only far inside.

    long_twins.py tables|texts

tables: their line tables are equal for thousands of bytes, up to the call, which one has a line later than the other.
texts: their names are equal but for a character in the middle. Each calls a function of its own, so that a stack with the
line or name of the other one breaks a rule (see hammer.py).
"""
import marshal
import sys
import types

import ages

FILE = "/hammer/generated.py"
FIRST = 1001  # line of the twins
EQUAL = 2000  # lines before the call
CALL = FIRST + EQUAL + 1
LEAF = """
def %s(n):
    for i in range(n):
        n = i
    return n
"""


def twin(late):
    """The code of one, up to its name; late: its call is a line later."""
    lines = ["def twin(leaf, n):"] + ["    x = n"] * EQUAL + [""] * late + ["    leaf(n)"] + [""] * (1 - late)
    lines += ["    return n"]
    scope = {}
    exec(compile("\n" * (FIRST - 1) + "\n".join(lines), FILE, "exec"), scope)
    return scope["twin"].__code__


def named(code, name):
    return ages.replaced(code, co_name=name, **({"co_qualname": name} if hasattr(code, "co_qualname") else {}))


def main(variant):
    scope, rules, twins = {}, [("root", __file__)], []
    for late, letter in enumerate("ab"):
        leaf, first = "leaf_" + letter, 100 * late + 2
        exec(compile("\n" * (first - 2) + LEAF % leaf, FILE, "exec"), scope)
        name = "twin" if variant == "tables" else "t" * 350 + letter + "t" * 350
        line = CALL + late if variant == "tables" else CALL
        rules += [("body", FILE, leaf, first, first + 3), ("entry", FILE, name), ("call", FILE, line, name, leaf)]
        rules += [("body", FILE, name, FIRST, CALL + 2)]
        code = named(twin(late if variant == "tables" else 0), name)
        twins.append((marshal.dumps(code), scope[leaf]))
    print("\n".join("\t".join(str(part) for part in rule) for rule in rules))
    ages.say("ready")
    while True:
        for code, leaf in twins:
            types.FunctionType(marshal.loads(code), {})(leaf, 20000)


if __name__ == "__main__":
    main(sys.argv[1])
