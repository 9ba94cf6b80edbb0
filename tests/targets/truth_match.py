"""The match statement: Python 3.10 and later."""
import truth
from truth import write


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


def match_case():
    match Point(1, 2):
        case Point(0, _):
            return
        case Point(x, y) if x > y:
            return
        case Point(x, y):
            write(*truth.here()), truth.rest()


def match_guard():
    match [1, 2, 3]:
        case [first, *others] if first > 1:
            return
        case [first, *others] if (
            write(*truth.here()), truth.rest()
        ):
            return


def after_match():
    match {"key": 1}:
        case {"other": _}:
            return
        case {"key": value}:
            pass
    write(*truth.here()), truth.rest()


if __name__ == "__main__":
    truth.play(globals())
