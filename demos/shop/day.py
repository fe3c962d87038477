"""A day of the shop, and what became of its requests."""

import argparse
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from processes import (ARMS, CAPACITY, OVERLOAD_ARMS, SERVICES, Shop,
                       Trouble)

# When, in shares of the day; what; and how.
BAD_DAY = (
    (0.20, "Redis is killed", lambda s: s.end("redis", signal.SIGKILL)),
    (0.32, "Redis is back", lambda s: s.start("redis")),
    (0.45, "the payment service is stopped",
     lambda s: s.signal("payment", signal.SIGSTOP)),
    (0.70, "the payment service goes on",
     lambda s: s.signal("payment", signal.SIGCONT)),
    (0.85, "PostgreSQL crashes and starts again",
     lambda s: (s.end("postgres", signal.SIGQUIT), s.start("postgres"))),
)


def bad_day(seconds):
    """(seconds since the beginning, what happens, how)."""
    return [(share * seconds, text, how) for share, text, how in BAD_DAY]


# -- options -------------------------------------------------------------------


def parser(*, seconds, about):
    """The options that all programs of the shop share."""
    out = argparse.ArgumentParser(add_help=False)
    out.add_argument("--seconds", type=int, default=seconds)
    out.add_argument("--rate", type=int)
    out.add_argument("--seed", type=int, default=1)
    out.add_argument("--grace", type=int, default=50)
    out.add_argument("--out", type=pathlib.Path)
    out.add_argument("--help", "-h", action="store_true")
    out.set_defaults(overload=False)
    out.about = about.strip()
    return out


def arms_of(options):
    return OVERLOAD_ARMS if options.overload else ARMS


def options_of(reader):
    """What the user wants; None if it was the help."""
    options = reader.parse_args()
    if options.help:
        print(reader.about)
        return None
    if options.rate is None:
        options.rate = 2 * CAPACITY if options.overload else 100
    if not 40 <= options.seconds <= 3600:
        reader.error("--seconds: 40 to 3600")
    if not 1 <= options.rate <= 2000:
        reader.error("--rate: 1 to 2000")
    if not 0 <= options.grace <= 60_000:
        reader.error("--grace: 0 to 60000")
    if not 0 <= options.seed < 2**63:
        reader.error("--seed: 0 to 2^63 - 1")
    return options


@contextlib.contextmanager
def folder_of(name, options):
    """Where processes write; what they have printed is kept with --out."""
    kept = options.out and options.out / name
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        folder = pathlib.Path(folder)
        try:
            yield folder
        finally:
            if kept:
                for file in (*folder.glob("*.log"), *folder.glob("*.csv"),
                             *folder.glob("*.json"), *folder.glob("*.toml")):
                    shutil.copy(file, kept)


# -- the day -------------------------------------------------------------------


def attempts_of(shop):
    """{gate: messages sent to its worker} of all services."""
    return {labels.split('"')[1]: value for name in SERVICES
            for metric, labels, value in shop.metrics_of(name)
            if metric == "caisson_attempts_total"}


def wait_for(load, name, start, until, seconds):
    """Waits for the end of the load, or until then; says how far the day is."""
    draws = sys.stderr.isatty()
    while load.poll() is None and time.monotonic() < until:
        if draws:
            now = min(seconds, time.monotonic() - start)
            print(f"\r{name}: {now:6.1f} of {seconds} s ", end="",
                  file=sys.stderr, flush=True)
        time.sleep(min(0.2, max(0, until - time.monotonic())))
    if draws:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def play(shop, load, faults, start, name, seconds):
    """Lets things happen while the load runs: [(what, begin, end)]."""
    happened = []
    for at, text, happens in faults:
        wait_for(load, name, start, start + at, seconds)
        if load.poll() is not None:
            raise Trouble(f"the load has ended: {load.returncode}")
        print(f"{name}: {at:6.1f} s  {text}", flush=True)
        begin = time.time()
        happens(shop)
        happened.append((text, begin, time.time()))
    return happened


