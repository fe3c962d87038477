#!/usr/bin/env python3
"""Counts requests that two workers answer in time, by the order of their queue.

  test/tools/queue_orders.py

A simulation of one queue that shares nothing with the simulator but the rules
in docs/simulator-model.md, in whole nanoseconds. Two workers of 10 ms serve 200
requests a second, and 300 come, for 5 s. Prints the numbers that
demos/scenarios/theory/queue-orders*.toml require and docs/validation.md shows.
"""

import heapq
import math

MS = 1_000_000
WORK = 10 * MS
WORKERS = 2
END = 5_000 * MS
ORDERS = ("fifo", "lifo", "adaptive_lifo", "codel", "deadline_first",
          "priority")


def alike():
    """300 a second, each with 300 ms: (arrival, patience, priority, class)."""
    return [(round(i * 10**9 / 300), 300 * MS, 0, "users") for i in range(1500)]


def mixed():
    """90 a second in a hurry, and 210 a second with more time."""
    urgent = [(MS + round(i * 10**9 / 90), 100 * MS, 1, "urgent")
              for i in range(450)]
    patient = [(round(i * 10**9 / 210), 300 * MS, 0, "patient")
               for i in range(1050)]
    return sorted(urgent + patient)


class Codel:
    """The control law that docs/queues.md describes."""

    def __init__(self, target, interval):
        self.target, self.interval = target, interval
        self.over_at = None  # When all waits will have been too long.
        self.next = None     # When the next one is shed.
        self.count = 0
        self.shedding = False

    def gap(self):
        return round(self.interval / math.sqrt(self.count))

    def sheds(self, x, left, now):
        """Whether `x` is shed, which is next, while `left` more wait."""
        if now - x[0] < self.target or left == 0:
            self.over_at, self.shedding = None, False
            return False
        if self.over_at is None:
            self.over_at = now + self.interval
        if self.shedding:
            if now < self.next:
                return False
            self.count += 1
            self.next += self.gap()
            return True
        if now < self.over_at:
            return False
        recent = self.next is not None and now < self.next + 8 * self.interval
        self.count = self.count - 2 if recent and self.count > 2 else 1
        self.next = now + self.gap()
        self.shedding = True
        return True

    def take(self, queue, now):
        while True:
            x = queue.pop(0)
            if not self.sheds(x, len(queue), now):
                return x


def take(order, queue, codel, now, lifo_above):
    if order == "codel":
        return codel.take(queue, now)
    if order == "lifo" or (order == "adaptive_lifo"
                           and len(queue) > lifo_above):
        return queue.pop()
    if order == "deadline_first":
        best = min(queue, key=lambda x: (x[0] + x[1], x[0]))
    elif order == "priority":
        best = min(queue, key=lambda x: (-x[2], x[0]))
    else:
        best = queue[0]
    queue.remove(best)
    return best


def play(arrivals, order, target=5 * MS, interval=100 * MS, lifo_above=10):
    """The numbers of requests answered in time, by class."""
    codel = Codel(target, interval)
    queue, busy, good = [], [], {}
    # Work that ends at an instant ends before what arrives at it.
    events = [(at, 1, i) for i, (at, *_) in enumerate(arrivals)]
    heapq.heapify(events)
    while events:
        now, arrives, i = heapq.heappop(events)
        if arrives:
            if len(busy) < WORKERS and not queue:
                codel.over_at, codel.shedding = None, False
                x = arrivals[i]
            else:
                queue.append(arrivals[i])
                continue
        else:
            at, patience, _, kind = busy.pop(0)
            good[kind] = good.get(kind, 0) + (now <= at + patience)
            x = take(order, queue, codel, now, lifo_above) if queue else None
        if x:
            busy.append(x)
            heapq.heappush(events, (now + WORK, 0, 0))
    return good


def main():
    for name, arrivals, above in (("alike", alike(), 10),
                                  ("mixed", mixed(), 80)):
        for order in ORDERS:
            print(name, order, play(arrivals, order, lifo_above=above))
        print(name, "codel, interval 1 s, target 100 ms",
              play(arrivals, "codel", 100 * MS, 1_000 * MS))


if __name__ == "__main__":
    main()
