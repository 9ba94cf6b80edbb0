"""Compares what darter shows with what a truth target (tests/targets/truth.py) said of itself, frame by frame."""

import json
import re
from pathlib import Path

from harness import darter

LONE = re.compile("[\ud800-\udfff]")  # not to be had in UTF-8: darter shows U+FFFD


def told(program):
    """The truth that a target printed before its line "ready"."""
    return json.loads(next(line for line in program.lines if line.startswith("{")))


def seen(program_or_pid, *options, **how):
    """The one snapshot of `darter dump --json`."""
    pid = getattr(program_or_pid, "pid", program_or_pid)
    document = json.loads(darter("dump", "--json", *options, pid, check=0, **how).stdout)
    assert document["errors"] == [] and len(document["snapshots"]) == 1, document
    return document["snapshots"][0]


def short(text):
    return text if len(text) < 80 else f"{text[:40]}... ({len(text)} characters)"


def plain(text):
    return LONE.sub("\ufffd", text)


def stack(thread):
    return [(frame["name"], frame["file"], frame["line"]) for frame in thread["frames"]]


def stack_differences(truth, shown):
    want = [(plain(name), plain(file), line) for name, file, line in truth["frames"]]
    have = stack(shown)
    if want == have:
        return
    if len(want) != len(have):
        yield f"{len(want)} frames, darter shows {len(have)}"
    for depth, (one, other) in enumerate(zip(want, have)):
        if one != other:
            one, other = ((short(name), short(file), line) for name, file, line in (one, other))
            yield f"frame {depth} is {one}, darter shows {other}"
            return
    yield f"the rest: {(want[len(have):] or have[len(want):])[:5]}"


def kernel_name(tid):
    return Path(f"/proc/{tid}/comm").read_text(errors="replace").rstrip("\n")


def native_id(tid):
    """A thread's id in its own PID namespace."""
    for line in Path(f"/proc/{tid}/status").read_text(errors="replace").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return tid


def thread_differences(truth, shown, dead=False):
    tid = shown["tid"]
    known = tid == truth["native"] if dead else Path(f"/proc/{tid}/comm").exists() and native_id(tid) == truth["native"]
    if not known:
        yield f"the thread's own id is {truth['native']}, darter shows tid {tid}"
        return
    if truth["native"] != shown["ns_tid"]:
        yield f"ns_tid is {truth['native']}, darter shows {shown['ns_tid']}"
    if truth["name"] is not None:
        name = plain(truth["name"])
    else:  # a core does not tell the kernel's names
        name = shown["name"] if dead else kernel_name(tid)
    if name != shown["name"]:
        yield f"name is {short(name)!r}, darter shows {short(shown['name'] or 'none')!r}"
    for key in ("main", "gc", "gil"):
        if key in truth and truth[key] != shown[key]:
            yield f"{key} is {truth[key]}, darter shows {shown[key]}"
    if shown["torn"] or shown["proof"] == "none":
        yield f"torn: {shown['torn']}, proof: {shown['proof']}"
    yield from stack_differences(truth, shown)


def differences(truth, snapshot, dead=False):
    """All that is different, as lines of text. dead: it is of a core file, and there is no process to ask."""
    found = []
    version = ".".join(str(part) for part in truth["version"])
    if not re.fullmatch(re.escape(version) + r"((a|b|rc)\d+)?\+?", snapshot["python"]):
        found.append(f"Python {version}, darter shows {snapshot['python']}")
    shown = {}
    for thread in snapshot["threads"]:
        key = thread["interpreter"], thread["ident"]
        if key in shown:
            found.append(f"thread {key} is shown twice")
        shown[key] = thread
    for thread in truth["threads"]:
        key = thread["interpreter"], thread["ident"]
        if key not in shown:
            found.append(f"thread {key} {short(thread['name'] or '')!r} is not shown")
            continue
        label = f"thread {short(thread['name'] or '')!r} of interpreter {key[0]}: "
        found += [label + text for text in thread_differences(thread, shown.pop(key), dead)]
    # A thread state without a frame is one that Python keeps for later (each new interpreter has one before 3.13).
    found += [f"thread {key} is shown but not there: {stack(thread)[:3]}" for key, thread in shown.items()
              if thread["frames"]]
    interpreters = {thread["interpreter"] for thread in truth["threads"]}
    if len(interpreters) != snapshot["interpreters"]:
        found.append(f"{len(interpreters)} interpreters, darter shows {snapshot['interpreters']}")
    if not snapshot["threads"] or not snapshot["threads"][0]["main"]:
        found.append("the main thread is not shown first")
    if snapshot["torn"]:
        found.append(f"torn: {snapshot['torn']}")
    return found


def check(program, *options, pid=None, **how):
    """Fails unless darter shows the truth; gives the snapshot. pid: of the program, if it is the child of a wrapper."""
    truth = told(program)
    snapshot = seen(pid or program, *options, **how)
    found = differences(truth, snapshot)
    assert not found, "\n".join([f"{program.python.label} {program.script}:"] + found[:40])
    return snapshot


def seen_core(core, *options, **how):
    """The one snapshot of `darter dump --json --core`."""
    document = json.loads(darter("dump", "--json", "--core", core, *options, check=0, **how).stdout)
    assert document["errors"] == [] and len(document["snapshots"]) == 1, document
    return document["snapshots"][0]


def check_core(program, core, *options, **how):
    """Fails unless darter shows the truth of a core file of the program; gives the snapshot."""
    snapshot = seen_core(core, *options, **how)
    found = differences(told(program), snapshot, dead=True)
    assert not found, "\n".join([f"{program.python.label} {program.script}, {core}:"] + found[:40])
    assert snapshot["pid"] == program.pid, (snapshot["pid"], program.pid)
    assert program.script in snapshot["command"], snapshot["command"]
    return snapshot
