"""Programs that call and return as fast as they can (tests/targets/hammer.py): no stack is ever a mixture.

Every snapshot goes through the library (tests/hammer/hammer.c), which knows the calls that are possible, caller lines
included. With the pause allowed nothing may be torn either.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, FULL, SHAPES, SOME_SHAPES, SYSTEM, TARGETS, USABLE, Python, alone_with, each, limit, need_program, \
    need_root, record_figure, size, skip, target, visible

VARIANTS = ["single", "threads", "generators", "coroutines", "churn", "deep", "exceptions", "callbacks",
            "fresh", "twins", "names", "lent"]
WAYS = {"ladder": [], "pause": ["no-perch"], "perch": ["never-pause"], "agree": ["no-perch", "never-pause"]}
HAMMER = BUILD / "tests" / "hammer" / "hammer"


def variants_for(python):
    """Python code makes interpreters from 3.8 on, and coroutines from 3.5 on."""
    needs = {"lent": (3, 8), "coroutines": (3, 5)}
    return [variant for variant in VARIANTS if python.version >= needs.get(variant, (2, 7))]


def hammer(python, variant, looks, *options, script="hammer.py", arguments=(), command=(HAMMER,), wrap=(), **how):
    with target(python, script, variant, *arguments, wrap=wrap, **how) as program, \
            tempfile.NamedTemporaryFile("w") as rules:
        rules.write("\n".join(program.lines[:program.lines.index("ready")]) + "\n")
        rules.flush()
        os.chmod(rules.name, 0o644)
        done = subprocess.run([*command, str(program.pid), rules.name, str(looks), *options], capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL)
    label = f"{python.label} {variant} {' '.join(options)}"
    assert done.returncode in (0, 1), f"{label}: exit code {done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    assert found["snapshots"] == looks, f"{label}: {found}"
    assert found["impossible"] == 0, f"{label}: {found['impossible']} impossible, the first: {found['first']}"
    # Agreement is evidence, not proof: how often it deceives is a figure.
    assert found["deceived"] * 50 <= found["snapshots"], f"{label}: {found}"
    # Had the target stood still, nothing would be shown by this. Where nothing may be held, all of it may be torn.
    nothing = found["torn"] + found["empty"] == found["threads"]
    assert nothing or (found["changed"] > 0 and found["frames"] > 0), f"{label}: {found}"
    return found


@contextlib.contextmanager
def stripped(python):
    """A folder with this Python's library, stripped."""
    code = "import sysconfig; print('/'.join(map(sysconfig.get_config_var, ('LIBDIR', 'INSTSONAME'))))"
    library = subprocess.run([*python.argv, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="darter-stripped-") as folder:
        subprocess.run([need_program("strip"), "--strip-all", "-o", f"{folder}/{Path(library).name}", library], check=True)
        yield folder


def not_torn(found, label):
    """Where threads may be held, every stack is proven."""
    assert found["torn"] == 0, f"{label}: {found}"


def seldom_torn(found, label):
    """Where a thread state is made and freed all the time, its thread cannot always be told: that is a figure."""
    assert found["torn"] * 10 < found["threads"], f"{label}: {found}"


def line(name, found):
    proofs = ", ".join(f"{proof} {count}" for proof, count in found["proofs"].items() if count)
    return (f"| {name} | {found['snapshots']} | {found['frames']} | {found['impossible']} | {found['deceived']} | {found['torn']} | {proofs} | "
            f"{found['looks_per_snapshot']:.2f} | {found['us']['p50']:.0f} | {found['us']['p99']:.0f} |")


def report(name, rows):
    head = ["| target | snapshots | frames | impossible | impossible, though looks agreed | torn | threads by proof | looks | us p50 | us p99 |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    record_figure(name, "\n".join(head + rows))


# Whose stacks are true does not depend on the load: these run beside each other, but a perch takes a CPU from whoever is beside it.
@alone_with("hammers")
@each(SHAPES)
@limit(7200)
def test_no_stack_is_a_mixture(python):
    rows = []
    # The full number for the plain case, a fifth of it for each of the others.
    variants = variants_for(python) + (["interpreters"] if python.version >= (3, 12) else [])
    for variant in variants:
        looks = size(2000, 100000) if variant == "single" else size(400, 20000)
        if variant == "interpreters":  # several threads have to be stopped for each
            looks = size(100, 3000)
        found = hammer(python, variant, looks)
        not_torn(found, f"{python.label} {variant}")
        rows.append(line(variant, found))
    report(f"Truth of stacks, {python.label}", rows)


@alone_with("hammers")
@each(SHAPES)
@limit(7200)
def test_each_way_to_prove_a_stack(python):
    rows = []
    for way, options in WAYS.items():
        for variant in ["single", "threads", "generators"] if not FULL else variants_for(python):
            found = hammer(python, variant, size(150, 5000), *options)
            if "never-pause" in options:
                assert found["proofs"]["pause"] == 0, f"{python.label} {variant} {way}: {found}"
            elif python.version < (3,) and variant == "threads":  # nobody counts how often its GIL changes hands
                seldom_torn(found, f"{python.label} {variant} {way}")
            else:
                not_torn(found, f"{python.label} {variant} {way}")
            if "no-perch" in options:
                assert found["proofs"]["perch"] == 0, f"{python.label} {variant} {way}: {found}"
            rows.append(line(f"{variant}, {way}", found))
    report(f"Truth of stacks by way, {python.label}", rows)


@alone_with("hammers")
@each([python for python in SHAPES if python.version >= (3, 12)])
@limit(7200)
def test_one_thread_and_two_gils(python):
    """A thread that goes to and fro between two interpreters, each of which has a GIL of its own: what it does in one and
    in the other is of the same moment."""
    rows = []
    for way in ("ladder", "pause"):
        found = hammer(python, "swapping", size(150, 10000), *WAYS[way])
        seldom_torn(found, f"{python.label} {way}")
        rows.append(line(way, found))
    report(f"One thread and two GILs, {python.label}", rows)


@alone_with("hammers")
@each([python for python in USABLE if python.threaded])
@limit(7200)
def test_threads_that_run_at_the_same_time(python):
    """Without a GIL: each of several running threads is proven on its own."""
    rows = []
    for way, options in WAYS.items():
        found = hammer(python, "parallel", size(60, 5000), *options)
        if "never-pause" not in options:
            not_torn(found, f"{python.label} parallel {way}")
        rows.append(line(f"parallel, {way}", found))
        # Who is in a system call is not stopped: what cannot be proven of several such threads is torn.
        rows.append(line(f"syscalls, {way}", hammer(python, "syscalls", size(50, 2000), *options)))
    report(f"Threads at the same time, {python.label}", rows)


@alone_with("hammers")
@each([python for python in USABLE if python.version < (3, 7) and python.shared])
@limit(7200)
def test_switches_that_nobody_counts(python):
    """A stripped library from before 3.7 does not tell where it counts how often the GIL changes hands, if it does so at
    all: everybody is suspect."""
    rows = []
    with stripped(python) as folder:
        for way in ("ladder", "pause"):
            for variant in size(["single", "threads", "generators", "churn"], variants_for(python)):
                found = hammer(python, variant, size(100, 10000), *WAYS[way], env={"LD_LIBRARY_PATH": folder})
                # Of threads that come and go all the time one look in some thousands is never proven, and says so.
                (seldom_torn if variant == "churn" else not_torn)(found, f"{python.label} {variant} {way}")
                rows.append(line(f"{variant}, {way}", found))
    report(f"Truth of stacks, stripped, {python.label}", rows)


@alone_with("hammers")
@limit(3600)
def test_without_any_right():
    """No capability: a perch without real-time priority, or a pause."""
    need_root()
    if SYSTEM.root or SYSTEM.missing:
        skip("needs a Python that every user can start")
    with contextlib.suppress(FileNotFoundError):
        if int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text()) > 0:
            skip("Yama lets nobody look into processes that are not descendants")
    plain = [need_program("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        script, _, program = (shutil.copy(file, folder)
                              for file in (TARGETS / "hammer.py", TARGETS / "ages.py", HAMMER))
        for variant in VARIANTS:
            found = hammer(SYSTEM, variant, size(200, 5000), script=script, command=[*plain, program], wrap=plain)
            not_torn(found, variant)
            rows.append(line(variant, found))
    report(f"Truth of stacks without rights, {SYSTEM.label}", rows)


@alone_with("hammers")
@each(SHAPES)
@limit(3600)
def test_code_that_differs_far_inside(python):
    """Functions in the memory of others, equal for thousands of bytes of their line tables, or in most of their names."""
    rows = []
    for variant in ("tables", "texts"):
        found = hammer(python, variant, size(300, 5000), script="long_twins.py")
        not_torn(found, f"{python.label} {variant}")
        rows.append(line(variant, found))
    report(f"Long twins, {python.label}", rows)


@alone_with("hammers")
@each(SHAPES)
@limit(7200)
def test_threads_made_in_c(python):
    """Thread states that name another thread than the one that runs them, and such as lie where others lay before."""
    if python.root:
        skip("the library with the threads is of this machine's own root")
    rows = []
    # A build with assertions ends where a thread state without a GIL, whose heap is its thread's own, is run by another.
    for variant in ("borrowed", "brief") if not (python.threaded and python.debug) else ("brief",):
        found = hammer(python, variant, size(300, 20000), arguments=[HAMMER.parent / "strange.so"])
        not_torn(found, f"{python.label} {variant}")
        rows.append(line(variant, found))
    report(f"Threads made in C, {python.label}", rows)


@contextlib.contextmanager
def lender(python):
    """tests/hammer/lend, to be started like a Python of that version, and the library to give to it."""
    code = ("import sys, sysconfig; print(' '.join([getattr(sys, 'base_prefix', sys.prefix)]"
            " + list(map(sysconfig.get_config_var, ('LIBDIR', 'INSTSONAME')))))")
    done = subprocess.run([*python.argv, "-c", code], capture_output=True, text=True, check=True)
    prefix, folder, name = done.stdout.split()
    if not name.endswith(".so.1.0") or not Path(f"{python.root}{folder}/{name}").exists():
        skip(f"no libpython for {python.label}")
    with visible(python, HAMMER.parent / "lend") as program:
        yield Python(program, python.root, python.version, python.text, True), f"{folder}/{name}", prefix


# What the maker of the thread state does meanwhile, and what the one who runs it does.
LENT = {"busy": "single", "asleep": "releases", "gone": "releases"}


@alone_with("hammers")
@each(SOME_SHAPES)
@each(LENT)
@limit(7200)
def test_thread_states_run_by_others(python, maker):
    """A program in C makes a thread state in one thread and runs Python with it in another. Much of that cannot be
    proven from outside, and what cannot is torn: that is counted. What is said to be proven is no mixture."""
    python.demand()
    rows = []
    with lender(python) as (program, library, prefix):
        for variant in size([LENT[maker]], ["single", "releases", "generators"]):
            for way, options in WAYS.items():
                # With two threads that compute nothing can be held, and each look waits for a CPU.
                looks = size(4, 40) if maker == "busy" else size(100, 2000)
                found = hammer(program, variant, looks, *options, arguments=["idle"],
                               options=[library, maker], env={"PYTHONHOME": prefix})
                rows.append(line(f"{variant}, {way}", found))
    report(f"Thread states run by others, maker {maker}, {python.label}", rows)
