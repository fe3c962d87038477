#!/usr/bin/env python3
"""Writes the man pages of a command from what it says with --help.

  cmake/packaging/man_pages.py COMMAND VERSION OUT_DIR

Writes NAME.1, and NAME-SUBCOMMAND.1 of each of its subcommands, with what these have
again. Fails if a help text is not of the form that it knows.
"""

import pathlib
import re
import subprocess
import sys


def help_of(command, words):
    done = subprocess.run([command, *words, "--help"], text=True, check=True,
                          capture_output=True)
    return done.stdout.rstrip("\n").split("\n")


class Help:
    """The parts of a help text."""

    def __init__(self, lines):
        self.about, self.usage, self.sections, self.notes = [], "", {}, []
        target = self.about
        for line in lines:
            head = re.fullmatch(r"([A-Z][a-z]+):", line)
            if line.startswith("Usage: "):
                self.usage = line.removeprefix("Usage: ")
                target = self.notes
            elif head:
                target = self.sections.setdefault(head[1], [])
            elif line and not line.startswith(" ") and self.usage:
                target = self.notes
                target.append(line)
            else:
                target.append(line)
        if not self.usage:
            raise SystemExit(f"there is no usage in: {lines[:3]}")

    def entries(self, section):
        """Pairs of a name and its description."""
        found = []
        for line in filter(None, self.sections.get(section, [])):
            begins = re.match(r"  (\S.*)", line)
            if begins:
                name, _, text = (begins[1].partition("  ")
                                 if "  " in begins[1]
                                 else (begins[1], "", ""))
                # What CLI11 says of all arguments.
                name = re.sub(r" (TEXT|REQUIRED)\b", "", name)
                found.append([name, text.strip()])
            elif found:
                found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
            else:
                raise SystemExit(f"{section}: no option before: {line}")
        return found

    def subcommands(self):
        return [name.split(",")[0] for name, _ in self.entries("Subcommands")]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def paragraphs(lines):
    return [" ".join(x.split("\n")) for x in
            re.split(r"\n{2,}", "\n".join(lines).strip()) if x]


def option_list(entries):
    out = []
    for name, text in entries:
        out += [".TP", f".B {escaped(name.replace(',', ', '))}",
                escaped(text) if text else "\\&"]
    return out


def body(text, level):
    """What options, arguments and subcommands there are."""
    out = []
    for section in ("Positionals", "Options", "Subcommands"):
        entries = text.entries(section)
        if entries:
            title = "Arguments" if section == "Positionals" else section
            out += [f".{level} {title.upper() if level == 'SH' else title}"]
            out += option_list(entries)
    return out


def page(command, words, version):
    text = Help(help_of(command, words))
    name = "-".join([pathlib.Path(command).name, *words])
    about = paragraphs(text.about)
    summary = about[0].rstrip(".")
    if words:
        summary = summary[0].lower() + summary[1:]
    out = [f'.TH {name.upper()} 1 "" "caisson {version}" "Caisson"',
           ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}",
           ".SH SYNOPSIS", f".B {escaped(text.usage)}"]
    if about[1:]:
        out += [".SH DESCRIPTION"]
        for x in about[1:]:
            out += [".PP", escaped(x)]
    out += body(text, "SH")
    if words:
        for verb in text.subcommands():
            of_verb = Help(help_of(command, [*words, verb]))
            out += [f".SH {escaped(' '.join([*words, verb]))}",
                    *map(escaped, paragraphs(of_verb.about)),
                    ".PP", f".B {escaped(of_verb.usage)}",
                    *body(of_verb, "SS")]
    status = []
    notes = []
    for x in paragraphs(text.notes):
        head, colon, rest = x.partition("Exit status: ")
        (status if colon and not head else notes).append(rest or x)
    if notes:
        out += [".SH NOTES"]
        for x in notes:
            out += [".PP", escaped(x)]
    for title in ("Example", "Examples"):
        if title in text.sections:
            out += [".SH EXAMPLES", ".nf",
                    *(escaped(x.removeprefix("  "))
                      for x in text.sections[title] if x), ".fi"]
    for x in status:
        out += [".SH EXIT STATUS", escaped(x)]
    subcommands = [] if words else text.subcommands()
    related = ([f"{name}-{x}" for x in subcommands] if not words
               else [pathlib.Path(command).name])
    if related:
        out += [".SH SEE ALSO",
                ",\n".join(f".BR {escaped(x)} (1)" for x in related)
                .replace("(1),", "(1),")]
    return name, "\n".join(out) + "\n", subcommands


def main():
    if len(sys.argv) != 4 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if sys.argv[1:2] == ["--help"] else 2
    command, version, directory = sys.argv[1:]
    out = pathlib.Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    name, text, subcommands = page(command, [], version)
    (out / f"{name}.1").write_text(text)
    for sub in subcommands:
        name, text, _ = page(command, [sub], version)
        (out / f"{name}.1").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
