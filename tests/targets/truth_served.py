"""A web application: each request says where its thread stands, and stands there for good."""
import os
import sys

import ages
import truth
from truth import write


def here():
    return 1, truth.text([truth.entry(sys._getframe(1), ages.native_id() == os.getpid())])


def handle(depth):
    if depth:
        handle(depth - 1)
    write(*here()), truth.rest()


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    handle(5)
