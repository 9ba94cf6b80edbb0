"""Names of native addresses, against binutils: libraries as they are installed, and stripped ones with their symbols elsewhere."""

import re
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, each, limit, need_program, skip

SYMTAB, DYNSYM, PACKED, DEBUG_FILE, PLT = 1, 2, 4, 8, 16
NO_LZMA = 1

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int hidden(int x) { return x * 3 + getpid(); }
int shown(int x) { if (x > 4) abort(); return hidden(x) + puts("a"); }
"""


def read_symbols(path, root="/"):
    """address -> (size, name), of what goes through the linkage table apart; where it came from, what is missing."""
    lines = subprocess.run([BUILD / "tests" / "hammer" / "symbols", root, path], capture_output=True, text=True, check=True,
                           errors="replace").stdout.splitlines()
    found, plt = {}, {}
    for line in lines[1:]:
        address, size, name = line.split(" ", 2)
        (plt if name.endswith("@plt") else found)[int(address, 16)] = int(size, 16), name
    return found, plt, *map(int, lines[0].split())


def functions(path, *options):
    """address -> {(size, name)} as readelf has it."""
    listed = subprocess.run([need_program("readelf"), "-sW", *options, path], capture_output=True, text=True, check=True, errors="replace").stdout
    found = {}
    for line in listed.splitlines():
        match = re.match(r" *\d+: ([0-9a-f]+) +(\w+) (FUNC|IFUNC) +\w+ +\w+ +(?:\[.*\] +)?(\d+) ([^@\s]+)", line)
        if match and int(match[1], 16):
            found.setdefault(int(match[1], 16), set()).add((int(match[2], 0), match[5]))
    return found


def debug_file_of(path):
    noted = subprocess.run([need_program("readelf"), "-n", path], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", noted)
    found = build_id and Path(f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug")
    return found if found and found.is_file() else None


def check_all(path):
    found, plt, sources, missing = read_symbols(path)
    wanted, debug = functions(path), debug_file_of(path)
    for address, names in (functions(debug) if debug else {}).items():
        wanted.setdefault(address, set()).update(names)
    if not missing & NO_LZMA:
        assert missing == 0, missing
    assert bool(sources & DEBUG_FILE) == bool(debug), (sources, debug)
    for address, names in wanted.items():
        assert address in found, (path, hex(address), names)
        size, name = found[address]
        assert name in {name for _, name in names}, (path, hex(address), name, names)
        # One without a size has what is left up to the next.
        assert size in {size for size, _ in names} or {size for size, _ in names} == {0}, (path, hex(address), size, names)
    labels = len(found) - len(wanted)
    assert labels < 0.05 * len(wanted) + 200, (path, labels, len(wanted))
    return found, plt


def library_files():
    """What this Python has mapped as code, and the library of C++."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if " r-xp " in line and "/" in line}
    return sorted(mapped) + [str(path) for path in Path("/usr/lib").glob("*/libstdc++.so.6")]


@limit(300)
def test_functions_of_libraries_are_those_of_readelf():
    checked = [path for path in library_files() if len(check_all(path)[0]) > 20]
    assert any("libc" in path for path in checked), checked


@limit(300)
def test_calls_through_the_table_are_those_of_objdump():
    told = 0
    for path in library_files():
        plt = read_symbols(path)[1]
        listed = subprocess.run([need_program("objdump"), "-d", "--no-show-raw-insn", "-j.plt", "-j.plt.sec", "-j.plt.got", path],
                                capture_output=True, text=True).stdout
        # Those that are chosen when the library is loaded have no name to call them by.
        wanted = {int(address, 16): name for address, name in re.findall(r"^([0-9a-f]+) <([^@+>]+)(?:@+[^>]*)?@plt>:", listed, re.MULTILINE)
                  if not name.startswith("*ABS*")}
        for address, name in wanted.items():
            assert plt.get(address, (0, ""))[1] == f"{name}@plt", (path, hex(address), name, plt.get(address))
        told += len(wanted)
    assert told > 50, told


def build(folder):
    """full.so, stripped.so, and what was stripped in whole.debug."""
    source = Path(folder) / "s.c"
    source.write_text(SOURCE)
    for command in ([need_program("cc"), "-w", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id=0x0123456789abcdef", "-o", "full.so", source],
                    [need_program("objcopy"), "--only-keep-debug", "full.so", "whole.debug"],
                    [need_program("objcopy"), "--strip-all", "full.so", "stripped.so"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def hidden_of(found):
    return [name for _, name in found.values() if name.startswith("hidden")]


PLACES = {
    "build-id": "usr/lib/debug/.build-id/01/23456789abcdef.debug",
    "beside": "lib/whole.debug",
    "folder": "lib/.debug/whole.debug",
    "tree": "usr/lib/debug/lib/whole.debug",
}


@each(PLACES)
@limit(120)
def test_a_debug_file_is_found(place):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        module, debug = root / "lib" / "m.so", root / PLACES[place]
        build(folder)
        for directory in (module.parent, debug.parent):
            directory.mkdir(parents=True, exist_ok=True)
        link = [] if place == "build-id" else ["--add-gnu-debuglink=whole.debug", "--remove-section=.note.gnu.build-id"]
        subprocess.run([need_program("objcopy"), *link, "stripped.so", module], cwd=folder, check=True)
        assert not hidden_of(read_symbols("/lib/m.so", root)[0])
        # The CRC is that of the file as it was linked to: without a build id in it, too.
        if link:
            subprocess.run([need_program("objcopy"), "--remove-section=.note.gnu.build-id", "whole.debug"], cwd=folder, check=True)
            subprocess.run([need_program("objcopy"), *link, "stripped.so", module], cwd=folder, check=True)
        debug.write_bytes((Path(folder) / "whole.debug").read_bytes())
        found, _, sources, missing = read_symbols("/lib/m.so", root)
        assert sources & DEBUG_FILE and not missing, (sources, missing)
        for address, names in functions(Path(folder) / "full.so").items():
            assert found[address] in names or not next(iter(names))[0], (hex(address), found.get(address), names)
        assert hidden_of(found)
        with debug.open("ab") as file:
            file.write(b"x")
        assert bool(hidden_of(read_symbols("/lib/m.so", root)[0])) == (place == "build-id")


@limit(120)
def test_packed_symbols_are_found():
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        subprocess.run([need_program("objcopy"), "--strip-debug", "whole.debug", "mini"], cwd=folder, check=True)
        subprocess.run([need_program("xz"), "mini"], cwd=folder, check=True)
        subprocess.run([need_program("objcopy"), "--add-section=.gnu_debugdata=mini.xz", "stripped.so", "packed.so"], cwd=folder, check=True)
        found, plt, sources, missing = read_symbols("/packed.so", folder)
        if missing & NO_LZMA:
            skip("this build has no liblzma")
        assert sources & PACKED and not missing, (sources, missing)
        assert hidden_of(found) and {"abort@plt", "puts@plt"} <= {name for _, name in plt.values()}
