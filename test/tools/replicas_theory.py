#!/usr/bin/env python3
"""Calculates the mean number of requests inside n replicas of one worker each.

  test/tools/replicas_theory.py

Poisson arrivals, exponential work, load 0.9 on each replica. Prints, per replica:

- random choice: M/M/1, load / (1 - load);
- round robin: E_n/M/1, from the root of its characteristic equation;
- the power of two choices: for n without end the fixed point of Vvedenskaya,
  Dobrushin and Karpelevich (1996) and of Mitzenmacher (2001), the sum of
  load^(2^i - 1); for n = 10 a simulation of the Markov chain;
- join the shortest queue: for n = 2 the stationary distribution of the Markov
  chain, for n = 10 a simulation of it.

These numbers are in demos/scenarios/theory/replicas*.toml and docs/validation.md.
The chain is simulated by its jumps, with times of their mean length: it has
nothing in common with the simulator.
"""

import random

LOAD = 0.9


def random_choice():
    return LOAD / (1 - LOAD)


def round_robin(n):
    root = 0.0
    for _ in range(100_000):
        root = (n * LOAD / (n * LOAD + 1 - root)) ** n
    return LOAD / (1 - root)


def fixed_point():
    return sum(LOAD ** (2 ** i - 1) for i in range(1, 12))


def shortest_of_two(most=120, widest=12, sweeps=5_000):
    """Mean of both queues by Gauss-Seidel on p(long, short)."""
    p = {(i, j): 1.0 / (1 + i + j) ** 2
         for i in range(most) for j in range(i + 1) if i - j < widest}
    into = {}
    rate = {}
    for (i, j) in p:
        moves = [((i, j + 1) if j < i else (i + 1, j), 2 * LOAD)]
        if i:
            moves.append(((max(i - 1, j), min(i - 1, j)), 1.0))
        if j:
            moves.append(((i, j - 1), 1.0))
        moves = [(to, r) for to, r in moves if to in p]
        rate[i, j] = sum(r for _, r in moves)
        for to, r in moves:
            into.setdefault(to, []).append(((i, j), r))
    order = sorted(p)
    mean = 0.0
    for sweep in range(sweeps):
        for x in order:
            p[x] = sum(p[y] * r for y, r in into[x]) / rate[x]
        for x in reversed(order):
            p[x] = sum(p[y] * r for y, r in into[x]) / rate[x]
        total = sum(p.values())
        last, mean = mean, sum((i + j) * q for (i, j), q in p.items()) / total
        for x in p:
            p[x] /= total
        if abs(mean - last) < 1e-8:
            break
    return mean / 2


def chain(n, choose, jumps, seed):
    """Mean queue of n replicas over so many jumps of the uniformised chain."""
    draw = random.Random(seed)
    queue = [0] * n
    inside = area = 0
    arrival = LOAD / (1 + LOAD)
    skipped = jumps // 50
    for k in range(jumps + skipped):
        if draw.random() < arrival:
            queue[choose(queue, draw)] += 1
            inside += 1
        else:
            i = draw.randrange(n)
            if queue[i]:
                queue[i] -= 1
                inside -= 1
        if k >= skipped:
            area += inside
    return area / jumps / n


def two_choices(queue, draw):
    n = len(queue)
    i = draw.randrange(n)
    j = (i + 1 + draw.randrange(n - 1)) % n
    return j if queue[j] < queue[i] else i


def shortest(queue, draw):
    least = min(queue)
    return draw.choice([i for i, q in enumerate(queue) if q == least])


def main():
    print(f"random choice            {random_choice():.4f}")
    print(f"round robin, n = 10      {round_robin(10):.4f}")
    print(f"two choices, fixed point {fixed_point():.4f}")
    for name, choose in ("two choices", two_choices), ("shortest", shortest):
        means = [chain(10, choose, 10_000_000, seed) for seed in range(4)]
        print(f"{name}, n = 10: {sum(means) / 4:.4f}, "
              f"from {min(means):.4f} to {max(means):.4f}")
    print(f"shortest, n = 2          {shortest_of_two():.4f}")


if __name__ == "__main__":
    main()
