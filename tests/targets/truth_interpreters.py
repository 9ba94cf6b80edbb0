"""Several interpreters in one process. Arguments: shared or own (the GIL), one for each interpreter to make.

Each gets a thread of the main interpreter to run in, stands in a function of its own there, and has one more thread.
"""
import functools
import json
import os
import sys

import truth
from truth import write

SCRIPT = '''
import json, os, sys, threading, time

def stack_of(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        frames.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno or 0])
        frame = frame.f_back
    return frames

def here():
    thread = threading.current_thread()
    entry = dict(ident=thread.ident, native=threading.get_native_id(), interpreter=%(id)d, name=thread.name,
                 frames=stack_of(sys._getframe(1)))
    return %(pipe)d, json.dumps(entry).encode() + b"\\n"

class Sub:
    def stand(self):
        os.write(*here()), time.sleep(100000)

threading.Thread(target=Sub().stand, name="helper of %(id)d").start()

def main():
    Sub().stand()

main()
'''


def make(kind):
    """(id, function that runs a script in it). It has to be made by the thread that runs it: before 3.13 the thread
    state that is made with an interpreter is the one that runs."""
    if sys.version_info >= (3, 13):
        import _interpreters

        made = _interpreters.create("isolated" if kind == "own" else "legacy")
        return int(made), functools.partial(_interpreters.run_string, made)
    import _xxsubinterpreters

    options = {"isolated": kind == "own"} if sys.version_info >= (3, 9) else {}
    made = _xxsubinterpreters.create(**options)
    return int(made), functools.partial(_xxsubinterpreters.run_string, made)


def runner(kind, pipe):
    number, run = make(kind)
    script = SCRIPT % {"id": number, "pipe": pipe}
    # The line that reports and the line that stays are one here as well.
    write(*truth.here()), run(script)


if __name__ == "__main__":
    kinds = sys.argv[1:]
    if "own" in kinds and sys.version_info < (3, 12):
        raise SystemExit("an interpreter with a GIL of its own needs 3.12")
    reader, pipe = os.pipe()
    os.set_inheritable(pipe, True)
    source = os.fdopen(reader)
    entries = []
    for index, kind in enumerate(kinds):
        truth.start(lambda kind=kind: runner(kind, pipe), "runner %d" % index)
        entries += [json.loads(source.readline()) for _ in range(2)]
    truth.extra.extend(entries)
    truth.stands()  # its interpreter has spoken, so each runner is inside of run()
    write(*truth.here()), truth.rest()
