"""Parts of the dashboard: panels, rows, and queries that many of them use.

In queries {G} is for the chosen gates, {L} for the chosen layers of them, {O}
for the one gate at the end, {P} for the chosen programs, and {S} for series of
rules.yml; further labels follow a comma: {G, outcome="x"}. [W] is a window that
Grafana fits to the time shown. After changes run write.py.
"""

import dataclasses
import typing

GOOD = "succeeded|neutral"
# Calls that a layer or the gate has rejected before any work.
REJECTED = ("breaker_open|queue_full|wait_timeout|rate_limited|shed|throttled|"
            "feature_off|draining")
MISUSED = "invalid_config|no_such_permit|call_loop"
FAULTY = "callback_failed|internal_error"
BY_LAYER = "{{gate}} / {{layer}}"


@dataclasses.dataclass
class Panel:
    """One panel. Queries are pairs of a legend, or a column, and a query."""
    form: str
    title: str
    unit: str
    about: str
    queries: list
    width: int = 12
    height: int = 8
    limits: typing.Optional[list] = None
    bottom: typing.Optional[float] = 0
    top: typing.Optional[float] = None
    stacked: bool = False
    names: typing.Optional[dict] = None
    columns: tuple = ()
    hidden: tuple = ()
    join: str = "gate"
    sorted_by: str = ""
    pages: tuple = ()


@dataclasses.dataclass
class Row:
    title: str
    panels: list
    pages: tuple = ()
    closed: bool = True


# Of a share of calls that end well.
WELL = [("red", None), ("orange", 0.95), ("green", 0.99)]


def good_from(good, almost):
    return [("red", None), ("orange", almost), ("green", good)]


def bad_from(value, color="red"):
    return [("green", None), (color, value)]


def stat(title, unit, about, query, limits=None, width=4):
    return Panel("stat", title, unit, about, [("", query)], width, 4, limits)


def lines(title, unit, about, *queries, **more):
    return Panel("lines", title, unit, about, list(queries), **more)


def states(title, about, query, legend, names, **more):
    return Panel("states", title, "short", about, [(legend, query)],
                 names=names, **more)


def decisions(kind, which, by="gate, layer, decision", labels="L"):
    """What layers of a kind decide, a second."""
    return (f"sum by ({by}) (rate(caisson_layer_decisions_total"
            f'{{{labels}, kind=~"{kind}", decision=~"{which}"}}[W]))')


def decided(kind, which):
    return (BY_LAYER + ": {{decision}}", decisions(kind, which) + " > 0")


def gauge(name, kind, by="gate, layer", how="sum"):
    return f'{how} by ({by}) (caisson_layer_{name}{{L, kind=~"{kind}"}})'


def outcomes(which, by="outcome", labels="G", op="=~"):
    return (f"sum by ({by}) (rate(caisson_outcomes_total"
            f'{{{labels}, outcome{op}"{which}"}}[W]))')


def quantile(share, histogram, by="gate", labels="{G}"):
    group = f"le, {by}" if by else "le"
    return (f"histogram_quantile({share}, sum by ({group}) (rate("
            f"caisson_{histogram}_bucket{labels}[W])))")


def share(part, whole):
    return f"{part} / {whole}"


def known(query):
    """Leaves out what is not a number, which would be shown as a bad one."""
    return f"{query} >= 0"


def worst(metric, bad, worse, by, labels="G"):
    """0, 1 if a label `state` is one of `bad`, 2 if it is one of `worse`."""
    return (f'max by ({by}) (2 * {metric}{{{labels}, state=~"{worse}"}} '
            f'or {metric}{{{labels}, state=~"{bad}"}})')


def success(by):
    """The share of the calls that ended well; nothing while none end."""
    return known(share(
        outcomes(GOOD, by),
        f"sum by ({by}) (rate(caisson_outcomes_total{{G}}[W]))"))
