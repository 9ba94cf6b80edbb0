"""Ways for a stack to come about."""
import asyncio
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


def yield_from():
    def leaf():
        yield 1
        write(*truth.here()), truth.rest()

    def branch(depth):
        yield 0
        yield from branch(depth - 1) if depth else leaf()

    list(branch(10))


def coroutine():
    async def leaf():
        write(*truth.here()), truth.rest()

    async def branch(depth):
        if depth:
            await branch(depth - 1)
        else:
            await leaf()

    try:
        branch(10).send(None)
    except StopIteration:
        pass


def asyncio_run():
    async def leaf():
        await asyncio.sleep(0)
        write(*truth.here()), truth.rest()

    async def parent():
        await asyncio.gather(leaf(), asyncio.sleep(0))

    asyncio.run(parent())


def async_generator():
    async def numbers():
        yield 1
        write(*truth.here()), truth.rest()
        yield 2

    async def consume():
        async for _ in numbers():
            pass
        return [number async for number in numbers()]

    asyncio.run(consume())


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


def decorated():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(
                *args,
                **kwargs,
            )

        return wrapper

    @twice
    @functools.lru_cache(maxsize=0)
    @twice
    def wrapped(value):
        write(*truth.here()), truth.rest()

    wrapped(1)


def fünktion():
    def 函数():
        def 𝔣ℴ𝓸():
            write(*truth.here()), truth.rest()

        𝔣ℴ𝓸()

    函数()


def inherited():
    class Base:
        def work(self):
            write(*truth.here()), truth.rest()

    class Child(Base):
        def work(self):
            super().work()

    Child().work()


if __name__ == "__main__":
    truth.play(globals())
