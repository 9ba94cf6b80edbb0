"""A program that does a little and ends."""
import threading


def deep(number):
    return deep(number - 1) + 1 if number else 0


threads = [threading.Thread(target=deep, args=(200,)) for _ in range(3)]
for thread in threads:
    thread.start()
print(sum(deep(100) for _ in range(50)))
for thread in threads:
    thread.join()
