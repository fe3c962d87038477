"""Looks at the page of a control server; see test/tools/control_page."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from chromium import Chromium

sys.dont_write_bytecode = True
WIDTHS = {"wide": 1200, "narrow": 400}

# What is there to press or fill in has a name.
NAMELESS = """[...document.querySelectorAll("button, input, select, canvas, svg, dialog")]
  .filter(x => x.closest("[hidden], dialog:not([open])") === null)
  .filter(x => !(x.getAttribute("aria-label") || x.textContent.trim()
    || (x.labels && x.labels.length) || x.getAttribute("aria-labelledby")))
  .map(x => x.outerHTML.slice(0, 80))"""

CELLS = """[...document.querySelectorAll("#list tbody tr")]
  .map(row => [...row.children].map(x => x.textContent))"""


class Operator:
    """A program with gates, the command, and the page in a browser."""

    def __init__(self, command, program, page):
        self.command = command
        self.page = page
        self.problems = []
        self.directory = tempfile.TemporaryDirectory()
        self.file = self.directory.name + "/control"
        self.program = subprocess.Popen(
            [program, "--control", self.file, "--seconds", "600"],
            stdout=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while not pathlib.Path(self.file).exists():
            if time.monotonic() > until:
                raise TimeoutError("the program does not start")
            time.sleep(0.05)

    def end(self):
        self.program.kill()
        self.program.wait()

    def ctl(self, *words):
        return subprocess.run(
            [self.command, "ctl", "--file", self.file, *words], check=True,
            capture_output=True, text=True).stdout

    def link(self):
        return self.ctl("page").splitlines()[0]

    def expect(self, holds, what):
        if not holds:
            self.problems.append(what)

    def until(self, script, what, seconds=15):
        """Waits until the script is true."""
        end = time.monotonic() + seconds
        while not self.page.run(script):
            if time.monotonic() > end:
                self.problems.append(f"not within {seconds} s: {what}")
                return
            time.sleep(0.1)

    def press(self, selector):
        self.page.run(f"document.querySelector({json.dumps(selector)}).click()")

    def press_named(self, text, within):
        """Presses the button that begins with this text."""
        self.page.run(f"""[...document.querySelectorAll("{within} button")]
          .find(x => x.textContent.startsWith({json.dumps(text)})).click()""")

    def shown(self, gate):
        return json.loads(self.ctl("show", gate, "--json"))

    def calm(self, origin, name, allowed=()):
        for x in self.page.complaints(origin):
            if not any(part in x for part in allowed):
                self.problems.append(f"{name}: {x}")


def check_access(at, page):
    link = at.link()
    origin = link[:link.index("#")]
    page.go(origin)
    at.until('byId("connection").textContent === "no access"', "no link, no access")
    at.expect(page.run('document.querySelectorAll("#list tbody tr").length') == 0,
              "the page shows gates without a link")
    at.calm(origin, "no access", ("status of 401",))
    page.go("about:blank")
    page.go(link)
    at.until('document.querySelectorAll("#list tbody tr").length === 2',
             "two gates are listed")
    at.expect(page.run("location.hash") == "", "the ticket stays in the address")
    page.go(origin)
    at.until('document.querySelectorAll("#list tbody tr").length === 2',
             "the session opens the page again")
    at.calm(origin, "list")
    return origin, link


def check_list(at, page):
    at.until(f"{CELLS}.every(x => parseFloat(x[2]) > 100)",
             "both gates have about 200 calls per second")
    rows = page.run(CELLS)
    at.expect([x[0] for x in rows] == ["catalog", "payments"],
              f"the gates are {rows}")
    at.expect(all(x[1] == "accepting" and x[3] == "0 %" for x in rows),
              f"states and failures are {rows}")
    at.expect(page.run('document.title') == "Gates: all normal", "the title")
    page.run("""byId("search").value = "PAY";
                byId("search").dispatchEvent(new Event("input"))""")
    at.expect([x[0] for x in page.run(CELLS)] == ["payments"], "the search")
    page.run("""byId("search").value = "";
                byId("search").dispatchEvent(new Event("input"))""")


def check_commands(at, page):
    at.press_named("payments", "#list")
    at.until('document.querySelectorAll("#layers .layer").length === 2',
             "two layers are shown")
    at.until('document.querySelector("#durations tbody tr") !== null', "durations")
    at.press_named("breaker", "#layers")
    at.press_named("Force open", "#layer")
    at.expect(page.run('byId("dialog").open'), "nothing is asked before a command")
    at.expect(at.shown("payments")["layers"][1]["state"] == "closed",
              "the command is sent before it is confirmed")
    page.run('document.querySelector("#dialog select").value = "1h"')
    at.press("#dialog-do")
    at.until('!byId("dialog").open', "the dialog closes")
    at.expect(at.shown("payments")["layers"][1]["state"] == "forced_open",
              "the breaker is not forced open")
    at.until(f"{CELLS}[1][6].includes('breaker forced open')", "the list says so")
    at.until(f"{CELLS}[1][3] === '100 %'", "all calls fail")
    at.until("""byId("event-list").textContent.includes("forced_open")""",
             "the event is shown")
    at.expect(page.run("document.title") == "Gates: 1 needs attention", "the title")
    page.run("""byId("unusual").click()""")
    at.expect([x[0] for x in page.run(CELLS)] == ["payments"],
              "only those that need attention")
    page.run("""byId("unusual").click()""")


def check_settings(at, page):
    page.run("""document.querySelector('#layer [aria-label="Change threshold"]').click()""")
    page.run("""document.querySelector("#dialog input").value = "none" """)
    at.press("#dialog-do")
    at.until("""!byId("dialog-error").hidden""", "a wrong value is refused")
    at.expect("threshold" in page.run('byId("dialog-error").textContent'),
              "the reason names no setting")
    page.run("""document.querySelector("#dialog input").value = "7" """)
    at.press("#dialog-do")
    at.until('!byId("dialog").open', "the dialog closes")
    at.expect(at.shown("payments")["layers"][1]["settings"]["threshold"] == "7",
              "the setting is as before")
    at.until("""document.querySelector('#layer [aria-label="Change threshold"]')
                .previousSibling.textContent === "7" """, "the page shows it")
    at.press("#reload")
    at.press("#dialog-do")
    at.until("""byId("dialog-text").textContent.includes("threshold = 5 (was 7)")""",
             "a reload says what has changed")
    at.press("#dialog-do")
    at.press("#enable-all")
    at.press("#dialog-do")
    at.until(f"{CELLS}[1][6] === ''", "all layers are normal")
    at.press("#drain")
    page.run("""document.querySelector("#dialog input").value = "catalog" """)
    at.press("#dialog-do")
    at.until("""!byId("dialog-error").hidden""", "the name is another gate's")
    page.run("""document.querySelector("#dialog input").value = "payments" """)
    at.press("#dialog-do")
    at.until("""byId("dialog-text").textContent.startsWith("Drained")""", "drained")
    state = at.shown("payments")["state"]
    at.expect(state == "draining", f"drained, it is {state}")
    at.press("#dialog-do")


def check_looks(at, page, pictures):
    for dark in (False, True):
        for name, width in WIDTHS.items():
            page.resize(width, 900, dark)
            time.sleep(1.2)
            wide = page.run("document.documentElement.scrollWidth")
            at.expect(wide <= width, f"{name}: it is {wide} px wide")
            nameless = page.run(NAMELESS)
            at.expect(not nameless, f"without a name: {nameless}")
            if pictures:
                page.picture(pictures / f"{name}{'-dark' * dark}.png")
    page.resize(1200, 900)


def check_ends(at, page, origin, link):
    # Only another part of an address that is open loads nothing.
    page.go("about:blank")
    page.go(origin + "#gate=payments")
    at.until('byId("connection").textContent === "live"', "a session goes on")
    at.until('!byId("gate").hidden', "the gate of the address is shown")
    page.run('location.hash = "gate=nobody"')
    at.until("""byId("gate-facts").textContent.includes("unknown gate")""",
             "a gate that is not there")
    page.run('location.hash = "%"')
    at.until('byId("gate").hidden', "no gate")
    page.run("localStorage.clear()")
    page.go("about:blank")
    page.go(link)
    at.until("""byId("notice").textContent.includes("has been used")""",
             "the link works twice")
    page.go("about:blank")
    page.go(at.link())
    at.until('byId("connection").textContent === "live"', "a new link")
    at.program.send_signal(signal.SIGSTOP)
    at.until('byId("connection").textContent.startsWith("last answer")',
             "a program that hangs is noticed")
    at.program.send_signal(signal.SIGCONT)
    at.until('byId("connection").textContent === "live"', "it answers again")


def main(command, program, pictures):
    with Chromium() as page:
        page.resize(1200, 900)
        at = Operator(command, program, page)
        try:
            origin, link = check_access(at, page)
            check_list(at, page)
            check_commands(at, page)
            check_looks(at, page, pictures)
            check_settings(at, page)
            # What was refused is in the browser's log.
            at.calm(origin, "commands", ("status of 400",))
            check_ends(at, page, origin, link)
        finally:
            at.end()
        at.until('byId("connection").textContent === "no answer"',
                 "the end of the program is noticed")
        at.expect(page.run("document.title") == "Gates: no answer", "its title")
    for x in at.problems:
        print(x, file=sys.stderr)
    print(f"the page of the gates: {len(at.problems)} problems")
    return 1 if at.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2],
                  pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None))
