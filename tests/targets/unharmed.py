"""Answers each line of its input, works in threads meanwhile, checks its own work, and ends with exit code 7.

What it prints depends on its input alone, so it must be the same whether somebody looks or not.
"""
import hashlib
import sys
import threading
import time

import ages

stop = threading.Event()
broken = []


def let_others():
    """A thread that computes may keep the GIL of 2.7 from all others for minutes."""
    if sys.version_info < (3,):
        time.sleep(1e-5)


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def work():
    while not stop.is_set():
        let_others()
        if fibonacci(14) != 377:
            broken.append("fibonacci")


def numbers(limit):
    for number in range(limit):
        yield number


def iterate():
    while not stop.is_set():
        let_others()
        if sum(numbers(1000)) != 499500:
            broken.append("sum")


def nap():
    while not stop.is_set():
        before = ages.monotonic()
        time.sleep(0.002)
        if ages.monotonic() - before < 0.002:
            broken.append("slept too short")


def hash_alone():
    while not stop.is_set():
        let_others()
        if hashlib.sha256(b"x" * 100000).hexdigest()[:8] != "d69e6898":
            broken.append("hash")


if __name__ == "__main__":
    threads = [threading.Thread(target=function) for function in (work, iterate, nap, hash_alone)]
    for thread in threads:
        thread.start()
    ages.say("ready")
    for line in iter(sys.stdin.readline, ""):
        if line == "stop\n":
            break
        ages.say(line.strip(), fibonacci(10), hashlib.md5(line.encode()).hexdigest())
    stop.set()
    for thread in threads:
        thread.join()
    ages.say("end", sorted(set(broken)))
    sys.exit(7)
