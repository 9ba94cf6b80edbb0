"""Ways for a stack to come about."""
import ctypes
import functools
import re

import truth
from truth import write


def plain():
    def outer():
        middle()

    def middle():
        inner(1)

    def inner(number):
        write(*truth.here()), truth.rest()

    outer()


def recursion(depth=50):
    if depth:
        recursion(depth - 1)
    else:
        write(*truth.here()), truth.rest()


def mutual(depth=20):
    def even(left):
        if left:
            odd(left - 1)
        else:
            write(*truth.here()), truth.rest()

    def odd(left):
        even(left - 1)

    even(depth)


def generator():
    def numbers():
        yield 1
        write(*truth.here()), truth.rest()
        yield 2

    for _ in numbers():
        pass


def list_comprehension():
    return [
        (write(*truth.here()), truth.rest())
        for _ in range(1)
    ]


def dict_comprehension():
    return {number: [inner for inner in (write(*truth.here()), truth.rest())] for number in range(1)}


def set_comprehension():
    return {
        len((write(*truth.here()), truth.rest()))
        for _ in range(1)
    }


def generator_expression():
    return any(
        (write(*truth.here()), truth.rest()) is None
        for _ in range(1)
    )


def lambdas():
    first = lambda: second()
    second = lambda: (write(*truth.here()), truth.rest())
    first()


class Shape:
    def method(self):
        return self.build()

    @classmethod
    def build(cls):
        return cls.settle()

    @staticmethod
    def settle():
        return Shape.Inner().value

    class Inner:
        @property
        def value(self):
            return self["key"]

        def __getitem__(self, key):
            return self + 1

        def __add__(self, other):
            return self()

        def __call__(self):
            write(*truth.here()), truth.rest()


def methods():
    Shape().method()


def local_class():
    class Local:
        def __init__(self):
            def nested():
                write(*truth.here()), truth.rest()

            nested()

    Local()


def class_body():
    class Body:
        value = (write(*truth.here()), truth.rest())

    return Body


def sort_key():
    def key(value):
        write(*truth.here()), truth.rest()
        return value

    sorted([1], key=key)


def map_reduce():
    def add(left, right):
        write(*truth.here()), truth.rest()
        return left

    list(map(lambda _: functools.reduce(add, [1, 2]), [1]))


def substitute():
    def replace(match):
        write(*truth.here()), truth.rest()
        return ""

    re.sub("b", replace, "abc")


def ctypes_callback():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(left, right):
        write(*truth.here()), truth.rest()
        return 0

    ctypes.CDLL(None).qsort(ctypes.create_string_buffer(2), ctypes.c_size_t(2), ctypes.c_size_t(1), kind(compare))


if __name__ == "__main__":
    truth.play(globals())
