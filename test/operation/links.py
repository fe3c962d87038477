#!/usr/bin/env python3
"""Checks what alerts and the dashboard say of the documentation.

  test/operation/links.py

  --help  show this

Each alert has a severity, a summary, a description and a runbook of its own,
docs/runbooks.md has no other, and the dashboard links to pages of docs/.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
ALERTS = DOCS / "operation/alerts.yml"
RUNBOOKS = DOCS / "runbooks.md"


def alerts():
    """(name, the lines of each alert)"""
    parts = re.split(r"^ +- alert: (\w+)\n", ALERTS.read_text(encoding="utf-8"),
                     flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def wrong_alerts():
    headings = re.findall(r"^## (Caisson\w+)$",
                          RUNBOOKS.read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for name, _ in alerts()]
    if headings != names:
        yield (f"docs/runbooks.md has {headings}, alerts.yml has {names}: they "
               "must be the same in the same order")
    for name, text in alerts():
        for key in ("severity", "summary", "description", "runbook_url"):
            if not re.search(rf"^ +{key}: \S", text, re.MULTILINE):
                yield f"{name} lacks {key}"
        if f"runbook_url: docs/runbooks.md#{name.lower()}\n" not in text + "\n":
            yield f"{name} has the runbook of another alert"


def wrong_pages():
    text = (DOCS / "operation/dashboard.json").read_text(encoding="utf-8")
    json.loads(text)
    for page in sorted(set(re.findall(r"\$\{docs\}/([^\"]+)\.html", text))):
        if not (DOCS / f"{page}.md").exists():
            yield f"the dashboard links to docs/{page}.md, which does not exist"


def main(args):
    if args:
        print(__doc__.strip())
        return 0 if args in (["--help"], ["-h"]) else 2
    wrong = [*wrong_alerts(), *wrong_pages()]
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
