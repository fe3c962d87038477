"""Opens pages of `caisson run --html` and `caisson sweep --html` in a headless
Chromium and looks at them as a reader does; see test/tools/report_page."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

from chromium import Chromium
from sweep_page import check_sweeps

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SHOP = """
title = "A shop </script><b>&amp;"
length = "20s"
drain = "5s"
[service.web]
workers = 50
queue = 100
time = "2ms"
calls = ["db", { to = "ad", optional = true }]
[service.db]
workers = 4
time = { kind = "exponential", mean = "10ms" }
[service.ad]
workers = 2
time = "3ms"
[[edge]]
latency = "0.5ms"
[load.users]
rate = 200
target = "web"
timeout = "400ms"
attempts = 3
pause = "20ms"
[[fault]]
kind = "slow"
target = "db"
at = "5s"
for = "5s"
factor = 20
[arm.bare]
title = "no policies </script><i>"
[arm.guarded]
[[arm.guarded.stack.careful.layer]]
kind = "deadline"
timeout = "100ms"
[[arm.guarded.stack.careful.layer]]
kind = "breaker"
minimum_calls = 5
open = "1s"
[[arm.guarded.edge]]
from = "web"
to = "db"
stack = "careful"
"""


def long_scenario():
    text = ('length = "7200s"\n[load.users]\nrate = 0.5\ntarget = "s0"\n'
            '[[fault]]\nkind = "stall"\ntarget = "s9"\nat = "3000s"\n'
            'for = "600s"\n')
    for i in range(50):
        text += f'[service.s{i}]\nworkers = 10\ntime = "5ms"\n'
        if i < 49:
            text += f'calls = ["s{i + 1}"]\n'
    return text


failures = []


def check(what, good, detail=""):
    print(("ok    " if good else "FAIL  ") + what)
    if not good:
        failures.append(what)
        if detail:
            print("      " + str(detail)[:2000])


def equal(what, got, expected):
    check(what, got == expected, f"{got!r} is not {expected!r}")


def play(caisson, scenario, folder, name):
    (folder / f"{name}.toml").write_text(scenario)
    subprocess.run([caisson, "run", f"{name}.toml", "--quiet", "--html",
                    f"{name}.html", "--json", f"{name}.json"],
                   cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return json.loads((folder / f"{name}.json").read_text())


# -- numbers -------------------------------------------------------------------

def percent(share):
    """As the command rounds: never up to all, never down to nothing."""
    steps = math.floor(share * 10000 + 0.5 + 1e-9)
    if share < 1:
        steps = min(steps, 9999)
    if share > 0:
        steps = max(steps, 1)
    return f"{steps / 100:.2f} %"


def grouped(n):
    return f"{n:,}"


def check_cards(page, arms):
    cards = page.run("""[...document.querySelectorAll(".card")].map(c => ({
        name: c.querySelector(".card-name").textContent,
        success: c.querySelector("[data-number=success]").textContent,
        attempts: c.querySelector("[data-number=amplification]").textContent,
        verdict: c.querySelector(".badge").textContent,
        headline: c.querySelector(".card-headline").textContent }))""")
    for card, arm in zip(cards, arms, strict=True):
        name = arm["name"]
        equal(f"{name}: the card's name", card["name"], name)
        equal(f"{name}: success as in --json", card["success"],
              percent(arm["success"]))
        check(f"{name}: attempts as in --json",
              abs(float(card["attempts"]) - arm["amplification"]) < 0.0051)
        check(f"{name}: its verdict", card["verdict"].startswith(arm["verdict"]))
        check(f"{name}: a sentence", len(card["headline"]) > 20)


def set_time(page, second):
    page.run(f"""(() => {{ const t = document.getElementById("time");
        t.value = {second}; t.dispatchEvent(new Event("input")); }})()""")


def choose_arm(page, index):
    page.run(f"""(() => {{ const a = document.getElementById("arm");
        a.value = {index}; a.dispatchEvent(new Event("change")); }})()""")


def check_seconds(page, arms):
    page.run('document.getElementById("second").open = true')
    keys = ["arrivals", "completed", "failed", "refused", "queue", "busy"]
    for index, arm in enumerate(arms):
        choose_arm(page, index)
        good = True
        for second in range(len(arm["seconds"])):
            set_time(page, second)
            page.run("new Promise(f => setTimeout(f))")
            rows = page.run("""[...document.querySelectorAll(
                "#second-table tr")].slice(1).map(tr =>
                [...tr.children].map(td => td.textContent))""")
            row = arm["seconds"][second]
            caption = page.run(
                'document.querySelector("#second-table caption").textContent')
            expected = [[name, *(grouped(s[k]) for k in keys)]
                        for name, s in row["services"].items()]
            numbers = ", ".join(f"{k} {grouped(row[k])}" for k in
                                ("offered", "attempts", "good", "failed"))
            if rows != expected or not caption.endswith(numbers):
                good = False
                print(second, rows, expected, caption, numbers)
        check(f"{arm['name']}: all seconds as in --json", good)


# -- touch ---------------------------------------------------------------------

GRAPH = """[...document.querySelectorAll("#graph svg")].map(svg =>
    svg.getAttribute("aria-label") + [...svg.querySelectorAll("title")].map(
    t => t.textContent).join()).join()"""


def check_time(page):
    choose_arm(page, 0)
    set_time(page, 2)
    before = page.run(GRAPH)
    set_time(page, 8)
    after = page.run(GRAPH)
    check("the slider moves the graph", before != after)
    check("the graph tells the time", "at 8 s" in after, after)
    check("the fault is marked",
          page.run('document.querySelector(".node .fault text").textContent')
          == "slow ×20")
    page.run('document.getElementById("time").focus()')
    page.key("ArrowRight", 39)
    check("an arrow key moves the graph", "at 9 s" in page.run(GRAPH))
    equal("the slider tells the time",
          page.run('document.getElementById("time").ariaValueText'
                   ' || document.getElementById("time")'
                   '.getAttribute("aria-valuetext")'), "9 s")
    page.run('document.getElementById("play").focus()')
    page.key(" ", 32, " ")
    time.sleep(1.2)
    page.key(" ", 32, " ")
    stopped = int(page.run('document.getElementById("time").value'))
    check("play moves on", stopped > 9, stopped)
    time.sleep(0.6)
    equal("and pauses", int(page.run('document.getElementById("time").value')),
          stopped)


def check_arms(page, arms):
    choose_arm(page, 0)
    page.run('document.querySelector("#cards input").focus()')
    page.key("ArrowDown", 40)
    equal("an arrow key chooses the next arm",
          page.run('document.getElementById("arm").value'), "1")
    equal("headings name the arm",
          page.run('document.querySelector("h2 .of-arm").textContent'),
          "· " + arms[1]["name"])
    page.run('document.getElementById("all").click()')
    equal("all arms side by side",
          page.run('document.querySelectorAll("#graph svg").length'),
          len(arms))
    page.run('document.getElementById("all").click()')


AXES = """[...document.querySelectorAll("#charts .plot, #compare .plot")].map(
    p => [...p.querySelectorAll(".dygraph-axis-label-x")].map(
    x => x.textContent).join())"""
VALUES = """[...document.querySelectorAll(".chart-keys b")].map(
    b => b.textContent)"""


def check_charts(page):
    box = page.run("""(() => { document.getElementById("charts")
        .scrollIntoView({block: "center"});
        const r = document.querySelector("#charts .plot")
        .getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()""")
    left, top, width, height = box
    whole = page.run(AXES)
    values = page.run(VALUES)
    page.mouse("mouseMoved", left + width * 0.3, top + height / 2)
    changed = page.run(VALUES)
    check("all charts hover together", len(values) > 5 and changed != values)
    check("in every chart", page.run("""[...document.querySelectorAll(
        ".chart .cursor")].every(c => c.style.left !== "")"""))
    page.drag(left + width * 0.4, left + width * 0.7, top + height / 2)
    zoomed = page.run(AXES)
    check("all charts zoom together",
          all(a != b for a, b in zip(whole, zoomed)), zoomed)
    page.run('document.getElementById("unzoom").click()')
    equal("and back", page.run(AXES), whole)


def check_samples(page, arms):
    set_time(page, 7)
    page.run("new Promise(f => setTimeout(f))")
    equal("there are samples of a second",
          page.run('document.querySelectorAll(".sample").length'), 2)
    check("with their calls",
          page.run('document.querySelectorAll(".sample .span").length') >= 4)


def wait_for(page, script):
    for _ in range(40):
        if page.run(script):
            return True
        time.sleep(0.05)
    return False


def check_links(page, html, arms):
    first, second = (arm["name"] for arm in arms)
    last = max(len(arm["seconds"]) for arm in arms) - 1
    choose_arm(page, 1)
    set_time(page, 7)
    check("the address follows what is shown", wait_for(
        page, f'location.hash === "#t=7&arm={second}"'), page.run("location.hash"))
    shown = """document.getElementById("clock").textContent + " "
        + document.getElementById("arm").selectedOptions[0].textContent"""
    page.run(f'location.hash = "#t=3&arm={first}"')
    check("what is shown follows the address",
          wait_for(page, f'{shown} === "3 s {first}"'), page.run(shown))
    for link, expected in ((f"#t=12&arm={second}", f"12 s {second}"),
                           (f"#arm={second}&t=1e9", f"{last} s {second}")):
        page.go("about:blank")
        page.go(html.as_uri() + link)
        equal(f"opened at {link}", page.run(shown), expected)
    page.go("about:blank")
    page.open(html)
    default = page.run(shown)
    page.go("about:blank")
    page.go(html.as_uri() + "#t=soon&arm=nobody")
    equal("a link to nothing shows what is shown without", page.run(shown), default)


# Calls that pass one, two and three layers, two of them side by side.
LAYERS = 'length = "2s"\n[load.users]\nrate = 5\ntarget = "a"\n' + "".join(
    f'[service.{name}]\nworkers = 1\ntime = "1ms"\n' + (f"calls = {to}\n" if to else "")
    for name, to in (("a", ["b", "c", "d", "e", "x"]), ("b", ["c", "d", "e"]),
                     ("c", ["d"]), ("d", ["e"]), ("e", []), ("x", ["e"])))

# Which edges lead behind a node that is not one of their ends.
HIDDEN = """(() => {
    const inside = (p, b) => p.x > b.left && p.x < b.right && p.y > b.top && p.y < b.bottom;
    const boxes = [...document.querySelectorAll("#graph .body")]
        .map(x => x.getBoundingClientRect());
    return [...document.querySelectorAll("#graph .edge path")].filter(path => {
        const whole = path.getTotalLength();
        const points = [...Array(101).keys()].map(i =>
            path.getPointAtLength(whole * i / 100).matrixTransform(path.getScreenCTM()));
        return boxes.some(b => points.slice(3, -3).some(p => inside(p, b)));
    }).length;
})()"""


def check_edges(page, caisson, folder):
    play(caisson, LAYERS, folder, "layers")
    page.resize(1200, 900)
    page.open(folder / "layers.html")
    equal("there are all edges",
          page.run('document.querySelectorAll("#graph .edge path").length'), 12)
    equal("edges lead around services", page.run(HIDDEN), 0)


def check_texts(page):
    equal("the title", page.run('document.querySelector("h1").textContent'),
          "A shop </script><b>&amp;")
    equal("the scenario is in it",
          page.run('document.getElementById("scenario-text").textContent'), SHOP)
    equal("the command is in it",
          page.run('document.getElementById("command").textContent'),
          "caisson run shop.toml --seed 1 --html report.html")
    check("the table of policies marks what differs", page.run(
        'document.querySelectorAll("#policies td.differs").length') == 2)
    for place in ("#compare", "#faults"):
        equal(f"the fault has a name in {place}", page.run(
            f'document.querySelector("{place} .faults").textContent'),
            "slow ×20 db, 5 s to 10 s")
    heads = page.run("""[...document.querySelectorAll(".card-numbers dt")]
        .map(x => x.textContent)""")
    equal("the numbers of a card say of what they are", heads[:4], [
        "success", "attempts per request", "p50 of good", "p99 of good"])


def check_loads(page, caisson, folder):
    """Each of several loads has its own numbers."""
    more = '[load.visitors]\nrate = 50\ntarget = "ad"\ntimeout = "1s"\n'
    arms = play(caisson, SHOP.replace("[[fault]]", more + "[[fault]]", 1),
                folder, "loads")["runs"][0]["arms"]
    page.open(folder / "loads.html")
    for card, arm in enumerate(arms):
        rows = page.run(f"""[...document.querySelectorAll(".card")[{card}]
            .querySelectorAll(".card-loads tr")].slice(1).map(tr =>
            [...tr.children].slice(0, 2).map(x => x.textContent))""")
        equal(f"{arm['name']}: success by load as in --json", rows,
              [[x["name"], percent(x["success"])] for x in arm["loads"]])
    choose_arm(page, 0)
    set_time(page, 3)
    page.run("new Promise(f => setTimeout(f))")
    titles = page.run("""[...document.querySelectorAll("#graph .node title")]
        .map(x => x.textContent)""")
    row = arms[0]["seconds"][3]["loads"]
    for name, x in row.items():
        check(f"the box of {name} has its numbers",
              f"{name}: offered {grouped(x['offered'])}, good "
              f"{grouped(x['good'])}, failed {grouped(x['failed'])}" in titles,
              titles)
    lines = page.run("""[...document.querySelectorAll("#graph .node text.small")]
        .map(x => x.textContent)""")
    check("and its rate", f"{row['visitors']['offered']}/s, 100 % ok" in lines,
          lines)


def check_narrow_tables(page, path):
    """On a narrow screen the table of policies is read from top to bottom."""
    page.resize(400, 900)
    page.open(path)
    cut = page.run("""[...document.querySelectorAll("#policies *")].filter(x =>
        x.getBoundingClientRect().right > 400).length""")
    equal("nothing of the policies is cut on a narrow screen", cut, 0)
    page.resize(1200, 900)


def check_access(page):
    page.page("Accessibility.enable")
    nodes = page.page("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "slider", "radio", "checkbox", "combobox", "img")
    nameless = [n["role"]["value"] for n in nodes
                if not n.get("ignored") and n["role"]["value"] in roles
                and not n.get("name", {}).get("value")]
    equal("whatever can be used has a name", nameless, [])
    found = {n["role"]["value"] for n in nodes if not n.get("ignored")}
    check("slider, button, radio buttons",
          {"slider", "button", "radio", "combobox"} <= found, found)
    page.page("Accessibility.disable")


def check_looks(page, path):
    colours = set()
    for width in (1200, 400):
        for dark in (False, True):
            page.resize(width, 900, dark)
            page.open(path)
            wide = page.run("document.documentElement.scrollWidth")
            name = f"{width} pixels, {'dark' if dark else 'light'}"
            check(f"{name}: fits", wide <= width, wide)
            equal(f"{name}: no complaints", page.complaints(), [])
            colours.add(page.run(
                "getComputedStyle(document.body).backgroundColor"))
    equal("dark is another colour than light", len(colours), 2)
    page.resize(1200, 900)
    page.open(path)
    pdf = page.page("Page.printToPDF")["data"]
    check("it prints", len(pdf) > 20_000, len(pdf))


def check_empty(page, folder):
    """A run that was interrupted before it began has no arms."""
    text = (folder / "shop.html").read_text()
    begin = text.index('type="application/json">') + len('type="application/json">')
    end = text.index("</script", begin)
    data = json.loads(text[begin:end])
    data.update(arms=[], interrupted=True)
    empty = json.dumps(data).replace("<", "\\u003c")
    (folder / "empty.html").write_text(text[:begin] + empty + text[end:])
    page.open(folder / "empty.html")
    equal("a page without arms: no complaints", page.complaints(), [])
    check("it says why", "interrupted" in
          page.run('document.getElementById("facts").textContent'))


def check_long(page, caisson, folder):
    play(caisson, long_scenario(), folder, "long")
    size = (folder / "long.html").stat().st_size
    check("two hours of fifty services: less than 10 MB", size < 10_000_000,
          size)
    took = page.open(folder / "long.html")
    print(f"      {size / 1e6:.1f} MB, opened in {took:.2f} s")
    equal("without complaints", page.complaints(), [])
    equal("with all services",
          page.run('document.querySelectorAll("#graph .node").length'), 51)


def check_rows(page, caisson, folder):
    """Rows of several seconds, of which the last one covers less."""
    result = play(caisson, 'rows = "7s"\n' + SHOP, folder, "rows")
    page.open(folder / "rows.html")
    equal("rows of 7 s: without complaints", page.complaints(), [])
    for index, arm in enumerate(result["runs"][0]["arms"]):
        choose_arm(page, index)
        for i, row in enumerate(arm["seconds"]):
            set_time(page, i)
            page.run("new Promise(f => setTimeout(f))")
            begin = row["second"]
            rate = row["offered"] / (min(begin + 7, arm["end"]) - begin)
            text = page.run('document.getElementById("graph").textContent')
            check(f"rows of 7 s: the rate from {begin} s on",
                  f"{math.floor(rate + 0.5)}/s" in text, f"{rate} in {text}")


def pictures(page, folder, target):
    for html in sorted(folder.glob("*.html")):
        for width in (1200, 400):
            for dark in (False, True):
                page.resize(width, 900, dark)
                page.open(html)
                scheme = "dark" if dark else "light"
                page.picture(target / f"{html.stem}-{width}-{scheme}.png")


def main():
    caisson = str(pathlib.Path(sys.argv[1]).resolve())
    target = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as name, Chromium() as page:
        folder = pathlib.Path(name)
        arms = play(caisson, SHOP, folder, "shop")["runs"][0]["arms"]
        page.resize(1200, 900)
        took = page.open(folder / "shop.html")
        print(f"      opened in {took:.2f} s")
        check_cards(page, arms)
        check_seconds(page, arms)
        check_time(page)
        check_arms(page, arms)
        check_charts(page)
        check_samples(page, arms)
        check_texts(page)
        check_access(page)
        check_links(page, folder / "shop.html", arms)
        equal("no complaints", page.complaints(), [])
        check_edges(page, caisson, folder)
        check_looks(page, folder / "shop.html")
        check_narrow_tables(page, folder / "shop.html")
        check_loads(page, caisson, folder)
        check_empty(page, folder)
        check_long(page, caisson, folder)
        check_rows(page, caisson, folder)
        check_sweeps(check, page, caisson, folder)
        if target:
            pathlib.Path(target).mkdir(parents=True, exist_ok=True)
            pictures(page, folder, pathlib.Path(target))
    print(f"{len(failures)} failed" if failures else "all is well")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
