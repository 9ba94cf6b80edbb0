"""Threads: ids, names, states, the GIL, several interpreters."""

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import truths
from harness import BUILD, USABLE, darter, each, limit, process_state, skip, target, wait_for

FREE = [python for python in USABLE if python.threaded]

# state, system calls that it may be in
BLOCKED = {
    "sleeps": ("sleeping", {"clock_nanosleep", "select", "pselect6"}),
    "reads": ("in a system call", {"read"}),
    "locked": ("sleeping", {"futex"}),
    "selects": ("sleeping", {"select", "pselect6"}),
    "polls": ("sleeping", {"epoll_wait", "epoll_pwait", "epoll_pwait2"}),
    "waits_for_child": ("sleeping", {"wait4"}),
    "wants_gil": ("waiting for the GIL", {"futex"}),
}


@each(USABLE)
def test_names(python):
    with target(python, "truth_threads.py", "named") as program:
        truths.check(program)


@each(USABLE)
def test_fifty_threads_after_many_that_ended(python):
    with target(python, "truth_threads.py", "churned") as program:
        snapshot = truths.check(program)
    assert len(snapshot["threads"]) == 51, len(snapshot["threads"])


@each(USABLE)
def test_threads_that_threading_did_not_make(python):
    with target(python, "truth_threads.py", "strange") as program:
        truths.check(program)


@each(USABLE)
def test_a_program_without_threading(python):
    with target(python, "truth_bare.py", options=["-S", "-E"]) as program:
        truths.check(program)


def by_name(program):
    return {thread["name"]: thread for thread in truths.seen(program)["threads"]}


@each(USABLE)
@limit(300)
def test_states(python):
    with target(python, "truth_states.py", env=python.with_gil) as program:
        natives = json.loads(program.lines[0])

        def settled():
            threads = by_name(program)
            return threads["wants_gil"]["state"] == "waiting for the GIL" and threads["works"]["gil"]

        # From then on nothing changes any more, and each look has to say the same.
        wait_for(settled, "the thread that wants the GIL waits for it")
        for _ in range(10):
            threads = by_name(program)
            assert {name: thread["tid"] for name, thread in threads.items()} == natives, threads
            for name, (state, calls) in BLOCKED.items():
                assert threads[name]["state"] == state, threads[name]
                assert threads[name]["syscall"] in calls, threads[name]
            for name in ("works", "works_without_gil"):
                assert threads[name]["state"] == "running" and threads[name]["syscall"] is None, threads[name]
            holders = [name for name, thread in threads.items() if thread["gil"]]
            assert holders == ["works"], holders
            assert not any(thread["gc"] for thread in threads.values())


@each(FREE)
@limit(300)
def test_states_without_a_gil(python):
    """Nobody holds the GIL or waits for it, and several run at once; each of them is proven on its own."""
    with target(python, "truth_states.py") as program:
        natives = json.loads(program.lines[0])
        blocked = {name: BLOCKED[name] for name in BLOCKED if name != "wants_gil"}

        def settled():
            threads = by_name(program)
            return all(threads[name]["state"] == state for name, (state, _) in blocked.items())

        wait_for(settled, "those that wait do")
        for _ in range(10):
            threads = by_name(program)
            assert {name: thread["tid"] for name, thread in threads.items()} == natives, threads
            for name, (state, calls) in blocked.items():
                assert (threads[name]["state"], threads[name]["proof"]) == (state, "still"), threads[name]
                assert threads[name]["syscall"] in calls, threads[name]
            for name in ("works", "works_without_gil"):
                assert threads[name]["state"] == "running" and not threads[name]["torn"], threads[name]
            for name, thread in threads.items():
                assert thread["frames"][0]["name"].split(".")[-1] == name, thread
                assert not thread["gil"] and not thread["gc"], thread


