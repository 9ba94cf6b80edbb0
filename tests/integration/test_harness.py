"""The ground that the other tests stand on: targets start in every Python, and nothing of them is left."""

import figures
from harness import PYTHONS, SYSTEM, each, process_state, target


@each(PYTHONS)
def test_a_target_starts_and_is_gone_afterwards(python):
    with target(python, "sleeper.py") as program:
        assert program.lines == ["ready"], program.lines
        assert process_state(program.pid) in ("S", "R"), process_state(program.pid)
        text = open(f"/proc/{program.pid}/cmdline").read()
        assert "sleeper.py" in text and program.script in text, text
    assert process_state(program.pid) is None


def test_a_target_that_fails_says_why():
    try:
        with target(SYSTEM, "sleeper.py", options=["-c", "import sys; sys.exit('no wish to start')"]):
            pass
    except AssertionError as error:
        assert "no wish to start" in str(error), error
    else:
        raise AssertionError("it started")


def test_a_figure_replaces_the_older_one():
    document = figures.replace_section("", "one", "first\n")
    document = figures.replace_section(document, "two", "other\n")
    document = figures.replace_section(document, "one", "second\n")
    assert document.startswith(figures.HEADING) and document.count("## one\n") == 1, document
    assert "second" in document and "other" in document and "first" not in document, document
