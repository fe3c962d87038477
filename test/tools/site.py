"""Looks at the site of the documentation; see test/tools/site."""

import pathlib
import sys

from chromium import Chromium

# What people look for, and a page that must be among the first results.
SEARCHES = {"bulkhead": "semaphore.html", "half-open": "breaker.html",
            "SIGTERM": "deployment.html", "pkg-config": "install.html",
            "resilience4j": "coming-from.html"}
PAGES = ["index", "contents", "guide", "breaker", "adapters", "coming-from",
         "install", "source/demos/examples/shutdown.cpp", "api/index"]
DARK = ["index", "breaker"]
WIDTHS = {"wide": 1300, "narrow": 400}

FOUND = """new Promise(done => {
  const field = document.querySelector(".md-search__input");
  field.focus();
  field.value = %r;
  field.dispatchEvent(new Event("keyup", {bubbles: true}));
  let left = 100;
  const look = () => {
    const found = [...document.querySelectorAll(".md-search-result__link")]
      .map(a => new URL(a.href).pathname.split("/").pop());
    if (found.length || --left == 0)
      done(found);
    else
      setTimeout(look, 100);
  };
  setTimeout(look, 300);
})"""


def main(site, pictures):
    problems = []

    def expect(holds, what):
        if not holds:
            problems.append(what)

    def calm(page, name):
        for x in page.complaints():
            # The text of the search's worker.
            if not x.startswith("asks for blob:"):
                problems.append(f"{name}: {x}")

    with Chromium() as page:
        for dark in (False, True):
            # The theme remembers what was chosen before.
            page.open(site / "index.html")
            page.run("localStorage.clear()")
            for width_name, width in WIDTHS.items():
                page.resize(width, 900, dark)
                for name in DARK if dark else PAGES:
                    page.open(site / f"{name}.html")
                    where = f"{name}, {width_name}{', dark' if dark else ''}"
                    calm(page, where)
                    scheme = page.run(
                        'document.body.getAttribute("data-md-color-scheme")')
                    expect(scheme in (None, "slate" if dark else "default"),
                           f"{where}: the colours are {scheme}")
                    wide = page.run("document.documentElement.scrollWidth")
                    # Doxygen's pages are not for phones.
                    expect(wide <= width or name.startswith("api/"),
                           f"{where}: it is {wide} px wide")
                    if pictures:
                        page.picture(pictures / f"{name.replace('/', '-')}-"
                                     f"{width_name}{'-dark' * dark}.png", False)
        page.resize(1300, 900)
        for word, address in SEARCHES.items():
            page.open(site / "index.html")
            found = page.run(FOUND % word)
            expect(address in found[:10], f"searching {word} finds {found[:10]}")
            calm(page, f"searching {word}")
        if pictures:
            page.picture(pictures / "search.png", False)
        if (site / "mermaid.min.js").exists():
            page.open(site / "breaker.html")
            page.run("new Promise(f => setTimeout(f, 1000))")
            expect(page.run('document.querySelectorAll("div.diagram svg").length')
                   >= 1, "no diagram is drawn")
            calm(page, "diagrams")
            if pictures:
                page.run('document.querySelector("div.diagram").scrollIntoView()')
                page.picture(pictures / "diagram.png", False)
    for x in problems:
        print(x, file=sys.stderr)
    print(f"{len(PAGES)} pages, {len(SEARCHES)} searches, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]),
                  pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None))
