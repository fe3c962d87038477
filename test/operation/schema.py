#!/usr/bin/env python3
"""Writes a dashboard as constants of TypeScript, each of Grafana's type for it.

  test/operation/schema.py FILE

test/operation/schema has that compiled.
"""

import json
import sys

# Kinds of panels: the directory of their types, and the name of these.
KINDS = {"stat": ("stat", "Stat"), "timeseries": ("timeseries", "TimeSeries"),
         "state-timeline": ("statetimeline", "StateTimeline"),
         "table": ("table", "Table"), "heatmap": ("heatmap", "Heatmap")}
# `Literal` is a type as JSON has it: an enumerator by its value, and whatever
# has a default may be absent.
HEAD = """\
import type * as grafana from "@grafana/schema";

type Literal<T> =
  unknown extends T ? T :
  T extends string ? `${T}` :
  T extends number | boolean | null | undefined ? T :
  T extends (infer U)[] ? Literal<U>[] :
  { [K in keyof T]?: Literal<T[K]> };

// What only Prometheus knows of targets and annotations.
type Target = { refId: string, expr: string, legendFormat: string,
                datasource: grafana.DataSourceRef, instant?: boolean,
                range?: boolean, format?: "table" | "heatmap" };
type Annotation = grafana.AnnotationQuery & {
  expr: string, step: string, titleFormat: string, textFormat: string,
  useValueForTime: boolean };
"""


def panels_of(panels):
    for x in panels:
        yield x
        yield from x.get("panels", [])


def constant(name, kind, value):
    print(f"export const {name}: {kind} =\n  "
          + json.dumps(value, ensure_ascii=False) + ";")


def main(args):
    if len(args) != 1 or args[0].startswith("-"):
        print(__doc__.strip())
        return 0 if args in (["--help"], ["-h"]) else 2
    with open(args[0], encoding="utf-8") as file:
        dashboard = json.load(file)
    print(HEAD)
    for _, (folder, name) in sorted(KINDS.items()):
        print(f'import type * as {folder} from "@grafana/schema/dist/esm/raw/'
              f'composable/{folder}/panelcfg/x/{name}PanelCfg_types.gen";')
    panels = list(panels_of(dashboard["panels"]))
    for x in panels:
        # A row is of a type of its own, which holds the others.
        at = f"panel_{x['id']}"
        if x["type"] == "row":
            constant(at, "Literal<grafana.RowPanel>", {**x, "panels": []})
            continue
        folder = KINDS[x["type"]][0]
        constant(at, "Literal<grafana.Panel>", x)
        constant(f"{at}_options", f"Literal<{folder}.Options>", x["options"])
        constant(f"{at}_targets", "Target[]", x["targets"])
        custom = x["fieldConfig"]["defaults"].get("custom")
        if custom is not None:
            constant(f"{at}_custom", f"Literal<{folder}.FieldConfig>", custom)
    for number, x in enumerate(dashboard["annotations"]["list"]):
        constant(f"annotation_{number}", "Literal<Annotation>", x)
    # These have been looked at above.
    constant("dashboard", "Literal<grafana.Dashboard>",
             {**dashboard, "panels": [], "annotations": {}})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
