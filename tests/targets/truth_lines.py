"""Places where the line is hard to tell: blocks, jumps, calls over several lines."""
import contextlib

import truth
from truth import write


class Manager:
    def __init__(self, when):
        self.when = when

    def __enter__(self):
        if self.when == "enter":
            write(*truth.here()), truth.rest()
        return self

    def __exit__(self, *details):
        if self.when == "exit":
            write(*truth.here()), truth.rest()
        return True


def with_enter():
    with Manager("never"), Manager("enter"):
        pass
    return 1


def with_exit():
    with Manager("exit"):
        value = 1
        value += 1
    return value


def with_exit_by_error():
    with Manager("exit") as manager:
        manager.missing
    return 1


def after_with():
    with Manager("never"):
        pass
    with Manager("never") as manager:
        manager.missing
    # The line table of 3.10 has an entry without a line for the end of each block above.
    write(*truth.here()), truth.rest()


def inside_with():
    with Manager("never"):
        with Manager("never"):
            write(*truth.here()), truth.rest()


def context_manager():
    @contextlib.contextmanager
    def manager():
        yield
        write(*truth.here()), truth.rest()

    with manager():
        pass


def try_except():
    try:
        int("x")
    except KeyError:
        pass
    except ValueError:
        write(*truth.here()), truth.rest()


def after_try():
    try:
        int("x")
    except ValueError:
        pass
    finally:
        int("1")
    write(*truth.here()), truth.rest()


def in_finally():
    for number in range(2):
        try:
            if number:
                continue
        finally:
            if number:
                write(*truth.here()), truth.rest()


def finally_by_error():
    try:
        try:
            raise KeyError("x")
        finally:
            write(*truth.here()), truth.rest()
    except KeyError:
        pass


def many_lines():
    def leaf(*args):
        write(*truth.here()), truth.rest()

    def call(*args, **kwargs):
        return args

    return call(
        1,
        leaf(
            2,
            3,
        ),
        key=(
            4
        ),
    )


def backwards():
    # A loop's head comes after its body in the byte code of some versions.
    number = 0
    while (
        number < 1
        or (write(*truth.here()), truth.rest())
    ):
        number += 1
        if number > 1:
            return


if __name__ == "__main__":
    truth.play(globals())
