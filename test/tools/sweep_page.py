"""Looks at the pages of `caisson sweep --html`; see test/tools/report_page."""

import json
import subprocess

SHOP = """
title = "Shops </script><b>&amp;"
length = "10s"
[service.web]
workers = 2
time = { kind = "exponential", mean = "20ms" }
[load.users]
rate = 60
target = "web"
timeout = "200ms"
attempts = 2
[[fault]]
kind = "slow"
target = "web"
at = "2s"
for = "2s"
factor = 5
[arm.wide]
[arm.short]
service.web.queue = 3
"""

WORKERS = ["--set", "service.web.workers=1..4"]
RATES = ["--set", "load.users.rate=30..90/30"]
MODES = ["--set", "service.web.abandoned=finish,skip"]
PAGES = {"one": WORKERS + ["--seeds", "3"], "two": WORKERS + RATES,
         "three": WORKERS + RATES + MODES}


def sweep(caisson, folder, name):
    (folder / "shops.toml").write_text(SHOP)
    subprocess.run([caisson, "sweep", "shops.toml", "--quiet", "--metric",
                    "success,p99,recovery", "--html", f"{name}.html", "--json",
                    f"{name}.json", *PAGES[name]], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads((folder / f"{name}.json").read_text())


def rows_of_numbers(page):
    """All numbers, as the table at the end of the page shows them."""
    page.run('document.getElementById("numbers").open = true')
    page.run("new Promise(f => setTimeout(f, 50))")
    return page.run("""[...document.querySelectorAll("#numbers-table tr")]
        .slice(1).map(tr => [...tr.children].map(td => td.textContent))""")


def percent(share):
    """As the command rounds: never up to all, never down to nothing."""
    steps = int(share * 10000 + 0.5 + 1e-9)
    if share < 1:
        steps = min(steps, 9999)
    if share > 0:
        steps = max(steps, 1)
    return f"{steps / 100:.2f} %"


def check_numbers(check, page, result, name):
    rows = rows_of_numbers(page)
    check(f"{name}: a row per combination and arm",
          len(rows) == len(result["summaries"]), len(rows))
    good = True
    for row, s in zip(rows, result["summaries"]):
        values = [str(v) for v in s["settings"].values()] + [s["arm"]]
        success = s["metrics"]["success"]["median"]
        good = good and row[:len(values)] == values
        good = good and row[len(values) + 1].startswith(percent(success))
    check(f"{name}: its numbers are those of --json", good, rows[:3])


def colour_of(page, metric, summary):
    """The colour of a cell; summaries go by combination, then by arm."""
    return page.run(f"""[...document.querySelectorAll(
        "[data-metric='{metric}'] .map")][{summary % 2}]
        .querySelectorAll("td")[{summary // 2}].style.background""")


def check_maps(check, page, result):
    cells = page.run("""[...document.querySelectorAll(
        "[data-metric=success] .map")].map(map =>
        [...map.querySelectorAll("td")].map(td => td.title))""")
    check("a map per arm", [len(c) for c in cells] == [12, 12], cells)
    scales = page.run("""Object.fromEntries([...document.querySelectorAll(
        "[data-metric]")].map(x => [x.dataset.metric, [...x.querySelectorAll(
        ".scale span")].slice(0, 2).map(y => y.textContent)]))""")
    success = [s["metrics"]["success"]["median"] for s in result["summaries"]]
    p99 = [s["metrics"]["latency.p99"]["median"] for s in result["summaries"]]
    check("the deepest colour is the best, be it the largest or the smallest",
          scales["success"][1].startswith("better: ")
          and scales["latency.p99"][1].startswith("better: ")
          and colour_of(page, "success", success.index(max(success)))
          == colour_of(page, "latency.p99", p99.index(min(p99))), scales)
    captions = page.run("""[...document.querySelectorAll(".map .axes")]
        .map(x => x.textContent)""")
    check("both axes have the path of their setting", set(captions) == {
        "down: service.web.workers, across: load.users.rate"}, captions)
    by_arm = {arm: iter(titles) for arm, titles in zip(result["arms"], cells)}
    check("its cells are those of --json", all(
        percent(s["metrics"]["success"]["median"]) in next(by_arm[s["arm"]])
        for s in result["summaries"]))


def check_choice(check, page):
    before = page.run('document.getElementById("results").innerHTML')
    page.run("""(() => { const s = document.querySelector("#choices select");
        s.value = 1; s.dispatchEvent(new Event("change")); })()""")
    after = page.run('document.getElementById("results").innerHTML')
    check("another value of a third setting shows other numbers",
          before != after)


def check_lines(check, page):
    svg = 'document.querySelectorAll("svg.lines")'
    check("a chart per metric, and for verdicts", page.run(f"{svg}.length") == 4)
    check("a line and a band per arm", page.run(
        f'{svg}[1].querySelectorAll(".line").length') == 2 and page.run(
        f'{svg}[1].querySelectorAll(".band").length') == 2)
    page.run(f"{svg}[1].focus()")
    page.key("ArrowRight", 39)
    page.key("ArrowRight", 39)
    texts = page.run("""[...document.querySelectorAll(".chart")][1]
        .querySelector(".chart-keys").textContent""")
    check("an arrow key reads its numbers", "at 2" in texts and "%" in texts,
          texts)


def check_looks(check, page, path, name):
    for width in (1200, 400):
        for dark in (False, True):
            page.resize(width, 900, dark)
            page.open(path)
            wide = page.run("document.documentElement.scrollWidth")
            where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
            check(f"{where}: fits", wide <= width, wide)
            complaints = page.complaints()
            check(f"{where}: no complaints", complaints == [], complaints)
    page.resize(1200, 900)


def check_sweeps(check, page, caisson, folder):
    for name in PAGES:
        result = sweep(caisson, folder, name)
        page.open(folder / f"{name}.html")
        check(f"{name}: the title", page.run(
            'document.querySelector("h1").textContent')
            == "Shops </script><b>&amp;")
        check_numbers(check, page, result, name)
        if name == "one":
            check_lines(check, page)
        if name == "two":
            check_maps(check, page, result)
        if name == "three":
            check_choice(check, page)
        check_looks(check, page, folder / f"{name}.html", name)
