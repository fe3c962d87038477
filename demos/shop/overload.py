"""Shares and times of the customers of a shop with too many of them."""

from day import percentile, show_seconds, totals, treated_badly


def share(good, of):
    return good / of if of else float("nan")


def sums(rows):
    """Shares of what was asked for, by who has asked, and percentiles in ms; of
    seconds of a day, or of several."""
    add = lambda key: sum(row[key] for row in rows)
    offered, orders, paying = add("offered"), add("orders"), add("paying")
    good, sold, paid = add("good"), add("sold"), add("paying_sold")
    took, orders_took = ([x for row in rows for x in row[key]]
                         for key in ("good_ms", "sold_ms"))
    return {
        "success": share(good, offered),
        "looks": share(good - sold, offered - orders),
        "first": share(sold - paid, orders - paying),
        "paying": share(paid, paying),
        "p50": percentile(took, 0.5), "p99": percentile(took, 0.99),
        "order_p50": percentile(orders_took, 0.5),
        "order_p99": percentile(orders_took, 0.99),
    }


def simulated_sums(arm):
    """The same of a simulated day, as far as the result has it."""
    loads = {load["name"]: load for load in arm["loads"]}
    orders = arm["by_operation"].get("front.order", {})
    ms = lambda x, key: 1000 * x.get(key, float("nan"))
    kinds = (("looks", "lookers"), ("first", "buyers"), ("paying", "payers"))
    return {"success": arm["success"],
            **{kind: loads[name]["success"] or 0.0 for kind, name in kinds
               if name in loads},
            "p50": ms(arm["latency"], "p50"), "p99": ms(arm["latency"], "p99"),
            "order_p50": ms(orders, "p50"), "order_p99": ms(orders, "p99")}


def show(days, seconds, faults):
    """Prints what became of the requests; 1 if one was treated badly."""
    show_seconds(days, seconds, faults)
    print(f"\n  {'arm':8} {'requests':>8} {'good':>7} {'looks':>7} "
          f"{'orders: first':>13} {'further':>8} {'buyers':>7}")
    for arm, day in days.items():
        x = sums(day["seconds"])
        buyers = share(day["people"]["bought"], day["people"]["ordered"])
        print(f"  {arm:8} {day['requests']:8} {x['success']:7.1%} "
              f"{x['looks']:7.1%} {x['first']:13.1%} {x['paying']:8.1%} "
              f"{buyers:7.1%}")
    print(f"\n  {'good ones':8} {'P50':>7} {'P99':>9} {'orders: P50':>13} "
          f"{'P99':>9}  errors")
    for arm, day in days.items():
        x = sums(day["seconds"])
        errors = ", ".join(f"{n} {name}" for name, n in sorted(
            totals(day)["errors"].items(), key=lambda e: -e[1]))
        print(f"  {arm:8} {x['p50']:5.0f} ms {x['p99']:6.0f} ms "
              f"{x['order_p50']:10.0f} ms {x['order_p99']:6.0f} ms  "
              f"{errors or 'none'}")
    return treated_badly(days)
