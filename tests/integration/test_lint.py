"""The linters of `make lint`, each as a test."""

import subprocess

from harness import BUILD, ROOT, each, limit, need_program, skip

PROGRAMS = {"format": "clang-format", "tidy": "clang-tidy", "cppcheck": "cppcheck"}


@limit(3000)
@each(PROGRAMS)
def test_lint(linter):
    need_program(PROGRAMS[linter])
    done = subprocess.run([ROOT / "scripts" / "lint", linter, f"build={BUILD}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode == 77:
        skip(done.stdout.strip().removeprefix("lint: "))
    assert done.returncode == 0, done.stdout
