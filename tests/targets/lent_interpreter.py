"""A sub-interpreter that one thread makes and another one runs, while the first computes as well: the thread state in it
may name its maker. Prints the id of the thread that runs it. (From 3.9 to 3.11 it never gives the GIL back.)"""
import threading

try:
    import _interpreters as interpreters
    execute = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    execute = interpreters.run_string


def run(interpreter):
    print("runner", threading.get_native_id(), flush=True)
    print("ready", flush=True)
    execute(interpreter, "def inner():\n    i = 0\n    while True:\n        i += 1\n\ninner()\n")


def outer():
    i = 0
    while True:
        i += 1


threading.Thread(target=run, args=(interpreters.create(),), daemon=True).start()
outer()
