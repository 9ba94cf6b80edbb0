"""Ways for a stack to come about that 2.7 does not know."""
import asyncio
import functools

import ages
import truth
from truth import write


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

    ages.run(parent())


def async_generator():
    async def numbers():
        yield 1
        write(*truth.here()), truth.rest()
        yield 2

    async def consume():
        async for _ in numbers():
            pass
        return [number async for number in numbers()]

    ages.run(consume())


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
