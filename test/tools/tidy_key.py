#!/usr/bin/env python3
"""Prints a hash of all that clang-tidy reads when it checks a source.

  test/tools/tidy_key.py BUILD SOURCE [ARGUMENT...]

  BUILD     where CMake has configured, with Ninja
  SOURCE    what is checked
  ARGUMENT  with which arguments

That is the source and each file that it includes, the rules, the options of the
compiler, and the version of clang-tidy. Where the project is does not matter.
"""

import hashlib
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True

from built import ROOT, Built, without_output  # noqa: E402


def files_read(command, folder):
    """The source and what it includes, as the compiler says."""
    rule = subprocess.run([*command, "-M", "-o", "-"], cwd=folder,
                          capture_output=True, text=True, check=True)
    names = re.sub(r"\\\n", " ", rule.stdout).partition(":")[2].split()
    return sorted({str((folder / name).resolve()) for name in names})


def main(build, source, *arguments):
    folder = pathlib.Path(build).resolve()
    source = str((ROOT / source).resolve())
    command = without_output(Built(folder).commands[source])
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True,
                             text=True, check=True).stdout
    out = hashlib.sha256()

    def add(text):
        out.update(text.replace(str(ROOT), "").encode() + b"\0")

    add(version)
    add((ROOT / ".clang-tidy").read_text())
    for word in [*command, *arguments]:
        add(word)
    for name in files_read([*command, source], folder):
        add(name)
        add(pathlib.Path(name).read_text(errors="replace"))
    print(out.hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
