#!/usr/bin/env python3
"""Runs each query of the dashboard and of the alerts against a real Prometheus.

  test/operation/check.py [--seconds N] [--picture FILE] PROGRAM

  PROGRAM         the demo metrics, which is scraped during its bad day
  --seconds N     how long that lasts, default 25
  --picture FILE  draw the data as an SVG
  --help          show this

Prints one line per query, and exits 1 if one of them gives no data. The windows
of the queries are made shorter, as the day is. test/operation/run runs this.
"""

import json
import math
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import draw

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DASHBOARD = ROOT / "docs/operation/dashboard.json"
ALERTS = ROOT / "docs/operation/alerts.yml"
GATES = ["catalog", "payments", "cart", "search"]
WINDOW = "4s"
# These must not fire on any day; what they look at must be there.
SILENT = {"CaissonPermitsLeaked", "CaissonGatesLeftOut"}

CONFIG = """
global:
  scrape_interval: 500ms
  scrape_timeout: 500ms
  evaluation_interval: 1s
rule_files:
  - {alerts}
scrape_configs:
  - job_name: shop
    static_configs:
      - targets: ["{target}"]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    """A server of its own, in a directory of its own."""

    def __init__(self, directory, target):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = pathlib.Path(directory) / "prometheus.yml"
        config.write_text(CONFIG.format(alerts=ALERTS, target=target),
                          encoding="utf-8")
        self.log = open(pathlib.Path(directory) / "log", "w+",
                        encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", "--log.level=warn",
             f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address={self.url[len('http://'):]}"],
            stdout=self.log, stderr=self.log)

    def __enter__(self):
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                # It looks for targets some seconds after it is ready.
                if self.get("targets", state="active")["activeTargets"]:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        self.__exit__()
        raise SystemExit("Prometheus does not start:\n" + self.said())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def get(self, path, **parameters):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise  # Not ready yet.
            raise SystemExit(f"{parameters}: {error.read().decode()}")

    def series(self, query, begin, end):
        """[(labels, [(time, value)])] of what has values."""
        found = self.get("query_range", query=query, start=begin, end=end,
                         step="0.5")["result"]
        out = []
        for x in found:
            values = [(float(t) - begin, float(v)) for t, v in x["values"]]
            values = [(t, v) for t, v in values if math.isfinite(v)]
            if values:
                out.append((x["metric"], values))
        return out


def shortened(query):
    query = query.replace("$__rate_interval", WINDOW).replace("$gate", ".*")
    return re.sub(r"\[\d+m\]", f"[{WINDOW}]", query)


def panel_queries():
    """(name, the ways to ask of which one must give data)"""
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", []):
            query = shortened(target["expr"])
            ways = [query.replace("$one", gate) for gate in GATES]
            yield f"{panel['title']} ({target['refId']})", ways


def rule_queries(server):
    """The same of the rules, as the server has read them."""
    for group in server.get("rules")["groups"]:
        for rule in group["rules"]:
            if rule["health"] != "ok":
                raise SystemExit(f"{rule['name']}: {rule.get('lastError')}")
            query = shortened(rule["query"])
            if rule["name"] not in SILENT:
                yield rule["name"], [query], None
                continue
            for part in re.findall(r"caisson_\w+(?:\{[^}]*\})?", query):
                yield f"{rule['name']}: {part}", [part], query


def look(server, begin, end):
    """Asks for everything; returns how many queries are wrong."""
    wrong = 0

    def report(name, ways, silent=None):
        nonlocal wrong
        answers = [server.series(way, begin, end) for way in ways]
        found = max(answers, key=len)
        fires = silent is not None and server.series(silent, begin, end)
        good = bool(found) and not fires
        wrong += not good
        values = [v for _, points in found for _, v in points]
        result = f"{len(found)} series, up to {max(values):.4g}" if found \
            else f"NO DATA: {ways[0]}"
        print(f"{'ok   ' if good else 'WRONG'}  {name}: {result}"
              + (f"; IT FIRES: {silent}" if fires else ""))

    for name, ways in panel_queries():
        report(name, ways)
    for name, ways, silent in rule_queries(server):
        report(name, ways, silent)
    # Not a single scrape has failed: of the last seconds none is asked.
    downs = server.series("up == 0", begin + 1, end - 1)
    if downs:
        wrong += 1
        print("WRONG  a scrape has failed")
    return wrong


def main(args):
    if "--help" in args or "-h" in args:
        print(__doc__.strip())
        return 0
    options = {"--seconds": "25", "--picture": ""}
    while len(args) > 1 and args[0] in options:
        options[args[0]] = args[1]
        args = args[2:]
    if len(args) != 1 or args[0].startswith("-"):
        print("check.py: wrong arguments; try --help", file=sys.stderr)
        return 2
    seconds = int(options["--seconds"])
    with tempfile.TemporaryDirectory(prefix="caisson-operation-") as directory:
        port = free_port()
        with Prometheus(directory, f"127.0.0.1:{port}") as server:
            begin = time.time()
            program = subprocess.run(
                [args[0], "--address", f"127.0.0.1:{port}", "--seconds",
                 str(seconds)], timeout=seconds + 60, check=False,
                stdout=subprocess.PIPE, text=True)
            end = begin + seconds
            print(program.stdout, end="")
            if program.returncode != 0:
                return 1
            wrong = look(server, begin, end)
            if options["--picture"]:
                draw.write(options["--picture"], seconds, program.stdout,
                           lambda q: server.series(shortened(q), begin, end))
            # The server itself had nothing to complain about.
            if "level=error" in server.said():
                wrong += 1
                print("WRONG  Prometheus says:\n" + server.said())
    print(f"{wrong} queries are wrong" if wrong else "all queries give data")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
