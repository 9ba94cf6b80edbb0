"""Programs that make their memory look as no Python would: darter comes back, and says what it could not prove."""

import json

from harness import USABLE, darter, each, limit, target
from layouts import layout_of

FRAMES = 400000
THREADS = 20000
BELIEVED = 4096  # of thread states that have no thread: the rest is left out


# Before 3.12 every frame is shown.
@limit(300)
@each(python for python in USABLE if python.version >= (3, 12))
def test_more_frames_than_can_be_walked(python):
    with target(python, "endless.py", FRAMES, THREADS, ready=None) as program:
        program.send("".join(f"{name} {value}\n" for name, value in layout_of(python).items()))
        program.wait_line("ready")
        # Eight thousand million steps would take many minutes; the limit is only there to tell that from never.
        document = json.loads(darter("dump", "--json", program.pid, check=0, limit=200).stdout)
    snapshot, = document["snapshots"]
    torn = [thread for thread in snapshot["threads"] if thread["torn"]]
    assert BELIEVED - 2000000 // FRAMES <= len(torn) < THREADS, len(torn)
    assert all(thread["proof"] == "none" and not thread["frames"] for thread in torn), torn[:3]
    assert snapshot["warnings"], snapshot["warnings"]
