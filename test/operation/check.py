#!/usr/bin/env python3
"""Runs each query of the dashboard and of the rules against a real Prometheus.

  test/operation/check.py [--seconds N] [--picture FILE] PROGRAM

  PROGRAM         the demo metrics, which is scraped during its bad day
  --seconds N     how long that lasts, default 25
  --picture FILE  draw the data as an SVG
  --help          show this

Prints one line per query, and exits 1 if one of them gives no data and is not
listed as one that the demo has nothing for. All names of metrics, decisions and
outcomes must exist. The windows of the queries are made shorter, as the day is.
test/operation/run runs this.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import draw
import names

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "demos/shop"))

from ports import free_port  # noqa: E402

DASHBOARD = ROOT / "docs/operation/dashboard.json"
RULES = [ROOT / "docs/operation/rules.yml", ROOT / "docs/operation/alerts.yml"]
GATES = ["catalog", "payments", "cart", "orders", "stock", "ledger", "search"]
WINDOW = "4s"
# These must not fire on the demo's day; what they look at must be there.
SILENT = {
    "CaissonPermitsLeaked", "CaissonGatesLeftOut", "CaissonWorkerRestarts",
    "CaissonWritesLost", "CaissonFunctionsThrow", "CaissonGateDrains",
    "CaissonLayerDoesNotEnforce", "CaissonMetricsMissing",
    "CaissonTimeLimitNear", "CaissonGateGone",
}
# What the demo has nothing for, and why; these must give no data.
ABSENT = {
    "Gates: Losses and restarts of workers (B)": "nothing restarts its workers",
    "Gates: Losses and restarts of workers (C)": "nothing restarts its workers",
    "Gates: Losses and restarts of workers (D)": "its workers have no group",
    "Failures by reason: Answers of workers by class (A)":
        "its answers have no classes",
    "Failures by reason: Mistakes in code (A)": "it makes none",
    "Failures by reason: Mistakes in code (B)": "it makes none",
    "Failures by reason: Mistakes in code (C)": "it makes none",
    "Breakers: Failures in the window (B)": "its breakers judge no slow calls",
    "Shedders: Calls below it (B)": "its shedder does not look at these",
    "Shedders: Delay (B)": "its shedder does not look at the mailbox",
    "Limiters: Calls that wait (B)": "nobody reserves turns",
    "Deadlines: Learned time limits (A)": "its deadlines learn nothing",
    "Caches: Failed writes (A)": "its cache does not write back",
    "Batchers: Failed items (A)": "its batches succeed",
    "Policies per key: Calls refused for their key (A)":
        "no key of it is refused",
    **{f"Fallback, degradation and chaos: {panel} (A)":
       "it has no layer of this kind" for panel in (
           "Fallbacks", "Levels that are off",
           "Calls to features that are off", "Injected faults")},
    "annotation: A gate drains": "none does",
    "CaissonFaultsInjected": "it has no layer of this kind",
}

CONFIG = """
global:
  scrape_interval: 500ms
  scrape_timeout: 500ms
  evaluation_interval: 1s
rule_files: {rules}
scrape_configs:
  - job_name: shop
    static_configs:
      - targets: ["{target}"]
"""


class Prometheus:
    """A server of its own, in a directory of its own."""

    def __init__(self, directory, target):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = pathlib.Path(directory) / "prometheus.yml"
        config.write_text(CONFIG.format(
            rules=json.dumps([str(x) for x in RULES]), target=target),
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
        raise SystemExit("Prometheus does not start:\n" + self.log_text())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def log_text(self):
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
    query = query.replace("$__rate_interval", WINDOW)
    query = re.sub(r"\$(job|instance|gate|layer)\b", ".*", query)
    return re.sub(r"\[\d+[mhd]\]", f"[{WINDOW}]", query)


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def panel_queries():
    """(name, the ways to ask of which one must give data)"""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    row = ""
    for panel in panels_of(dashboard):
        if panel["type"] == "row":
            row = panel["title"]
        for target in panel.get("targets", []):
            query = shortened(target["expr"])
            ways = [query.replace("$one", gate) for gate in GATES]
            if "$" in ways[0]:
                raise SystemExit(f"there is no such variable: {query}")
            yield f"{row}: {panel['title']} ({target['refId']})", ways
    for x in dashboard["annotations"]["list"]:
        yield f"annotation: {x['name']}", [shortened(x["expr"])]


def variable_queries():
    """(name, label, series) of each choice that the dashboard offers"""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    for x in dashboard["templating"]["list"]:
        if x["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)",
                                 x["query"]["query"])
            yield x["name"], found[2], shortened(found[1])


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


class Report:
    """Asks, prints what comes back, and counts what is wrong."""

    def __init__(self, server, begin, end):
        self.server, self.begin, self.end = server, begin, end
        self.wrong = 0

    def say(self, good, text):
        self.wrong += not good
        print(f"{'ok   ' if good else 'WRONG'}  {text}")

    def series(self, query):
        return self.server.series(query, self.begin, self.end)

    def query(self, name, ways, silent=None):
        found = max((self.series(way) for way in ways), key=len)
        if silent is not None and self.series(silent):
            self.say(False, f"{name}: IT FIRES: {silent}")
        elif name in ABSENT:
            self.say(not found, f"{name}: "
                     + ("there is data, but it is listed as absent" if found
                        else f"nothing, {ABSENT[name]}"))
        elif not found:
            self.say(False, f"{name}: NO DATA: {ways[0]}")
        else:
            top = max(v for _, points in found for _, v in points)
            self.say(True, f"{name}: {len(found)} series, up to {top:.4g}")

    def choice(self, name, label, series):
        found = self.server.get(f"label/{label}/values", **{
            "match[]": series, "start": self.begin, "end": self.end})
        self.say(bool(found), f"variable {name}: {', '.join(found)}")


def look(server, begin, end):
    """Asks for everything; returns how many queries are wrong."""
    report = Report(server, begin, end)
    queries = []
    for name, ways in panel_queries():
        queries.append(ways[0])
        report.query(name, ways)
    for name, ways, silent in rule_queries(server):
        queries.append(ways[0])
        report.query(name, ways, silent)
    for variable in variable_queries():
        report.choice(*variable)
    for text in names.unknown(queries, lambda label: server.get(
            f"label/{label}/values", start=begin, end=end)):
        report.say(False, text)
    # Not a single scrape has failed: of the last seconds none is asked.
    report.say(not server.series("up == 0", begin + 1, end - 1),
               "all scrapes have succeeded")
    return report.wrong


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
            if "level=error" in server.log_text():
                wrong += 1
                print("WRONG  Prometheus says:\n" + server.log_text())
    print(f"{wrong} queries are wrong" if wrong else "all queries give data")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
