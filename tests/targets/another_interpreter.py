"""A program with more than one interpreter. Argument, what computes: beside (the main one, the other does nothing), inside (the
other, run by the main thread), lent (the other, made by the main thread and run by one named "runner"), own (two others,
each with a GIL of its own, 3.12 and later, and a thread of the main one that made it), orphan (the other, made by a
thread that has ended, and run by the main one)."""
import functools
import sys
import threading
import time

SCRIPT = """
import os

def within():
    while True:
        i = 0
        while i < 10000:
            i += 1

def enter():
    within()

os.write(1, b"ready\\n")
enter()
"""


def make(own=False):
    """A function that runs the script in a new one."""
    if sys.version_info >= (3, 13):
        import _interpreters

        return functools.partial(_interpreters.run_string, _interpreters.create("isolated" if own else "legacy"), SCRIPT)
    import _xxsubinterpreters

    options = {"isolated": own} if sys.version_info >= (3, 9) else {}
    return functools.partial(_xxsubinterpreters.run_string, _xxsubinterpreters.create(**options), SCRIPT)


def compute():
    while True:
        i = 0
        while i < 10000:
            i += 1


def calls(run):
    run()


def begin(function, *arguments):
    threading.Thread(target=function, args=arguments, name="runner", daemon=True).start()


def main(kind):
    if kind == "own":
        for _ in range(2):
            begin(lambda: calls(make(own=True)))
        time.sleep(100000)
    made = []
    if kind == "orphan":
        maker = threading.Thread(target=lambda: made.append(make()))
        maker.start()
        maker.join()
    run = made[0] if made else make()
    if kind == "beside":
        print("ready", flush=True)
        compute()
    if kind in ("inside", "orphan"):
        calls(run)
    begin(calls, run)
    time.sleep(100000)


main(sys.argv[1])
