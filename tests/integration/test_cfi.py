"""The table that is made of .eh_frame, against readelf: every row of every function."""

import bisect
import re
import subprocess
import sys
from pathlib import Path

from harness import BUILD, DARTER, ROOT, each, limit, need_program, skip

HEAD = re.compile(r"^[0-9a-f]{8,} [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(?:.* cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))?")
NAMES = {"rsp": "sp", "rbp": "fp", "sp": "sp", "x29": "fp"}
NO_RULE = ("none", "0", "same", "0", "same", "0", "0")


def interpreter():
    """The file that has the interpreter's code: the program or a library."""
    libraries = re.findall(r"\S*/libpython\S*", Path("/proc/self/maps").read_text(encoding="utf-8"))
    return Path(libraries[0] if libraries else sys.executable).resolve()


def library(word):
    places = [*Path("/usr/lib").glob(f"*-linux-gnu*/{word}*"), *Path("/lib").glob(f"*-linux-gnu*/{word}*")]
    if not places:
        skip(f"there is no {word} here")
    return places[0].resolve()


FILES = {
    "libc": lambda: library("libc.so.6"),
    "libstdc++": lambda: library("libstdc++.so.6"),
    "libcrypto": lambda: library("libcrypto.so"),
    "python": interpreter,
    "darter": lambda: DARTER,
}
AARCH64 = {
    "libc": "lib/aarch64-linux-gnu/libc.so.6",
    "python": "usr/bin/python3.11",
}


def told_by_readelf(path):
    """(start, end, rows) of each function; a row is its address and its cells by the name of the column."""
    done = subprocess.run([need_program("readelf"), "-W", "--debug-dump=frames-interp,no-follow-links", path], capture_output=True, text=True, check=True)
    commons, functions, rows, columns = {}, [], [], []
    for line in re.sub(r" \(\w+\)", "", done.stdout).splitlines():
        head = HEAD.match(line)
        words = line.split()
        if head and head[1] == "CIE":
            rows = commons[int(words[0], 16)] = []
        elif head:
            rows = []
            functions.append((int(head[3], 16), int(head[4], 16), rows, commons.get(int(head[2], 16), [])))
        elif words[:2] == ["LOC", "CFA"]:
            columns = words[1:]
        elif re.match(r"[0-9a-f]{16} ", line) and len(words) == len(columns) + 1:
            rows.append((int(words[0], 16), dict(zip(columns, words[1:]))))
    return [(start, end, rows or [(start, common[0][1])]) for start, end, rows, common in functions if common or rows]


def table_of(path):
    done = subprocess.run([BUILD / "tests" / "hammer" / "cfi", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return [int(row[0], 16) for row in rows], [tuple(row[1:]) for row in rows]


def cfa_fits(cell, way, offset):
    if cell == "exp":
        return way in ("at-sp", "at-fp", "plt", "none")
    found = re.fullmatch(r"(\w+)([+-])(\d+)", cell)
    assert found, cell
    name, sign, number = found.groups()
    if name not in NAMES:
        return way == "none"
    return (way, offset) == (NAMES[name], str(int(sign + number)))


def saved_fits(cell, way, offset, untouched):
    """A column that was never spoken of is shown like one that is undefined."""
    if cell is None or cell in ("u", "s"):
        return way in ("same" if cell == "s" else untouched)
    if cell.startswith("c"):
        return (way, offset) == ("cfa", str(int(cell[1:]))) or (way == "unknown" and int(cell[1:]) % 8)
    return way in ("sp", "fp", "unknown")


def row_fits(cells, rule, machine):
    way, offset, fp, fp_offset, ra, ra_offset, _ = rule
    if not cfa_fits(cells["CFA"], way, offset):
        return False
    if way == "none":
        return ra == "undefined" or rule == NO_RULE
    frame_pointer = cells.get("rbp" if machine == "x86_64" else "x29")
    return saved_fits(frame_pointer, fp, fp_offset, ("same", "undefined")) and saved_fits(
        cells.get("ra"), ra, ra_offset, ("undefined",) if machine == "x86_64" else ("same", "undefined"))


def compare(path, machine):
    starts, rules = table_of(path)
    assert starts == sorted(set(starts)), "starts do not rise"
    functions = sorted(told_by_readelf(path), key=lambda function: function[0])
    known, checked, before = set(), 0, 0
    for start, end, rows in functions:
        assert before <= start < end, f"functions overlap at {start:#x}"
        if before < start:
            assert rules[bisect.bisect_right(starts, before) - 1] == NO_RULE, f"a gap at {before:#x} has a rule"
        before = end
        known |= {start, end}
        for (at, cells), (following, _) in zip(rows, [*rows[1:], (end, None)]):
            if at >= following:
                continue
            known.add(at)
            checked += 1
            for place in (at, following - 1):
                rule = rules[bisect.bisect_right(starts, place) - 1]
                assert row_fits(cells, rule, machine), f"{path} {place:#x}: {cells} {rule}"
    assert not set(starts[1:]) - known, f"rows of nobody: {sorted(set(starts[1:]) - known)[:5]}"
    return checked


@limit(300)
@each(FILES)
def test_it_says_what_readelf_says(name):
    assert compare(FILES[name](), "x86_64") > 1000


@limit(900)
@each(AARCH64)
def test_and_of_aarch64(name):
    done = subprocess.run([ROOT / "scripts" / "unpacked-root", "bookworm", "arm64", "python3.11"], capture_output=True, text=True)
    if done.returncode == 3:
        skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert compare(Path(done.stdout.strip()) / AARCH64[name], "aarch64") > 1000
