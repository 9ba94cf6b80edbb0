"""Which room may include which: the list of ARCHITECTURE.md, as a check over #include lines."""

import re
from pathlib import Path

# A room may include itself and the rooms before it.
ROOMS = ["base", "machine", "proc", "elf", "mem", "native", "core", "python", "sample", "profile", "record", "format", "doctor", "lib", "cli"]
# The command line is a user of the library like any other: the public header and the base room, nothing else.
NARROW = {"cli": {"base", "cli"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(header, folder, root):
    """The room of an included header, "include" for the public one, or None for the system's."""
    if (root / "include" / header).is_file():
        return "include"
    for base in (folder, root / "src"):
        path = (base / header).resolve()
        if path.is_file() and path.is_relative_to((root / "src").resolve()):
            return path.relative_to((root / "src").resolve()).parts[0]
    return None


def violations(root):
    """One sentence per #include that goes upward, and per folder that is in no list."""
    root = Path(root)
    found = []
    for path in sorted([*(root / "include").rglob("*.h"), *(root / "src").rglob("*.[ch]")]):
        where = path.relative_to(root)
        room = "include" if where.parts[0] == "include" else where.parts[1]
        if room != "include" and room not in ROOMS:
            found.append(f"{where}: the room {room} is not in the list")
            continue
        allowed = NARROW.get(room) or set([] if room == "include" else ROOMS[: ROOMS.index(room) + 1])
        for bracket, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            other = room_of(header, path.parent, root)
            if other is None and bracket == '"':
                found.append(f"{where}: {header} is in no room")
            elif other not in (None, "include") and other not in allowed:
                found.append(f"{where}: {room} may not include {header} of {other}")
    return found