def live(arm, folder, options, faults, at_begin=lambda shop: None,
         watch=lambda shop, load: None, at_end=lambda shop: None):
    """One day; what the load has noted, and what was sent in `attempts`."""
    out = folder / "load.json"
    with Shop(arm, folder, options.overload) as shop:
        print(f"{arm}: the shop is open; until its day ends, look at its front "
              "with\n"
              f"  caisson ctl --file {shop.control_file('front')} list\n"
              f"  curl http://127.0.0.1:{shop.metrics['front']}/metrics",
              flush=True)
        shop.warm_up(options)
        before = steady_attempts(shop)
        at_begin(shop)
        load = subprocess.Popen(shop.load_words(options, out))
        try:
            watch(shop, load)
            start = time.monotonic()
            happened = play(shop, load, faults, start, arm, options.seconds)
            wait_for(load, arm, start, start + options.seconds + 60,
                     options.seconds)
            load.wait(1)
            at_end(shop)
            after = steady_attempts(shop)
        finally:
            load.kill()
            load.wait()
    if load.returncode not in (0, 1):
        raise Trouble(f"the load has ended: {load.returncode}")
    day = json.loads(out.read_text())
    day["happened"] = [(text, begin - day["started"], end - day["started"])
                       for text, begin, end in happened]
    day["attempts"] = {gate: after[gate] - n for gate, n in before.items()}
    return day


def steady_attempts(shop):
    """The attempts, once no gate publishes further ones."""
    now = attempts_of(shop)
    for _ in range(20):
        time.sleep(1.5)
        before, now = now, attempts_of(shop)
        if before == now:
            break
    return now


# -- what became of it ---------------------------------------------------------


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values \
        else float("nan")


def totals(day):
    rows = day["seconds"]
    took = [x for row in rows for key in ("good_ms", "failed_ms")
            for x in row[key]]
    errors = {}
    for row in rows:
        for name, n in row["errors"].items():
            errors[name] = errors.get(name, 0) + n
    add = lambda key: sum(row[key] for row in rows)
    return {"requests": day["requests"], "good": add("good"),
            "orders": add("orders"), "sold": add("sold"),
            "p50": percentile(took, 0.5), "p99": percentile(took, 0.99),
            "errors": errors}


def bar(good, offered):
    blocks = " ▁▂▃▄▅▆▇█"
    share = good / offered if offered else 0
    return blocks[max(1 if good else 0, int(share * (len(blocks) - 1)))]


def show_seconds(days, seconds, faults):
    """Prints the share of good answers over time."""
    step = -(-seconds // 100)
    print("\nshare of requests that succeeded within 1 s, each character "
          + ("a second" if step == 1 else f"{step} seconds")
          + f" of {seconds}")
    for arm, day in days.items():
        rows = day["seconds"]
        parts = [rows[i:i + step] for i in range(0, len(rows), step)]
        line = "".join(bar(sum(r["good"] for r in part),
                           sum(r["offered"] for r in part)) for part in parts)
        print(f"  {arm:8} {line}")
    if faults:
        marks = [" "] * (-(-seconds // step))
        for at, *_ in faults:
            marks[int(at / step)] = "^"
        print(f"  {'faults':8} {''.join(marks).rstrip()}")


def show(days, seconds, faults):
    """Prints what became of the requests; 1 if one was treated badly."""
    show_seconds(days, seconds, faults)
    print(f"\n  {'arm':8} {'requests':>8} {'good':>7} {'orders':>7} "
          f"{'sold':>7} {'P50':>8} {'P99':>8}  errors")
    for arm, day in days.items():
        x = totals(day)
        errors = ", ".join(f"{n} {name}" for name, n in sorted(
            x["errors"].items(), key=lambda e: -e[1]))
        print(f"  {arm:8} {x['requests']:8} {x['good'] / x['requests']:7.1%} "
              f"{x['orders']:7} {x['sold'] / max(1, x['orders']):7.1%} "
              f"{x['p50']:5.1f} ms {x['p99']:5.0f} ms  {errors or 'none'}")
    print("  docs/shop.md explains these numbers")
    return treated_badly(days)


def treated_badly(days):
    wrong = 0
    for arm, day in days.items():
        for key, what in (("unanswered", "were not answered"),
                          ("answered_late", "were answered too late"),
                          ("answered_twice", "were answered twice")):
            if day[key]:
                wrong = 1
                print(f"  {arm}: {day[key]} requests {what}")
    if not wrong:
        print("  every request was answered once, in time")
    return wrong
