"""The shop as a scenario: measured times, and the day that it really had."""

import json
import re
import subprocess

from day import live
from processes import QUIET, ROOT, SERVICES, Trouble

SCENARIOS = {False: ROOT / "demos/scenarios/shop.toml",
             True: ROOT / "demos/scenarios/shop-overload.toml"}
QUIET_SECONDS = 40
QUIET_RATE = 25
LATENCY = 0.0001  # Of a message, one way, as the scenario has it.


# -- measuring -----------------------------------------------------------------


def durations(shop):
    """{gate: (seconds that its calls took together, calls)}"""
    out = {}
    for name in SERVICES:
        for metric, labels, value in shop.metrics_of(name):
            if metric.startswith("caisson_call_duration_seconds_"):
                gate = labels.split('"')[1]
                x = out.setdefault(gate, {"sum": 0, "count": 0})
                kind = metric.rpartition("_")[2]
                if kind in x:
                    x[kind] += value
    return out


def measure(folder, options):
    """Seconds that each service works on a request, by its own metrics."""
    quiet = type(options)(**{**vars(options), "seconds": QUIET_SECONDS,
                             "rate": QUIET if options.overload else QUIET_RATE})
    seen = {}
    day = live("plain", folder, quiet, [],
               at_begin=lambda shop: seen.update(before=durations(shop)),
               at_end=lambda shop: seen.update(after=durations(shop)))
    mean = {}
    for gate, after in seen["after"].items():
        before = seen["before"][gate]
        mean[gate] = ((after["sum"] - before["sum"])
                      / max(1, after["count"] - before["count"]))
    rows = day["seconds"]
    took = [x / 1000 for row in rows for x in row["good_ms"]]
    orders = sum(row["orders"] for row in rows) / len(took)
    front = sum(took) / len(took) - mean["catalog"] \
        - orders * (mean["cart"] + mean["payment"])
    way = 2 * LATENCY
    return {name: max(x, 0.00005) for name, x in {
        "front": front - way,
        "catalog": mean["catalog"] - mean["database"] - way,
        "database": mean["database"] - way,
        "cart": mean["cart"] - mean["redis"] - way,
        "redis": mean["redis"] - way,
        "payment": mean["payment"] - way,
    }.items()}


def show(times):
    print("measured: " + ", ".join(f"{name} {x * 1000:.2f} ms"
                                   for name, x in times.items()))


# -- writing -------------------------------------------------------------------


def put(text, table, key, value, at=0):
    """The scenario with another value of a key; `at`: in which such table."""
    heads = list(re.finditer(rf"^{re.escape(table)}$", text, re.M))
    begin = heads[at].end()
    end = re.compile(r"^\[", re.M).search(text, begin)
    end = end.start() if end else len(text)
    part, n = re.subn(rf"^{key} = .*$", f"{key} = {value}", text[begin:end],
                      flags=re.M)
    if n != 1:
        raise Trouble(f"the scenario's {table} has no {key}")
    return text[:begin] + part + text[end:]


def seconds(x):
    return f'"{max(x, 1e-6) * 1000:.3f}ms"'


def with_times(text, times, overload):
    # In an overload the database is at work for a set time.
    spread = ("redis",) if overload else ("database", "redis")
    for name, x in times.items():
        value = seconds(x)
        if name in spread:
            value = f'{{ kind = "lognormal", mean = {value}, cv = 0.5 }}'
        tables = ["front.op.item", "front.op.order"] if name == "front" \
            else [name]
        for table in tables:
            text = put(text, f"[service.{table}]", "time", value)
    return text


def reconnected(away):
    """How long until a worker that lost its server has it back: it tries after
    50 ms, and doubles that each time up to 2 s (patient_supervision).
    """
    at, delay = 0.0, 0.05
    while at < away:
        at += delay
        delay = min(2 * delay, 2.0)
    return at


def with_faults(text, happened, rate):
    # It is noticed by the next order, which is one of three requests.
    noticed = 3 / rate
    when = {what: (begin, end) for what, begin, end in happened}
    killed = when["Redis is killed"][0]
    faults = [
        (killed, noticed + reconnected(when["Redis is back"][1] - killed
                                       - noticed)),
        (when["the payment service is stopped"][0],
         when["the payment service goes on"][0]
         - when["the payment service is stopped"][0]),
        (when["PostgreSQL crashes and starts again"][0], 0.001),
    ]
    crash, back = when["PostgreSQL crashes and starts again"]
    faults.append((crash + 0.001, reconnected(back - crash)))
    for i, (at, lasts) in enumerate(faults):
        text = put(text, "[[fault]]", "at", seconds(at), i)
        text = put(text, "[[fault]]", "for", seconds(lasts), i)
    return text


def customers(arrivals, overload):
    """[(load, kind, times)]: those who pay are a load of their own in an
    overload, as the shop goes by it then."""
    looks, orders = arrivals["item"], arrivals["order"]
    if not overload:
        return [("lookers", "item", looks), ("buyers", "order", orders)]
    paying = set(arrivals["paying"])
    return [("lookers", "item", looks),
            ("buyers", "order", [x for x in orders if x not in paying]),
            ("payers", "paying", arrivals["paying"])]


def with_customers(text, folder, all_customers):
    for load, kind, times in all_customers:
        if not times:
            text = put(text, f"[load.{load}]", "rate", "1e-06")
            continue
        (folder / f"{kind}.csv").write_text(
            "".join(f"{x:.6f}\n" for x in times))
        text = put(text, f"[load.{load}]", "rate", "0")
        text = text.replace(
            "rate = 0\n", f'trace = {{ file = "{kind}.csv", format = '
            f'"timestamps" }}\nstart = {seconds(times[0])}\n')
    return text


# -- playing -------------------------------------------------------------------


def simulate(folder, arm, real, times, options):
    """The same day, simulated: the arm, as `caisson run --json` has it."""
    text = SCENARIOS[options.overload].read_text()
    text = text.replace(
        'length = "40s"', f'length = "{options.seconds}s"')
    text = with_times(text, times, options.overload)
    if real["happened"]:
        text = with_faults(text, real["happened"], options.rate)
    text = with_customers(text, folder,
                          customers(real["arrivals"], options.overload))
    # What it expects is that of its own times.
    text = re.sub(r"^expect\.(?:.*\[\n(?:  .*\n)*\]|.*)\n", "", text,
                  flags=re.M)
    scenario = folder / "shop.toml"
    scenario.write_text(text)
    subprocess.run([str(ROOT / "build/caisson"), "run", str(scenario), "--arm",
                    arm, "--seed", str(options.seed), "--quiet", "--json",
                    str(folder / "simulated.json")], check=True,
                   stdout=subprocess.DEVNULL)
    out = json.loads((folder / "simulated.json").read_text())
    return out["runs"][0]["arms"][0]
