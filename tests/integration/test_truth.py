"""Stacks as the target itself sees them: ways to call, lines, names. See tests/targets/truth.py for how it is said."""

import copy
import json
import subprocess

import truths
from harness import FULL, SYSTEM, TARGETS, USABLE, each, limit, skip, target

FILES = ["truth_frames.py", "truth_three.py", "truth_lines.py", "truth_names.py", "truth_match.py"]
MAIN = ["module_level", "importing", "importing_by_name", "signal_handler", "collected", "collected_unasked", "deleted",
        "weak_callback", "trace_function", "profile_function", "error_hook", "at_exit", "callbacks_nested"]


def demand_syntax(python, script):
    if script == "truth_match.py" and python.version < (3, 10):
        skip("the match statement needs 3.10")
    if script == "truth_three.py" and python.version < (3,):
        skip("2.7 has none of that")


@each(USABLE)
@each(FILES)
def test_each_situation_in_a_thread(python, script):
    demand_syntax(python, script)
    with target(python, script) as program:
        snapshot = truths.check(program)
    main = [thread for thread in snapshot["threads"] if thread["main"]]
    assert len(main) == 1 and main[0]["tid"] == program.pid, main


def situations(script):
    # 3.10 is the oldest that can read all of the files; which one lists them does not matter.
    text = subprocess.run([*SYSTEM.argv, TARGETS / script, "--list"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


@each(USABLE)
@each(FILES)
@limit(600)
def test_situations_in_the_main_thread(python, script):
    """Played without frame objects, which most programs do not have (see truth.alone)."""
    demand_syntax(python, script)
    names = situations(script)
    for name in names if FULL else names[::6]:
        with target(python, script, name) as program:
            truths.check(program)


@each(USABLE)
@limit(300)
def test_situations_of_the_main_thread_alone(python):
    for name in MAIN:
        if name.startswith("collected") and python.version < (3, 4):
            continue  # what has a finalizer is not collected there
        with target(python, "truth_main.py", name) as program:
            snapshot = truths.check(program)
            # Whether a finalizer that sleeps is shown as the collector's is not promised; that no other is, is.
            assert name.startswith("collected") or not snapshot["threads"][0]["gc"], (name, snapshot["threads"][0])


@each(USABLE)
@limit(300)
def test_a_stack_of_100000_frames_in_a_thread(python):
    with target(python, "truth_main.py", "deep_in_thread") as program:
        snapshot = truths.check(program)
    assert max(thread["frame_count"] for thread in snapshot["threads"]) > 100000


@each(USABLE)
@limit(300)
def test_a_stack_of_100000_frames_in_the_main_thread(python):
    if python.version < (3, 11):
        skip("before 3.11 Python calls need more C stack than a main thread has: done in a thread")
    with target(python, "truth_main.py", "deep_in_main") as program:
        snapshot = truths.check(program)
    assert snapshot["threads"][0]["frame_count"] > 100000


def test_the_comparison_notices_every_difference():
    """It is the judge of all these tests, so it is judged itself."""
    with target(SYSTEM, "truth_lines.py", "many_lines") as program:
        judge_the_comparison(truths.told(program))


def judge_the_comparison(truth):
    thread = truth["threads"][0]
    snapshot = {
        "python": ".".join(str(part) for part in truth["version"]), "interpreters": 1, "torn": 0,
        "threads": [{**thread, "tid": thread["native"], "ns_tid": thread["native"], "torn": False, "proof": "still",
                     "frames": [{"name": name, "file": file, "line": line} for name, file, line in thread["frames"]]}],
    }
    assert truths.differences(truth, snapshot) == []

    def spoil(change):
        spoiled = copy.deepcopy(snapshot)
        change(spoiled, spoiled["threads"][0], spoiled["threads"][0]["frames"])
        return len(truths.differences(truth, spoiled)) > 0

    assert spoil(lambda all, thread, frames: frames.pop())
    assert spoil(lambda all, thread, frames: frames.reverse())
    assert spoil(lambda all, thread, frames: frames.insert(1, frames[0]))
    assert spoil(lambda all, thread, frames: frames[0].update(line=frames[0]["line"] + 1))
    assert spoil(lambda all, thread, frames: frames[-1].update(name="other"))
    assert spoil(lambda all, thread, frames: frames[1].update(file="other"))
    assert spoil(lambda all, thread, frames: thread.update(tid=1))
    assert spoil(lambda all, thread, frames: thread.update(ns_tid=1))
    assert spoil(lambda all, thread, frames: thread.update(ident=1))
    assert spoil(lambda all, thread, frames: thread.update(name="other"))
    assert spoil(lambda all, thread, frames: thread.update(main=False))
    assert spoil(lambda all, thread, frames: thread.update(torn=True))
    assert spoil(lambda all, thread, frames: thread.update(proof="none"))
    assert spoil(lambda all, thread, frames: all["threads"].append({**thread, "ident": 5}))
    assert spoil(lambda all, thread, frames: all["threads"].append(thread))
    assert spoil(lambda all, thread, frames: all["threads"].clear())
    assert spoil(lambda all, thread, frames: all.update(interpreters=2))
    assert spoil(lambda all, thread, frames: all.update(python="3.7.1"))
