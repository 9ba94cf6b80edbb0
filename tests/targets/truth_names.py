# -*- coding: utf-8 -*-
"""Code that does not come from an ordinary file, and names that are hard to carry."""
import sys
import types

import ages
import truth

LINE = "write(*truth.here()), truth.rest()"


def _run(source, file, mode="exec"):
    names = {"truth": truth, "write": truth.write, "__name__": "made"}
    code = compile(source, file, mode)
    if mode == "eval":
        eval(code, names)
    else:
        exec(code, names)


def exec_string():
    exec(LINE, {"truth": truth, "write": truth.write})


def eval_string():
    eval("\n\n(%s)" % LINE, {"truth": truth, "write": truth.write})


def own_file():
    _run("\n\ndef made():\n    pass\n    %s\n\nmade()\n" % LINE, "/no/such/place/made.py")


def empty_file_name():
    _run(LINE, "")


def non_ascii_file():
    _run("def f():\n    %s\nf()" % LINE, "/tmp/Ünïcödé/文件/\U0001f40d.py")


def latin_file():
    _run("def f():\n    %s\nf()" % LINE, "/tmp/café.py")


def byte_file():
    # One character of 3.x, and in 2.7 a byte that is none.
    _run("def f():\n    %s\nf()" % LINE, "/tmp/caf\xe9.py")


def control_file():
    _run("def f():\n    %s\nf()" % LINE, "new\nline\ttab\x1b[31mred\x1b]0;title\x07\x7f\r\"quote\\back'.py")


def long_file():
    _run("def f():\n    %s\nf()" % LINE, "/" + "long" * 2500 + ".py")


def long_wide_file():
    _run("def f():\n    %s\nf()" % LINE, "/" + "蛇" * 10000 + ".py")


def long_name():
    name = "n" * 10000
    _run("def %s():\n    %s\n%s()" % (name, LINE, name), "long-name.py")


def long_wide_name():
    name = "ñ" * 5000 + "蛇" * 5000 if sys.version_info >= (3,) else "n" * 15000  # whose identifiers are ASCII
    _run("def %s():\n    %s\n%s()" % (name, LINE, name), "long-wide-name.py")


def high_line():
    _run("\n" * 70000 + "def f():\n    %s\nf()" % LINE, "high.py")


def long_function():
    body = "".join("    x = %d + len('a')\n" % number if number % 7 else "\n" * 300 for number in range(3000))
    _run("def f():\n%s    %s\nf()" % (body, LINE), "long.py")


def wide_line_steps():
    # Steps of more than 127 lines forward and back need several entries of the line table.
    lines = "x = [\n" + "\n" * 500 + " len('a'),\n" + "\n" * 1000 + " (%s),\n" % LINE + "\n" * 400 + " 1]\n"
    _run(lines, "steps.py")


def renamed_code():
    def plain():
        write, here = truth.write, truth.here
        write(*here()), truth.rest()

    changes = {"co_name": "name with spaces; and \u2028 more", "co_filename": "renamed \U0001f986.py"}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = "a.<b>.ç"
    types.FunctionType(ages.replaced(plain.__code__, **changes), globals())()


def shifted_code():
    def plain():
        write, here = truth.write, truth.here
        write(*here()), truth.rest()

    types.FunctionType(ages.replaced(plain.__code__, co_firstlineno=1000000), globals())()


if __name__ == "__main__":
    truth.play(globals())
