"""Compares the real shop with the simulated one."""

from overload import simulated_sums, sums

# Gates of the shop, and what they are called in the scenario.
GATES = {"catalog": "front -> catalog", "cart": "front -> cart",
         "payment": "front -> payment", "database": "catalog -> database",
         "redis": "cart -> redis"}
GOOD = 0.9  # Of what is offered, when the shop is healthy.
STEADY = 3  # Seconds for which it has to stay so.
LONGEST_TABLE = 100  # Seconds.
TRANSITION = 2  # Seconds after a change in which nothing is compared.


def per_second(rows, key):
    """The sum over days, for each second."""
    return [sum(row[key] for row in second) for second in zip(*rows)]


def recovery(offered, goodput, end):
    """Seconds from the end of a fault until the shop is healthy, and stays so."""
    def is_healthy(second):
        days = slice(second, second + STEADY)
        return sum(goodput[days]) >= GOOD * sum(offered[days]) \
            and goodput[second] >= GOOD * offered[second]
    for second in range(int(end), len(goodput)):
        if is_healthy(second):
            return max(0.0, second - end)
    return float("inf")  # Not on this day.


def ends_of(faults):
    """[(fault, its end)], of (what, begin, end) of what has happened."""
    if not faults:
        return []
    when = {what: end for what, _, end in faults}
    return [("Redis", when["Redis is back"]),
            ("payment", when["the payment service goes on"]),
            ("PostgreSQL", when["PostgreSQL crashes and starts again"])]


def side(offered, goodput, shares, attempts, faults):
    return {"offered": offered, "goodput": goodput, **shares,
            "attempts": attempts,
            "recovery": {what: recovery(offered, goodput, end)
                         for what, end in ends_of(faults)}}


def real_side(days):
    rows = [day["seconds"] for day in days]
    shares = sums([row for day in rows for row in day])
    attempts = {gate: sum(day["attempts"][gate] for day in days) / len(days)
                for gate in GATES}
    return side(per_second(rows, "offered"), per_second(rows, "goodput"),
                shares, attempts, days[0]["happened"])


def simulated_side(arms, happened):
    rows = [arm["seconds"] for arm in arms]
    # Of several days: the mean of their percentiles, as they differ little.
    mean = lambda values: sum(values) / len(values)
    every = [simulated_sums(arm) for arm in arms]
    shares = {key: mean([x[key] for x in every]) for key in every[0]}
    attempts = {gate: mean([next(g["metrics"]["attempts"] for g in arm["gates"]
                                 if g["name"] == name) for arm in arms])
                for gate, name in GATES.items()}
    return side(per_second(rows, "offered"), per_second(rows, "good"), shares,
                attempts, happened)


def comparison(days, seconds):
    """{arm: real and simulated, sums of all days in each second, differences in
    per cent of what was offered, and which seconds are compared}"""
    out = {}
    for arm, pairs in days.items():
        real = real_side([x for x, _ in pairs])
        happened = pairs[0][0]["happened"]
        simulated = simulated_side([x for _, x in pairs], happened)
        changes = [int(t) for _, begin, end in happened for t in (begin, end)]
        out[arm] = {
            "real": real, "simulated": simulated, "happened": happened,
            "days": len(pairs),
            "difference": [
                100 * (b - a) / max(1, n) for a, b, n in
                zip(real["goodput"], simulated["goodput"], real["offered"])],
            "steady": [not any(at <= second <= at + TRANSITION for at in changes)
                        for second in range(seconds)]}
    return out


# -- as text -------------------------------------------------------------------


def percent(real, simulated):
    return f"{100 * (simulated - real) / real:+.1f} %" if real else "-"


SHARES = (("success", "succeeded"), ("looks", "looks"),
          ("first", "first orders"), ("paying", "further orders"))
TIMES = (("p50", "P50 of those"), ("p99", "P99 of those"),
         ("order_p50", "P50 of orders"), ("order_p99", "P99 of orders"))


def rows_of(x):
    """(what, real, simulated, difference) as text."""
    a, b = x["real"], x["simulated"]
    # Whose requests succeeded is of interest in an overload only.
    short = "paying" not in b
    for key, name in SHARES[:1] if short else SHARES:
        yield (name, f"{a[key]:.1%}", f"{b[key]:.1%}", percent(a[key], b[key]))
    for key, name in TIMES[:2] if short else TIMES:
        yield (name, f"{a[key]:.1f} ms", f"{b[key]:.1f} ms",
               percent(a[key], b[key]))
    for gate in GATES:
        yield (f"attempts, {gate}", f"{a['attempts'][gate]:.0f}",
               f"{b['attempts'][gate]:.0f}",
               percent(a["attempts"][gate], b["attempts"][gate]))
    for fault, took in a["recovery"].items():
        other = b["recovery"][fault]
        yield (f"healthy again after {fault}", f"{took:.1f} s", f"{other:.1f} s",
               f"{other - took:+.1f} s")


def show_comparison(result):
    for arm, x in result.items():
        print(f"\n{arm:26} {'real':>9} {'simulated':>10} {'difference':>11}")
        for what, real, simulated, difference in rows_of(x):
            print(f"  {what:24} {real:>9} {simulated:>10} {difference:>11}")
        steady = [d for d, ok in zip(x["difference"], x["steady"]) if ok]
        near = sum(abs(d) <= 10 for d in steady)
        mean = sum(abs(d) for d in steady) / len(steady)
        print(f"  goodput of a second, of what was offered: {near} of "
              f"{len(steady)} within 10 %, mean difference {mean:.1f} %")
        if x["happened"]:
            print(f"  (but for {TRANSITION} s after each change)")
        if len(x["difference"]) > LONGEST_TABLE:
            continue
        print("  second  offered     real simulated")
        for second, offered in enumerate(x["real"]["offered"]):
            mark = "".join(f"  {what}" for what, begin, _ in x["happened"]
                           if int(begin) == second)
            print(f"  {second:6} {offered:8} {x['real']['goodput'][second]:8} "
                  f"{x['simulated']['goodput'][second]:9}{mark}")
