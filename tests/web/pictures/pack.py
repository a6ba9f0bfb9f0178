"""A program of the documentation's pictures: packs JSON in a few threads, for as many seconds as its argument says."""
import json
import queue
import sys
import threading
import time
import zlib


def make_orders(first):
    return [{"id": i, "name": "order %d" % (i * 7919 % 100003), "price": i % 977 / 8, "tags": ["new", "paid"]}
            for i in range(first, first + 400)]


def pack(work):
    while True:
        orders = work.get()
        if orders is None:
            return
        zlib.compress(json.dumps(orders).encode())


def main(seconds):
    work = queue.Queue(4)
    threads = [threading.Thread(target=pack, args=(work,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    first = 0
    while time.monotonic() < end:
        work.put(make_orders(first))
        first += 400
        time.sleep(0.01)
    for _ in threads:
        work.put(None)


main(float(sys.argv[1]))
