"""The rules of tests/targets/hammer.py for stacks that were read from files: see tests/hammer/rules.c, which has them
for darter alone. Any profiler's stacks are judged in the same way here.

A frame is (file, function, line), a stack a list of frames from the outermost to the innermost. Some profilers shorten
the names of files: only what follows the last slash is compared, which is enough to tell those of this program apart.
"""

GENERATED = "generated.py"
WHOLE, IMPOSSIBLE, LOST = "whole", "impossible", "lost"


class Rules:
    """lines: what the target printed before it was ready."""

    def __init__(self, lines):
        words = [[word.rpartition("/")[2] for word in line.split("\t")] for line in lines]
        self.lines = {"\t".join(line) for line in words}
        self.bodies = {(file, name): (int(first), int(last))
                       for kind, file, name, first, last in (word for word in words if word[0] == "body")}

    def frame(self, frame, innermost):
        """Is the line of a frame one of its function's own? Line 0, "none", is possible only where nobody is called."""
        file, name, line = frame
        if file != GENERATED:
            return True
        first, last = self.bodies.get((file, name), (1, 0))
        return first <= line <= last or (line == 0 and innermost and last > 0)

    def pair(self, caller, callee):
        """Does this line of the caller call that function?"""
        if caller[0] == GENERATED and callee[0] == GENERATED:
            return f"call\t{GENERATED}\t{caller[2]}\t{caller[1]}\t{callee[1]}" in self.lines
        if caller[0] == GENERATED:
            return f"away\t{GENERATED}\t{caller[2]}" in self.lines
        return callee[0] != GENERATED or f"entry\t{GENERATED}\t{callee[1]}" in self.lines

    def judge(self, frames):
        """A stack whose frames go together but do not reach the program's beginning is lost, not impossible. None in it
        stands for frames that the profiler itself gave up."""
        known = [(frame[0].rpartition("/")[2], *frame[1:]) for frame in frames if frame is not None]
        cut = len(known) < len(frames)
        if any(not self.frame(frame, not cut and i == len(known) - 1) for i, frame in enumerate(known)):
            return IMPOSSIBLE
        if cut or not known:
            return LOST
        if any(not self.pair(*both) for both in zip(known, known[1:])):
            return IMPOSSIBLE
        return WHOLE if f"root\t{known[0][0]}" in self.lines else LOST


def shares(rules, stacks):
    """{impossible, lost}: parts of the weight of stacks, which are pairs of frames and weight."""
    total = sum(weight for _, weight in stacks)
    found = {IMPOSSIBLE: 0, LOST: 0, WHOLE: 0}
    for frames, weight in stacks:
        found[rules.judge(frames)] += weight
    return {kind: found[kind] / total if total else 0 for kind in (IMPOSSIBLE, LOST)}
