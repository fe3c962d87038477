"""Counts the instructions of a call, for test/bench/instructions.

  instructions.py [--fix | --print] BUILD PAGE

BUILD is the directory of a build. The tables stand in PAGE between
<!-- instructions --> and <!-- /instructions -->.
"""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MORE = 0.03
# Where scheduler threads take part, a run that is disturbed counts more.
TRIES = 3
DIRECT = "direct"
IDLE = "policy: none"
TABLES = re.compile(r"<!-- instructions -->\n(?P<body>.*?)<!-- /instructions -->",
                    re.DOTALL)
ROW = re.compile(r"^\| (?P<subject>[^|]+?) \| (?P<count>[\d,]+) \|", re.MULTILINE)
SCENARIO = "demos/scenarios/one-tier.toml"

# What each subject should take: a number, or that of direct requests and more.
GOALS = {
    "local, empty": (1, 900),
    "local, stack of five": (1, 1_900),
    "local, refused": (0, 1_300),
    "local, answered by a cache": (0, 2_000),
    "empty gate": (2, 800),
    "fused stack of five": (2, 1_800),
    "guard, stack of five": (0, 1_500),
    "simulator: five layers": (0, 18_000),
}


def goal_of(name, direct):
    if name in GOALS:
        times, more = GOALS[name]
        return round(times * direct + more)
    if name.startswith("policy: keyed"):
        return 300
    if name.startswith("policy: breaker"):
        return 200
    return 120 if name.startswith("policy: ") else None


def executed(*command):
    """The instructions of a whole run, and what it prints."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         *map(str, command)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"instructions: {command} ended with {done.returncode}:\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return int(found[1]), done.stdout


def subjects_of(program):
    return subprocess.run([program, "--subjects"], capture_output=True,
                          text=True, check=True).stdout.splitlines()


# -- what is counted -----------------------------------------------------------
#
# Each is run twice; the difference is what a call takes, without what is done
# once.


def count_gate(program, subject):
    few, many = 1_000, 3_000
    windows = 3  # As many calls are made with 1, 16 and 256 in flight.
    more = (executed(program, 1, many, subject)[0]
            - executed(program, 1, few, subject)[0])
    return more / (windows * (many - few))


def count_policy(program, subject):
    few, many = 2_000, 6_000
    more = (executed(program, subject, many)[0]
            - executed(program, subject, few)[0])
    return more / (many - few)


def count_simulator(program, arm):
    text = pathlib.Path(SCENARIO).read_text(encoding="utf-8")

    def played(seconds):
        changed, n = re.subn(r'^length = ".*"$', f'length = "{seconds}s"', text,
                             flags=re.MULTILINE)
        if n != 1:
            sys.exit(f"instructions: {SCENARIO} has {n} lengths")
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(changed)
            file.flush()
            count, out = executed(program, "run", file.name, "--arm", arm, "--json",
                                  "-", "--no-rows", "--no-progress", "--jobs", 1)
        # The numbers for people follow.
        result, _ = json.JSONDecoder().raw_decode(out)
        return count, result["runs"][0]["arms"][0]["totals"]["offered"]

    (few, before), (many, after) = played(2), played(5)
    return (many - few) / (after - before)


def subjects(build):
    """What is counted: by name, how."""
    gates = build / "test/caisson_gate_ratio"
    alone = build / "test/caisson_bench_policies"
    found = {x: (count_gate, gates, x) for x in [DIRECT, *subjects_of(gates)]}
    found |= {x: (count_policy, alone, x) for x in subjects_of(alone)}
    for arm, name in (("empty", "empty gate"), ("five", "five layers")):
        found[f"simulator: {name}"] = (count_simulator, build / "caisson", arm)
    return found


def count(todo, raw):
    """Counts these again, and keeps the least of each in `raw`."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, n in zip(todo, pool.map(lambda x: x[0](*x[1:]), todo.values())):
            raw[name] = min(n, raw.get(name, n))


def differences(todo, raw):
    """The instructions of each, without what is counted along with it."""
    counts = {}
    for name, n in raw.items():
        if name != DIRECT and todo[name][0] is count_gate:
            # A direct request is made beside each subject.
            n -= raw[DIRECT]
        elif name.startswith("policy: "):
            n -= raw[IDLE]
        if name != IDLE:
            counts[name] = round(n)
    return counts


# -- the tables ----------------------------------------------------------------


def table(counts):
    direct = counts[DIRECT]

    def goal(name):
        number = goal_of(name, direct)
        return "" if number is None else f"{number:,}"

    def is_gate(name):
        return not name.startswith(("policy: ", "guard, ", "simulator: "))

    out = ("\n| subject | instructions | of a direct request | goal |\n"
           "| --- | --- | --- | --- |\n")
    out += "".join(f"| {name} | {n:,} | {n / direct:.2f} | {goal(name)} |\n"
                   for name, n in counts.items() if is_gate(name))
    out += "\n| subject | instructions | goal |\n| --- | --- | --- |\n"
    out += "".join(f"| {name} | {n:,} | {goal(name)} |\n"
                   for name, n in counts.items() if not is_gate(name))
    return out


def expected(counts, known, name):
    """What the tables say, for the compiler, libraries and processor of here: a
    direct request, which is none of our code, shows how far these differ."""
    elsewhere = counts[DIRECT] / known.get(DIRECT, counts[DIRECT])
    return known[name] * elsewhere if name in known else None


def exceeds(counts, known, name):
    before = expected(counts, known, name)
    # Of what takes next to nothing, an instruction or two are no change. A key that
    # lies across the end of a page takes 16 more to compare.
    room = 34 if name.startswith("policy: keyed") else 2
    return before is None or counts[name] > before * (1 + MORE) + room


def main(args):
    fix, only_print = "--fix" in args, "--print" in args
    build, page = (pathlib.Path(x) for x in args if not x.startswith("--"))
    text = page.read_text(encoding="utf-8")
    found = TABLES.search(text)
    if not found:
        sys.exit(f"instructions: {page} has no tables of them")
    known = {row["subject"]: int(row["count"].replace(",", ""))
             for row in ROW.finditer(found["body"])}
    todo = subjects(build)
    raw = {}
    count(todo, raw)
    counts = differences(todo, raw)
    if only_print:
        print(table(counts))
        return 0
    for _ in range(TRIES - 1):
        again = [x for x in counts if exceeds(counts, known, x)]
        if again:
            count({x: todo[x] for x in again}, raw)
            counts = differences(todo, raw)
    worse = [x for x in counts if exceeds(counts, known, x)]
    for name, n in counts.items():
        before = expected(counts, known, name)
        change = ("not in the table" if before is None
                  else f"{100 * (n / before - 1):+.1f} %")
        print(f"{'MORE' if name in worse else 'ok':5} {name:32} {n:8,}  {change}")
    if fix:
        page.write_text(text[:found.start("body")] + table(counts)
                        + text[found.end("body"):], encoding="utf-8")
        print(f"{page}: written")
        return 0
    if worse:
        print(f"over {100 * MORE:.0f} % more instructions than docs/benchmarks.md "
              f"says: {'; '.join(worse)}; if that is meant, "
              "test/bench/instructions --fix", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
