"""Lines of instructions: what darter reads from the tables is what Python itself says, for all of the standard library."""

import subprocess

from harness import BUILD, USABLE, each, limit, record_figure, size, visible

LNOTAB, LINETABLE, LOCATIONS, LNOTAB_UNSIGNED = range(4)


def kind(version):
    if version < (3, 6):
        return LNOTAB_UNSIGNED
    return LNOTAB if version < (3, 10) else LINETABLE if version < (3, 11) else LOCATIONS


@limit(1800)
@each(USABLE)
def test_every_instruction_has_the_line_python_says(python):
    python.demand()
    with visible(python, "line_truth.py") as script:
        truth = subprocess.Popen([*python.argv, script, str(size(300, 0))], stdout=subprocess.PIPE)
        done = subprocess.run([BUILD / "tests" / "hammer" / "lines", str(kind(python.version[:2]))], stdin=truth.stdout,
                              stdout=subprocess.PIPE, text=True)
        truth.stdout.close()
        assert truth.wait() == 0, "the program that tells the truth failed"
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[:20] + [last])
    codes, instructions = int(last.split()[0]), int(last.split()[2])
    assert codes > 1000 and instructions > 50000, last
    record_figure(f"line tables of {python.label}", last)
