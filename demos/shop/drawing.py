"""Draws the goodput of the real and of the simulated shop."""

import html

WIDTH, LEFT, RIGHT, TOP, PLOT, GAP = 900, 60, 20, 70, 170, 60
SERIES = (("offered", "offered"), ("real", "real processes"),
          ("simulated", "simulated"))
COLORS = {"offered": "#57606a", "real": "#9ecbff", "simulated": "#d1242f"}


def text(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(what)}</text>'


def steps(values, x, y):
    """A line with a step for each second."""
    points = []
    for second, value in enumerate(values):
        points += [f"{x(second):.1f},{y(value):.1f}",
                   f"{x(second + 1):.1f},{y(value):.1f}"]
    return " ".join(points)


def spans(happened):
    """(begin, end, what) of the faults."""
    if not happened:
        return []
    when = {what: (begin, end) for what, begin, end in happened}
    begin, end = when["PostgreSQL crashes and starts again"]
    return [(when["Redis is killed"][0], when["Redis is back"][1],
             "no Redis"),
            (when["the payment service is stopped"][0],
             when["the payment service goes on"][1], "payment stopped"),
            (begin, end, "PostgreSQL crashes")]


def plot(arm, x, top):
    real, simulated = x["real"], x["simulated"]
    count = len(real["offered"])
    shown = (real["offered"], real["goodput"], simulated["goodput"][:count])
    most = 1.1 * max(max(values) for values in shown)
    at = lambda s: LEFT + (WIDTH - LEFT - RIGHT) * s / count
    height = lambda v: top + PLOT - PLOT * v / most
    out = [text(LEFT, top - 10, f"{arm}: requests that succeeded in each second",
                'font-weight="bold"')]
    for begin, end, what in spans(x["happened"]):
        out.append(f'<rect x="{at(begin):.1f}" y="{top}" width='
                   f'"{max(2, at(end) - at(begin)):.1f}" height="{PLOT}" '
                   'fill="#fff1c2"/>')
        out.append(text(at(begin) + 3, top + 13, what, 'fill="#7d4e00"'))
    out.append(f'<path d="M{LEFT},{top}V{top + PLOT}H{WIDTH - RIGHT}" '
               'fill="none" stroke="#57606a"/>')
    for second in range(0, count + 1, 5 if count <= 60 else 60):
        out.append(text(at(second), top + PLOT + 16, f"{second} s",
                        'text-anchor="middle"'))
    for share in (0, 0.5, 1):
        value = share * max(real["offered"])
        out.append(text(LEFT - 6, height(value) + 4, f"{value / x['days']:.0f}",
                        'text-anchor="end"'))
    styles = ('stroke-dasharray="2 3"', 'stroke-width="6"', 'stroke-width="2"')
    for (key, _), values, style in zip(SERIES, shown, styles):
        out.append(f'<polyline points="{steps(values, at, height)}" '
                   f'fill="none" stroke="{COLORS[key]}" {style}/>')
    return out


def picture(result):
    """An SVG with a plot for each arm."""
    height = TOP + len(result) * (PLOT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    place = LEFT
    for key, label in SERIES:
        out.append(f'<rect x="{place}" y="16" width="22" height="3" '
                   f'fill="{COLORS[key]}"/>')
        out.append(text(place + 28, 22, label))
        place += 150
    for i, (arm, x) in enumerate(result.items()):
        out += plot(arm, x, TOP + i * (PLOT + GAP))
    return "\n".join([*out, "</svg>", ""])
