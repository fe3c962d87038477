#!/usr/bin/env python3
"""How many requests two workers answer in time, by the order of their queue.

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
    """RFC 8289, section 5, with requests in place of packets."""

    def __init__(self, target, interval):
        self.target, self.interval = target, interval
        self.first_above = 0
        self.drop_next = 0
        self.count = self.lastcount = 0
        self.dropping = False

    def law(self, t):
        return t + round(self.interval / math.sqrt(self.count))

    def head(self, queue, now):
        """The oldest request, and whether it may be dropped."""
        if not queue:
            self.first_above = 0
            return None, False
        x = queue.pop(0)
        if now - x[0] < self.target or not queue:
            self.first_above = 0
        elif self.first_above == 0:
            self.first_above = now + self.interval
        elif now >= self.first_above:
            return x, True
        return x, False

    def take(self, queue, now):
        x, ok = self.head(queue, now)
        if self.dropping:
            if not ok:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                self.count += 1
                x, ok = self.head(queue, now)
                if not ok:
                    self.dropping = False
                else:
                    self.drop_next = self.law(self.drop_next)
        elif ok:
            x, ok = self.head(queue, now)
            self.dropping = True
            delta = self.count - self.lastcount
            recent = now - self.drop_next < 16 * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.drop_next = self.law(now)
            self.lastcount = self.count
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
                if order == "codel":
                    codel.take([arrivals[i]], now)
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
