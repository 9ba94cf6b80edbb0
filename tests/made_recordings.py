"""Recordings made of lines, which tests/hammer/render turns into any output: a web shop that never was, with the shapes that
pictures have to show (own code, packages, the standard library, native code, several threads), and names that try to do
something."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RENDER = ROOT / os.environ.get("DARTER_BUILD", "build") / "tests" / "hammer" / "render"

APP, LIB, SITE = "/srv/shop/", "/usr/lib/python3.13/", "/srv/shop/.venv/lib/python3.13/site-packages/"

# name@file:line, own milliseconds, [callees]
SQL = ("Session.execute@" + SITE + "sqlalchemy/orm/session.py:2244", 60, [
    ("Connection.execute@" + SITE + "sqlalchemy/engine/base.py:1415", 90, [
        ("DefaultDialect.do_execute@" + SITE + "sqlalchemy/engine/default.py:952", 30, [
            ("Cursor.execute@" + SITE + "psycopg/cursor.py:97", 110, [
                ("wait_select@" + SITE + "psycopg/waiting.py:228", 210, [])])]),
        ("SQLCompiler.process@" + SITE + "sqlalchemy/sql/compiler.py:905", 140, [
            ("visit_select@" + SITE + "sqlalchemy/sql/compiler.py:4811", 260, []),
            ("visit_join@" + SITE + "sqlalchemy/sql/compiler.py:5120", 120, [])])]),
    ("Result.scalars@" + SITE + "sqlalchemy/engine/result.py:1220", 40, [
        ("_instance@" + SITE + "sqlalchemy/orm/loading.py:1099", 190, [])])])
TEMPLATE = ("Template.render@" + SITE + "jinja2/environment.py:1291", 70, [
    ("root@<template>:14", 160, [
        ("block_body@<template>:31", 240, [
            ("do_price@" + APP + "shop/filters.py:22", 260, [
                ("Decimal.quantize@" + LIB + "_pydecimal.py:2545", 310, [])]),
            ("escape@" + SITE + "markupsafe/__init__.py:61", 210, [])])])])
RANK = ("rank@" + APP + "shop/ranking.py:57", 180, [
    ("features@" + APP + "shop/ranking.py:81", 420, [
        ("normalise@" + APP + "shop/text.py:18", 330, [
            ("sub@" + LIB + "re/__init__.py:186", 150, [("_compile@" + LIB + "re/__init__.py:330", 120, [])])]),
        ("distance@" + APP + "shop/text.py:44", 640, [])]),
    ("Model.predict@" + SITE + "sklearn/ensemble/_forest.py:1062", 90, [
        ("_validate@" + SITE + "sklearn/utils/validation.py:2954", 120, []),
        ("apply@" + SITE + "sklearn/tree/_classes.py:530", 110, [
            ("tree_apply@/usr/lib/x86_64-linux-gnu/_tree.so", 520, [])])])])
JSON = ("jsonify@" + SITE + "flask/json/__init__.py:170", 20, [
    ("dumps@" + LIB + "json/__init__.py:231", 30, [("encode@" + LIB + "json/encoder.py:200", 260, [])])])
REQUEST = ("Flask.dispatch_request@" + SITE + "flask/app.py:917", 40, [
    ("search@" + APP + "shop/views.py:38", 60, [("Catalog.find@" + APP + "shop/catalog.py:73", 90, [SQL]), RANK, TEMPLATE]),
    ("checkout@" + APP + "shop/views.py:102", 50, [
        ("Cart.total@" + APP + "shop/cart.py:64", 380, [("discount@" + APP + "shop/cart.py:91", 290, [])]),
        ("Orders.place@" + APP + "shop/orders.py:29", 70, [SQL])]),
    ("api_items@" + APP + "shop/views.py:155", 30, [JSON])])
SERVER = ("_bootstrap@" + LIB + "threading.py:1014", 0, [("run@" + LIB + "threading.py:994", 0, [
    ("_worker@" + LIB + "concurrent/futures/thread.py:93", 10, [
        ("handle@" + SITE + "gunicorn/workers/gthread.py:281", 40, [
            ("Flask.wsgi_app@" + SITE + "flask/app.py:1511", 60, [REQUEST])])])])])
MAIN = ("<module>@" + APP + "shop.py:12", 0, [
    ("main@" + APP + "shop.py:41", 20, [
        ("refresh@" + APP + "shop/cache.py:33", 140, [
            ("load@" + LIB + "pickle.py:1265", 330, []), ("crc32@/usr/lib/x86_64-linux-gnu/libz.so.1", 120, [])]),
        ("Index.build@" + APP + "shop/index.py:19", 240, [
            ("tokenize@" + APP + "shop/index.py:48", 460, [("findall@" + LIB + "re/__init__.py:217", 180, [])]),
            ("insert@" + APP + "shop/index.py:77", 350, [])])])])


def walk(tree, above=()):
    name, own, callees = tree
    path = (*above, name)
    if own:
        yield own, path
    for callee in callees:
        yield from walk(callee, path)


def line(pid, tid, thread, state, ms, *frames):
    return "\t".join([str(pid), str(tid), thread, state, str(ms), *frames]) + "\n"


def shop():
    lines = [line(100, 100, "MainThread", "running", own, *path) for own, path in walk(MAIN)]
    lines.append(line(100, 100, "MainThread", "unseen", 20))
    for worker, weight in enumerate((10, 7, 4)):
        for own, path in walk(SERVER):
            state = "poll" if "wait_select" in path[-1] else "gil" if own == 190 else "running"
            lines.append(line(100, 101 + worker, f"worker-{worker}", state, own * weight / 10, *path))
        lines.append(line(100, 101 + worker, f"worker-{worker}", "sleeping", 500, "_bootstrap@" + LIB + "threading.py:1014"))
    return "".join(lines)


HOSTILE = [
    "</title><script>alert(1)</script>", "]]></style><script>alert(2)</script>", "\"onload=\"alert(3)\"", "'><img src=x onerror=alert(4)>",
    "&lt;script&gt;alert(5)&lt;/script&gt;", "&#60;b&#62; &amp; &nbsp; &undefined;", "<!-- <![CDATA[ ]]>", "<?xml version='1.0'?>",
    "javascript:alert(6)", "${alert(7)}", "line\nbreak\ttab\rreturn", "\x1b[31mred\x07\x08", "right\u202eleft", "\ufffe\uffff",
    "\U000e0041tag", "x" * 5000, "\u4e2d" * 200, "__proto__", "constructor", "(((", "\\", "a@b:c",
]


def render(kind, lines, *options):
    """The bytes of an output."""
    return subprocess.run([RENDER, kind, *options], input=lines.encode("utf-8", "surrogatepass"),
                          stdout=subprocess.PIPE, check=True).stdout


def quoted(name):
    return "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))


def hostile():
    """Each name as function, file and thread."""
    lines = [line(100, 100 + number, quoted(name), "running", 100, f"{quoted(name)}@{quoted(name)}:3")
             for number, name in enumerate(HOSTILE)]
    return "".join([*lines, line(100, 99, "%ff%fe", "running", 100, "%c3(%ff@%fe:3")])
