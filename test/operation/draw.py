"""Draws what a Prometheus says of the demo's bad day, as one SVG."""

import html
import math
import pathlib
import re

WIDTH, LEFT, RIGHT, TOP = 900, 76, 190, 56
PLOT, STRIP, GAP = 110, 22, 46
COLORS = ["#1f6feb", "#1a7f37", "#d1242f", "#9a6700", "#8250df", "#57606a",
          "#bf3989", "#0a8a8a"]
STATES = {0: ("closed", "#2da44e"), 1: ("half-open", "#d4a72c"),
          2: ("open", "#cf222e")}

# As in the dashboard.
BREAKERS = ('max by (gate) (2 * caisson_layer_state{kind="breaker", '
            'state=~"open|forced_open"} or caisson_layer_state{kind="breaker", '
            'state="half_open"})')
PLOTS = [
    ("Calls a second, all gates", "", [
        ("sum(rate(caisson_calls_total[$__rate_interval]))", "offered"),
        ('sum(rate(caisson_outcomes_total{outcome="succeeded"}'
         "[$__rate_interval]))", "goodput")]),
    ("Failed calls a second, by error", "", [
        ("sum by (outcome) (rate(caisson_outcomes_total{outcome!~"
         '"succeeded|neutral"}[$__rate_interval])) > 0', "{outcome}")]),
    ("Share of retries in all attempts", "%", [
        ('sum by (gate) (rate(caisson_layer_decisions_total{kind="retrier",'
         'decision="retried"}[$__rate_interval])) / sum by (gate) '
         '(rate(caisson_attempts_total{gate="catalog"}[$__rate_interval]))',
         "{gate}")]),
    ("Permits in use, and calls that wait for one", "", [
        ('caisson_layer_in_use{kind="semaphore"}', "in use"),
        ('caisson_layer_waiting{kind="semaphore"}', "waiting")]),
    ("Duration of calls, P99", "s", [
        ("histogram_quantile(0.99, sum by (le, gate) (rate("
         "caisson_call_duration_seconds_bucket[$__rate_interval])))",
         "{gate}")]),
]


def nice_top(x):
    """The next of 1, 2, 5 times a power of ten."""
    if x <= 0:
        return 1.0
    unit = 10 ** math.floor(math.log10(x))
    return next(n * unit for n in (1, 2, 5, 10) if n * unit >= x * 0.999)


class Picture:
    def __init__(self, seconds):
        self.seconds = seconds
        self.y = TOP
        self.parts = []

    def x(self, t):
        return LEFT + (WIDTH - LEFT - RIGHT) * t / self.seconds

    def text(self, x, y, text, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>'
                          f"{html.escape(text)}</text>")

    def box(self, x, y, w, h, color):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
                          f'height="{h:.1f}" fill="{color}"/>')

    def line(self, x1, y1, x2, y2, color="#d0d7de", more=""):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
                          f'y2="{y2:.1f}" stroke="{color}" {more}/>')

    def title(self, text):
        self.text(LEFT, self.y - 8, text, 'font-weight="bold"')

    def legend(self, at, color, text):
        y = self.y + 12 + 17 * at
        self.box(WIDTH - RIGHT + 14, y - 9, 10, 10, color)
        self.text(WIDTH - RIGHT + 30, y, text)

    def strips(self, title, found):
        """One coloured strip for each series of states."""
        self.title(title)
        for i, (name, color) in enumerate(STATES.values()):
            self.legend(i, color, name)
        rows = sorted(found, key=lambda s: s[0]["gate"])
        for labels, points in rows:
            self.text(LEFT - 8, self.y + 15, labels["gate"],
                      'text-anchor="end"')
            for (t, v), (after, _) in zip(points,
                                          points[1:] + [(self.seconds, 0)]):
                self.box(self.x(t), self.y, self.x(after) - self.x(t) + 0.3,
                         STRIP - 4, STATES[min(int(v), 2)][1])
            self.y += STRIP
        self.y += max(0, 3 - len(rows)) * STRIP + GAP

    def plot(self, title, unit, lines):
        self.title(title)
        values = [v for _, points in lines for _, v in points]
        top = nice_top(max(values, default=1))
        bottom = self.y + PLOT
        for share in (0, 0.5, 1):
            y = bottom - PLOT * share
            self.line(LEFT, y, WIDTH - RIGHT, y)
            shown = top * share * (100 if unit == "%" else 1)
            self.text(LEFT - 8, y + 4, f"{shown:g} {unit}".strip(),
                      'text-anchor="end"')
        for i, (name, points) in enumerate(lines):
            color = COLORS[i % len(COLORS)]
            self.legend(i, color, name)
            path = " ".join(
                f"{self.x(t):.1f},{bottom - PLOT * min(v / top, 1):.1f}"
                for t, v in points)
            self.parts.append(f'<polyline points="{path}" fill="none" '
                              f'stroke="{color}" stroke-width="1.8"/>')
        self.y = bottom + GAP

    def axis(self, incidents):
        end = self.y - GAP + 6
        step = nice_top(self.seconds / 8)
        for i in range(int(self.seconds / step) + 1):
            t = i * step
            self.text(self.x(t), end + 16, f"{t:g} s", 'text-anchor="middle"')
        for number, (t, _) in enumerate(incidents, 1):
            self.line(self.x(t), TOP - 14, self.x(t), end, "#57606a",
                      'stroke-dasharray="2 3"')
            self.text(self.x(t), TOP - 24, str(number), 'text-anchor="middle"')
        self.y = end + 40
        for number, (_, text) in enumerate(incidents, 1):
            self.text(LEFT + 400 * ((number - 1) % 2),
                      self.y + 17 * ((number - 1) // 2), f"{number}  {text}")
        self.y += 17 * math.ceil(len(incidents) / 2) + 8

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
                f'height="{self.y:.0f}" viewBox="0 0 {WIDTH} {self.y:.0f}" '
                'font-family="sans-serif" font-size="12" fill="#1f2328">\n'
                f'<rect width="{WIDTH}" height="{self.y:.0f}" fill="#fff"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def write(path, seconds, output, ask):
    """Draws the answers of `ask`, and marks what the demo `output`."""
    incidents = [(int(share) * seconds / 100, text) for share, text
                 in re.findall(r"^ *(\d+) %  (.*)$", output, re.MULTILINE)]
    picture = Picture(seconds)
    picture.strips("State of breakers", ask(BREAKERS))
    for title, unit, queries in PLOTS:
        lines = [(name.format(**labels), points) for query, name in queries
                 for labels, points in ask(query)]
        picture.plot(title, unit, lines)
    picture.axis(incidents)
    pathlib.Path(path).write_text(picture.svg(), encoding="utf-8")
