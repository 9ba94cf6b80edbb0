"""Names that would take over a terminal or break a parser if they were shown as they are."""

import threading
import time

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\n\"},{\\"
SCRIPT = """
def step(pause):
    pause(3600)
step.__code__ = step.__code__.replace(co_name=EVIL, **QUALNAME)
step(pause)
"""


def main():
    named = hasattr((lambda: 0).__code__, "co_qualname")
    code = compile(SCRIPT, "/tmp/" + EVIL + ".py", "exec")
    scope = {"EVIL": EVIL, "QUALNAME": {"co_qualname": EVIL} if named else {}, "pause": time.sleep}
    thread = threading.Thread(target=exec, args=(code, scope), name=EVIL, daemon=True)
    thread.start()
    print("ready")
    time.sleep(3600)


main()
