#!/usr/bin/env python3
"""Writes docs/operation/dashboard.json, the dashboard for Grafana.

  docs/operation/dashboard/write.py [--check]

  --check  write nothing; fail if the file is not what this would write
  --help   show this

What the dashboard shows is in gates.py and layers.py, a few lines for each
panel. This file knows how Grafana writes panels down.
"""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # The site shows this folder as it is.
import gates
import layers

FILE = pathlib.Path(__file__).resolve().parent.parent / "dashboard.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24

# What the queries of the rows abbreviate.
PROGRAM = 'job=~"$job", instance=~"$instance"'
SHORT = {
    "{P": "{" + PROGRAM,
    "{G": "{" + PROGRAM + ', gate=~"$gate"',
    "{L": "{" + PROGRAM + ', gate=~"$gate", layer=~"$layer"',
    "{O": "{" + PROGRAM + ', gate="$one"',
    "{S": '{job=~"$job", gate=~"$gate"',
}


def spelled(query):
    """The query with all that it abbreviates."""
    for short, whole in SHORT.items():
        query = re.sub(re.escape(short) + r"(?=[,}])", lambda _: whole, query)
    return query.replace("[W]", "[$__rate_interval]")


def link(title, url):
    return {"title": title, "url": url, "type": "link", "icon": "doc",
            "tooltip": "", "tags": [], "asDropdown": False,
            "includeVars": False, "keepTime": False, "targetBlank": True}


def steps(limits):
    """[("green", None), ("red", 1)]: green below 1, red from 1 on."""
    return {"mode": "absolute",
            "steps": [{"color": c, "value": v} for c, v in limits]}


def panel(kind, x):
    """What all panels have; the rest is up to their kind."""
    targets = []
    for number, (legend, query) in enumerate(x.queries):
        targets.append({"refId": chr(ord("A") + number), "datasource": SOURCE,
                        "expr": spelled(query), "legendFormat": legend})
    out = {"type": kind, "title": x.title, "description": x.about,
           "datasource": SOURCE,
           "gridPos": {"h": x.height, "w": x.width, "x": 0, "y": 0},
           "fieldConfig": {"defaults": {"unit": x.unit}, "overrides": []},
           "options": {}, "targets": targets}
    defaults = out["fieldConfig"]["defaults"]
    if x.limits:
        defaults["thresholds"] = steps(x.limits)
        defaults["color"] = {"mode": "thresholds"}
    return out


def stat(x):
    out = panel("stat", x)
    out["fieldConfig"]["defaults"]["noValue"] = "–"
    out["options"] = {
        "colorMode": "background" if x.limits else "value",
        "graphMode": "area", "justifyMode": "auto", "textMode": "auto",
        "orientation": "auto", "wideLayout": True, "showPercentChange": False,
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "",
                          "values": False}}
    return out


def lines(x):
    """Lines over time. Limits are drawn across, unless they say nothing."""
    out = panel("timeseries", x)
    custom = {"drawStyle": "line", "lineWidth": 1, "showPoints": "never",
              "spanNulls": False, "fillOpacity": 40 if x.stacked else 8,
              "stacking": {"mode": "normal" if x.stacked else "none",
                           "group": "A"},
              "thresholdsStyle": {"mode": "dashed" if x.limits else "off"}}
    defaults = out["fieldConfig"]["defaults"]
    defaults.update({"custom": custom, "color": {"mode": "palette-classic"}})
    for name, value in (("min", x.bottom), ("max", x.top)):
        if value is not None:
            defaults[name] = value
    out["options"] = {
        "legend": {"showLegend": True, "displayMode": "table",
                   "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"}}
    return out


def states(x):
    """Strips with a colour for each value of x.names: {value: (text, colour)}.
    """
    out = panel("state-timeline", x)
    out["fieldConfig"]["defaults"].update({
        "custom": {"fillOpacity": 80, "lineWidth": 0},
        "color": {"mode": "thresholds"},
        "thresholds": steps([("green", None)] + [
            (color, value) for value, (_, color) in x.names.items() if value]),
        "mappings": [{"type": "value", "options": {
            str(value): {"text": text, "color": color, "index": value}
            for value, (text, color) in x.names.items()}}]})
    out["options"] = {
        "mergeValues": True, "showValue": "never", "rowHeight": 0.9,
        "alignValue": "left",
        "legend": {"showLegend": True, "displayMode": "list",
                   "placement": "bottom", "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"}}
    return out


def heatmap(x):
    out = panel("heatmap", x)
    out["targets"][0]["format"] = "heatmap"
    out["fieldConfig"]["defaults"] = {
        "custom": {"hideFrom": {"legend": False, "tooltip": False,
                                "viz": False}}}
    out["options"] = {
        "calculate": False, "cellGap": 1, "showValue": "never",
        "color": {"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange",
                  "exponent": 0.5, "steps": 64, "reverse": False},
        "yAxis": {"unit": x.unit}, "cellValues": {"unit": "short"},
        "rowsFrame": {"layout": "auto"},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9}, "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": True}}
    return out


