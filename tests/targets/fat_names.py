"""A deep stack of functions that are all different, and have long names.

    fat_names.py COUNT LENGTH shared|own    all share one name and one file name, or each has names of its own
"""
import sys
import time


def end():
    print("ready", flush=True)
    time.sleep(3600)


def main(count, length, own):
    sys.setrecursionlimit(count + 100)
    name, function = "n" * length, end
    for number in range(count):
        scope = {"inner": function}
        exec(compile("def f():\n return inner()\n", "f", "exec"), scope)
        function = scope["f"]
        if own or not number:
            names = {part: "%s%06d%s" % (part, number, name)
                     for part in ("co_name", "co_qualname", "co_filename") if hasattr(end.__code__, part)}
        function.__code__ = function.__code__.replace(**names)
    function()


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "own")
