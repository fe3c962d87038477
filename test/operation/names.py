"""Finds names in queries that nothing exports."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
METRIC = re.compile(r"(?<![\w:])(?:\w+:)?caisson_\w+(?::\w+)?")
# Endings of what Prometheus makes of a histogram.
HISTOGRAM = r"_(bucket|sum|count)$"


def documented():
    """Whatever stands between backquotes in a page."""
    text = "\n".join(x.read_text(encoding="utf-8")
                     for x in sorted((ROOT / "docs").glob("*.md")))
    return set(re.findall(r"`(\w+)`", text))


# What a metric has in place of such an ending of a gauge.
BASE_UNITS = {"_permille": "_ratio", "_ppm": "_ratio", "_us": "_seconds"}


def gauges():
    """The gauges of layers that the metrics have a text for."""
    text = (ROOT / "actors/caisson/stack/built_in_kinds.cpp").read_text(
        encoding="utf-8")
    yield "caisson_layer_keys"  # Of a layer with a policy for each key.
    # A name, a text, and perhaps another name.
    for name, other in re.findall(
            r'\{\s*"([a-z_]+)",\s*"[A-Z0-9][^"]*\."(?:,\s*"(\w+)")?', text):
        for ending, base in BASE_UNITS.items():
            name = re.sub(f"{ending}$", base, name)
        yield f"caisson_layer_{other or name}"


def values(query, label):
    """The texts with which a query compares a label."""
    for _, text in re.findall(label + r'\s*(=~|!~|!=|=)\s*"([^"]*)"', query):
        yield from text.split("|")


def unknown(queries, exported):
    """What is wrong; exported(label) are the values that Prometheus knows."""
    words = documented()
    metrics = set(exported("__name__")) | set(gauges()) | words
    known = {
        "outcome": set(exported("outcome")),
        "decision": set(exported("decision")) | words,
        "kind": set(exported("kind")) | words,
        "state": set(exported("state")) | words,
        "mode": set(exported("mode")),
        "result": set(exported("result")),
    }
    wrong = set()
    for query in queries:
        bare = re.sub(r'"[^"]*"', "", query)
        for name in METRIC.findall(bare):
            if name not in metrics \
                    and re.sub(HISTOGRAM, "", name) not in metrics:
                wrong.add(f"nothing exports the metric {name}")
        for label, right in known.items():
            for value in values(query, label):
                pattern = re.compile(value)
                if not any(pattern.fullmatch(x) for x in right):
                    wrong.add(f"there is no {label} {value}: {query}")
    return sorted(wrong)
