"""Data flows one way: no room includes a room below it."""

import tempfile
from pathlib import Path

import rooms
from harness import ROOT, each


def test_no_include_goes_upward():
    checked = list((ROOT / "src").rglob("*.[ch]"))
    assert len(checked) > 10, checked
    found = rooms.violations(ROOT)
    assert not found, "\n".join(found)


def test_every_room_of_the_build_is_in_the_list():
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert folders <= set(rooms.ROOMS), folders - set(rooms.ROOMS)


BAD = {
    "upward": ("src/base/a.c", '#include "mem/mem.h"\n', "base may not include mem/mem.h of mem"),
    "upward-in-brackets": ("src/base/a.c", "# include <mem/mem.h>\n", "base may not include mem/mem.h of mem"),
    "upward-by-path": ("src/elf/a.c", '#include "../mem/mem.h"\n', "elf may not include ../mem/mem.h of mem"),
    "header": ("src/proc/proc.h", '#include "mem/mem.h"\n', "proc may not include mem/mem.h of mem"),
    "public-header": ("include/darter/darter.h", '#include "base/buf.h"\n', "include may not include base/buf.h"),
    "cli-past-the-library": ("src/cli/main.c", '#include "mem/mem.h"\n', "cli may not include mem/mem.h of mem"),
    "unknown-room": ("src/attic/a.c", "", "the room attic is not in the list"),
    "no-such-file": ("src/base/a.c", '#include "gone.h"\n', "gone.h is in no room"),
}


@each(BAD)
def test_a_bad_tree_is_found(kind):
    name, text, complaint = BAD[kind]
    with tempfile.TemporaryDirectory() as scratch:
        tree = {"src/base/buf.h": "#include <stdio.h>\n", "src/mem/mem.h": '#include "base/buf.h"\n',
                "src/cli/main.c": '#include "base/buf.h"\n#include <darter/darter.h>\n',
                "include/darter/darter.h": "#include <stdint.h>\n"}
        write(scratch, tree)
        assert rooms.violations(scratch) == []
        write(scratch, {name: text})
        found = rooms.violations(scratch)
        assert len(found) == 1 and complaint in found[0], found


def write(root, tree):
    for name, text in tree.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
