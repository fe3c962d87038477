"""Counts the instructions of a call, for test/bench/instructions.

  instructions.py [--fix | --print] PROGRAM PAGE

The table stands in PAGE between <!-- instructions --> and <!-- /instructions -->.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

FEW, MANY = 1_000, 3_000
# As many calls are made with each number in flight: 1, 16 and 256.
WINDOWS = 3
MORE = 0.03
DIRECT = "direct"
TABLE = re.compile(r"<!-- instructions -->\n(?P<body>.*?)<!-- /instructions -->",
                   re.DOTALL)
ROW = re.compile(r"^\| (?P<subject>[^|]+?) \| (?P<count>[\d,]+) \|", re.MULTILINE)


def executed(program, subject, calls):
    """The instructions of a whole run."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         program, "1", str(calls), subject],
        capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"instructions: {subject} ended with {done.returncode}:\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return int(found[1])


def of_a_call(program, subject):
    difference = (executed(program, subject, MANY)
                  - executed(program, subject, FEW))
    return difference / (WINDOWS * (MANY - FEW))


def counted(program):
    names = subprocess.run([program, "--subjects"], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    subjects = [DIRECT, *names]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda x: of_a_call(program, x), subjects))
    # A direct request is made beside each subject.
    return {name: round(count - (counts[0] if i > 0 else 0))
            for i, (name, count) in enumerate(zip(subjects, counts))}


def table(counts):
    base = counts[DIRECT]
    rows = "".join(f"| {name} | {n:,} | {n / base:.2f} |\n"
                   for name, n in counts.items())
    return ("\n| subject | instructions | of a direct request |\n"
            "| --- | --- | --- |\n" + rows)


def main(args):
    fix, only_print = "--fix" in args, "--print" in args
    program, page = [x for x in args if not x.startswith("--")]
    page = pathlib.Path(page)
    text = page.read_text(encoding="utf-8")
    found = TABLE.search(text)
    if not found:
        sys.exit(f"instructions: {page} has no table of them")
    known = {row["subject"]: int(row["count"].replace(",", ""))
             for row in ROW.finditer(found["body"])}
    counts = counted(program)
    # A direct request is none of our code: it shows how far compiler, libraries
    # and processor differ from those of the table.
    elsewhere = counts[DIRECT] / known.get(DIRECT, counts[DIRECT])
    worse = 0
    for name, n in counts.items():
        before = known.get(name)
        if before is not None:
            before *= elsewhere
        change = "not in the table" if before is None else (
            f"{100 * (n / before - 1):+.1f} %")
        wrong = before is None or n > before * (1 + MORE)
        worse += wrong
        print(f"{'MORE' if wrong else 'ok':5} {name:28} {n:8,}  {change}")
    if only_print:
        return 0
    if fix:
        page.write_text(text[:found.start("body")] + table(counts)
                        + text[found.end("body"):], encoding="utf-8")
        print(f"{page}: written")
        return 0
    if worse:
        print(f"{worse} subjects take over {100 * MORE:.0f} % more instructions "
              "than docs/benchmarks.md says; if that is meant, "
              "test/bench/instructions --fix", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