@each(FREE)
def test_a_child_that_works_without_a_gil_forked_in_c(python):
    with target(python, "truth_forked.py", "works") as program:
        truth = truths.told(program)
        for _ in range(10):
            (thread,) = truths.seen(truth["native"])["threads"]
            assert thread["tid"] == thread["ns_tid"] == truth["native"] and thread["main"], (truth, thread)
            assert not thread["torn"] and not thread["gil"] and thread["proof"] != "none", thread
            assert [frame["name"] for frame in thread["frames"]] == ["works", "<module>"], thread


@each(FREE)
def test_the_collector_at_work_without_a_gil(python):
    with target(python, "collecting.py") as program:
        thread = wait_for(lambda: next((one for one in by_name(program).values() if one["gc"]), None), "it collects")
        assert not thread["gil"] and not thread["torn"], thread
        assert [frame["name"].split(".")[-1] for frame in thread["frames"]] == ["__del__", "<module>"], thread


@each(USABLE)
def test_a_child_that_rests_forked_in_c(python):
    with target(python, "truth_forked.py", "rests") as program:
        (truth,) = truths.told(program)["threads"]
        assert truth["native"] != program.pid, truth
        truths.check(program, pid=truth["native"])


@each(USABLE)
def test_a_child_that_works_forked_in_c(python):
    """Its thread state names a thread of another process, if any; there is one thread that it can be."""
    with target(python, "truth_forked.py", "works", env=python.with_gil) as program:
        truth = truths.told(program)
        first, last = truth["lines"]

        def look():
            (thread,) = truths.seen(truth["native"])["threads"]
            assert thread["tid"] == thread["ns_tid"] == truth["native"] and thread["main"], (truth, thread)
            assert not thread["torn"] and thread["proof"] != "none", thread
            assert [frame["name"] for frame in thread["frames"]] == ["works", "<module>"], thread
            assert first <= thread["frames"][0]["line"] <= last, (truth, thread)
            return thread

        # It has the GIL for good once it has come back from writing its line; 2.7 lets go of it for a moment after
        # every hundred instructions, whether anybody wants it or not.
        wait_for(lambda: look()["gil"], "it has come back")
        looks = [look() for _ in range(10)]
        assert all(thread["state"] == "running" for thread in looks), looks
        has = sum(thread["gil"] for thread in looks)
        assert has >= (5 if python.version < (3,) else 10), looks


# state, system call
HOLDER = {
    "holds": ("in a system call", "read"),
    "works_without_gil": ("running", None),
    "wants_gil": ("waiting for the GIL", "futex"),
}


@each(USABLE)
@each(["main", "thread"])
@limit(300)
def test_blocked_with_the_gil_in_hand(python, holder):
    """Who has the GIL sleeps in C, and the only one that runs does so without it: neither is taken for the other."""
    with target(python, "truth_holder.py", holder, env=python.with_gil) as program:
        natives = json.loads(program.lines[0])
        wait_for(lambda: process_state(natives["holds"]) == "S", "the holder sleeps")
        wait_for(lambda: by_name(program)["wants_gil"]["state"] == "waiting for the GIL", "somebody waits for the GIL")
        for _ in range(10):
            threads = by_name(program)
            assert {name: thread["tid"] for name, thread in threads.items()} == natives, (natives, threads)
            for name, (state, call) in HOLDER.items():
                thread = threads[name]
                assert (thread["state"], thread["syscall"]) == (state, call), thread
                assert thread["gil"] == (name == "holds") and not thread["torn"], thread
                assert thread["frames"][0]["name"] == name, thread


@each(USABLE)
def test_the_collector_at_work(python):
    with target(python, "collecting.py", env=python.with_gil) as program:
        # It has the GIL for good once it has come back from writing its line.
        thread = wait_for(lambda: next((one for one in by_name(program).values() if one["gil"]), None), "it has it")
        assert thread["gc"] and thread["state"] == "running", thread
        assert [frame["name"].split(".")[-1] for frame in thread["frames"]] == ["__del__", "<module>"], thread


