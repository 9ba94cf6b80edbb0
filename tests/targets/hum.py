"""Computes in a known function, with two more threads that wait; until it is killed."""

import threading


def spin():
    print("ready", flush=True)
    n = 0
    while True:
        n = (n + 1) & 0xFFFF


def wait_here(event):
    event.wait()


def main():
    event = threading.Event()
    for _ in range(2):
        threading.Thread(target=wait_here, args=(event,), daemon=True).start()
    spin()


main()
