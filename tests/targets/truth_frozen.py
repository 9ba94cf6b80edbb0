"""A small program to be packed up with its Python: threads that stand still, and a main thread some calls deep."""
import truth
from truth import write


def stand():
    write(*truth.here()), truth.rest()


def deep(depth):
    if depth:
        deep(depth - 1)
    stand()


for number in range(3):
    truth.start(lambda: deep(3), "worker %d" % number)
truth.wait_for(3)
deep(10)