KINDS = ["shared", "shared shared shared", "own", "own own", "shared own shared own"]


@each(USABLE)
@each(KINDS)
def test_interpreters(python, kinds):
    if python.version < (3, 8):
        skip("Python code makes interpreters from 3.8 on")
    if "own" in kinds and python.version < (3, 12):
        skip("an interpreter with a GIL of its own needs 3.12")
    with target(python, "truth_interpreters.py", *kinds.split()) as program:
        truths.check(program)


def greenlet_for(python, folder):
    """Puts greenlet there, for this Python; skips where it cannot be had."""
    if python.root or python.version[:2] not in ((3, 11), (3, 12), (3, 13)):
        skip("greenlet is tried with 3.11, 3.12 and 3.13 of this machine")
    done = subprocess.run([*python.argv, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", folder,
                           "greenlet"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "0"})
    if done.returncode != 0:
        skip("greenlet could not be installed: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])


@each(USABLE)
@limit(300)
def test_greenlets(python):
    python.demand()
    with tempfile.TemporaryDirectory() as folder:
        greenlet_for(python, folder)
        with target(python, "truth_main.py", "greenlets", env={"PYTHONPATH": folder}) as program:
            truths.check(program)


@each(USABLE)
def test_an_interpreter_that_another_thread_made(python):
    """Whose thread state names the thread that made it, while another one runs it. Both compute."""
    if python.version < (3, 8):
        skip("Python code makes interpreters from 3.8 on")
    with target(python, "lent_interpreter.py", env=python.with_gil) as program:
        runner = next(int(line.split()[1]) for line in program.lines if line.startswith("runner "))

        def at_work():
            """The thread state of the interpreter, if it has the GIL."""
            snapshot = truths.seen(program)
            assert snapshot["torn"] == 0, snapshot
            inner = [thread for thread in snapshot["threads"] if thread["frames"] and thread["interpreter"]]
            # In the moment in which nobody has the GIL, nothing tells that its maker, the main thread, does not run it.
            held = any(thread["gil"] for thread in snapshot["threads"])
            makers = [thread["ns_tid"] for thread in snapshot["threads"] if thread["main"] and not held]
            assert all(thread["ns_tid"] in (runner, 0, *makers) for thread in inner), (runner, snapshot)
            assert all(thread["state"] == "running" for thread in snapshot["threads"] if thread["gil"]), snapshot
            return next((thread for thread in inner if thread["gil"]), None)

        for _ in range(20):
            at_work()
        thread = wait_for(at_work, "it has the GIL")
        assert thread["ns_tid"] == runner, (runner, thread)
        assert [frame["name"] for frame in thread["frames"]] == ["inner", "<module>"], thread


@each(USABLE)
def test_a_generator_that_c_resumed(python):
    with target(python, "resumed_by_c.py") as program:
        def shown():
            snapshot = truths.seen(program)
            assert snapshot["torn"] == 0, snapshot
            return sorted(thread["frames"][-1]["name"] for thread in snapshot["threads"] if thread["frames"])

        wait_for(lambda: shown() == ["<module>", "computes", "waits"], "both are shown")
        for _ in range(10):
            assert shown() == ["<module>", "computes", "waits"]


@each([python for python in USABLE if not python.root])
def test_a_child_in_the_memory_of_its_parent(python):
    """What threads of the parent change meanwhile is nothing that can be proven through the child."""
    with target(python, "vforked.py", BUILD / "tests" / "hammer" / "strange.so") as program:
        def child():
            return Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()

        (pid,) = wait_for(child, "the child")
        try:
            done = darter("dump", "--json", pid, check=None)
            document = json.loads(done.stdout)
            assert document["snapshots"] == [] and document["errors"][0]["code"] == "not ready", document
            assert done.returncode != 0
            assert truths.seen(program)["torn"] == 0
        finally:
            os.kill(int(pid), signal.SIGKILL)