def table(x):
    """One column for each query, joined by the column x.join."""
    out = panel("table", x)
    renamed = {}
    for number, target in enumerate(out["targets"]):
        target.update({"instant": True, "range": False, "format": "table"})
        target["legendFormat"] = ""
        if x.queries[number][0]:
            renamed[f"Value #{target['refId']}"] = x.queries[number][0]
    out["fieldConfig"]["defaults"]["custom"] = {
        "align": "auto", "cellOptions": {"type": "auto"}, "inspect": False}
    for name, unit, limits in x.columns:
        properties = [{"id": "unit", "value": unit}]
        if limits:
            properties += [
                {"id": "thresholds", "value": steps(limits)},
                {"id": "color", "value": {"mode": "thresholds"}},
                {"id": "custom.cellOptions",
                 "value": {"type": "color-background", "mode": "basic"}}]
        out["fieldConfig"]["overrides"].append({
            "matcher": {"id": "byName", "options": name},
            "properties": properties})
    out["options"] = {"showHeader": True, "cellHeight": "sm", "frameIndex": 0}
    if x.sorted_by:
        out["options"]["sortBy"] = [{"displayName": x.sorted_by, "desc": False}]
    out["transformations"] = [
        {"id": "joinByField", "options": {"byField": x.join, "mode": "outer"}},
        {"id": "organize", "options": {
            "renameByName": renamed, "indexByName": {},
            "excludeByName": {name: True for name in x.hidden}}}]
    return out


FORMS = {"stat": stat, "lines": lines, "states": states, "heatmap": heatmap,
         "table": table}


def placed(panels, y):
    """Panels from left to right, in as many lines as they need."""
    x = height = 0
    for p in panels:
        where = p["gridPos"]
        if x + where["w"] > WIDTH:
            x, y, height = 0, y + height, 0
        where["x"], where["y"] = x, y
        x, height = x + where["w"], max(height, where["h"])
    return y + height


def all_panels():
    out, number, y = [], 0, 0
    for row in gates.ROWS + layers.ROWS:
        number += 1
        head = {"id": number, "type": "row", "title": row.title,
                "collapsed": row.closed, "panels": [],
                "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y}}
        inside = []
        for x in row.panels:
            number += 1
            panel = {"id": number, **FORMS[x.form](x)}
            pages = x.pages or row.pages
            if pages:
                panel["links"] = [link(f"About {page}", f"${{docs}}/{page}.html")
                                 for page in pages]
            inside.append(panel)
        after = placed(inside, y + 1)
        # A closed row takes no room, and holds its panels itself.
        y = y + 1 if row.closed else after
        out.append(head)
        if row.closed:
            head["panels"] = inside
        else:
            out += inside
    return out


def choice(name, label, query, **more):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
            **more}


def many(name, label, query):
    return choice(name, label, query, multi=True, includeAll=True,
                  allValue=".*", current={"text": "All", "value": "$__all"})


def variables():
    calls = "caisson_calls_total"
    positions = "caisson_layer_position" + spelled("{G}")
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource",
         "query": "prometheus", "refresh": 1},
        many("job", "Job", f"label_values({calls}, job)"),
        many("instance", "Instance",
             f'label_values({calls}{{job=~"$job"}}, instance)'),
        many("gate", "Gates",
             f"label_values({calls}{{{PROGRAM}}}, gate)"),
        many("layer", "Layers", f"label_values({positions}, layer)"),
        choice("one", "One gate",
               f"label_values({calls}{{{PROGRAM}}}, gate)", multi=False,
               includeAll=False),
        {"name": "docs", "label": "Documentation", "type": "textbox",
         "query": "http://127.0.0.1:8000",
         "current": {"text": "http://127.0.0.1:8000",
                     "value": "http://127.0.0.1:8000"}}]


def annotation(name, color, query, title):
    return {"name": name, "datasource": SOURCE, "enable": True, "hide": False,
            "iconColor": color, "expr": spelled(query), "step": "15s",
            "titleFormat": name, "textFormat": title,
            "useValueForTime": False}


def dashboard():
    return {
        "title": "Caisson gates", "uid": "caisson-gates", "schemaVersion": 39,
        "version": 2, "editable": True, "timezone": "browser",
        "description": "Gates of Caisson: what callers get, and what each "
                       "kind of layer does.",
        "refresh": "10s", "time": {"from": "now-30m", "to": "now"},
        "graphTooltip": 1, "tags": ["caisson"],
        "links": [link("How to operate gates", "${docs}/operation.html"),
                  link("What alerts mean", "${docs}/runbooks.html")],
        "annotations": {"list": [annotation(*x)
                                 for x in gates.ANNOTATIONS]},
        "templating": {"list": variables()}, "panels": all_panels()}


def main(args):
    if args not in ([], ["--check"]):
        print(__doc__.strip())
        return 0 if args and args[0] in ("--help", "-h") else 2
    text = json.dumps(dashboard(), indent=1, ensure_ascii=False) + "\n"
    if not args:
        FILE.write_text(text, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
        print("docs/operation/dashboard.json is not what "
              "docs/operation/dashboard/write.py writes; run that",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
