"""A small program to look into: three threads, each busy in its own way.

"pricing" computes, "mailer" sleeps between two deliveries, "audit" waits for a lock that "import" holds.
"""

import ctypes
import json
import select
import sys
import threading
import time

PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)

ledger = threading.Lock()


def allow_looking():
    """On hosts with Yama only parents may look into a process; this one lets everybody of the same user do so."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)


def discount(amount, years):
    for _ in range(years):
        amount -= amount * 3 / 100
    return amount


def tax(amount, rates=(2.6, 3.8, 8.1)):
    return sum(amount * rate / 100 for rate in rates)


def describe(amount, price):
    return json.dumps({"amount": amount, "price": round(price, 2)})


def price_orders():
    while True:
        for amount in range(1000):
            price = discount(amount, years=12) + tax(amount)
            describe(amount, price)


def deliver(seconds):
    time.sleep(seconds)


def send_mails():
    while True:
        deliver(3600)


def import_orders(started):
    with ledger:
        started.set()
        time.sleep(3600)


def check_ledger():
    with ledger:
        print("nobody gets here")


def start(name, function, *args):
    threading.Thread(target=function, name=name, args=args, daemon=True).start()


def main():
    allow_looking()
    locked = threading.Event()
    start("import", import_orders, locked)
    locked.wait()
    start("audit", check_ledger)
    start("mailer", send_mails)
    start("pricing", price_orders)
    print("ready", flush=True)
    select.select([sys.stdin], [], [])  # until the one who started it goes away


main()
