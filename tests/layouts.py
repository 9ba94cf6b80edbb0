"""The offsets by which darter reads a Python, as the program tests/hammer/layout prints them: name -> text."""

import subprocess

from harness import BUILD, ROOT

RECORD = ROOT / "tests" / "golden" / "offsets" / "record.py"
LAYOUT = BUILD / "tests" / "hammer" / "layout"


def fields(text):
    return dict(line.split() for line in text.splitlines())


def live_table(python):
    """The debug offsets of a running interpreter, in hex."""
    python.demand()
    return subprocess.run([*python.argv, "-"], input=RECORD.read_text(), check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def understood(table):
    """What darter makes of a debug offsets table, given in hex."""
    done = subprocess.run([LAYOUT], input=table, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return fields(done.stdout)


def compiled(major, minor, traced=False):
    """The table that is built into darter. traced: of builds that trace references."""
    return fields(subprocess.run([LAYOUT, str(major), str(minor), *["refs"] * traced], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout)


def layout_of(python):
    """What darter goes by for this Python."""
    layout = understood(live_table(python)) if python.version >= (3, 13) else \
        compiled(*python.version[:2], traced=python.traced)
    layout.pop("newer", None)
    return layout
