"""Reads how CMake and Ninja have built something, for tools that build a part of
it anew with another version of a source."""

import functools
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Trouble(Exception):
    """Something is not as it must be."""


class Built:
    """The commands of a build. `folder` is where it is; nothing is written
    there. Sources are named as seen from the root of the project."""

    def __init__(self, folder):
        self.folder = folder
        try:
            commands = (folder / "compile_commands.json").read_text()
            self.ninja = (folder / "build.ninja").read_text()
        except OSError as e:
            raise Trouble(f"{e.filename} is missing; test/run makes it") \
                from None
        self.commands = {c["file"]: shlex.split(c["command"])
                         for c in json.loads(commands)}
        # Of several sources that are compiled as one: the file that includes
        # them.
        self.joined = {source: file for file in self.commands
                       for source in included_by(file)}

    def command(self, source):
        """How the source, or what it is joined with, is compiled: words without
        -c, -o and the names after them."""
        whole = str(ROOT / source)
        command = self.commands.get(self.joined.get(whole, whole))
        if command is None:
            raise Trouble(f"{source} is not in compile_commands.json")
        return without_output(command)

    def compiler(self, source):
        """What compiles the source, without a cache before it."""
        return next(word for word in self.command(source)
                    if not word.endswith("ccache"))

    @functools.cache
    def rule(self, program):
        """How a program is linked: its inputs, and Ninja's settings."""
        found = re.search(
            rf"^build (\S*/)?{program}: \S+ (?P<inputs>[^|\n]*).*\n"
            r"(?P<settings>(?:  .*\n)*)", self.ninja, re.MULTILINE)
        if not found:
            raise Trouble(f"there is no program {program} in build.ninja")
        return found["inputs"].split(), dict(
            re.findall(r"^  (\w+) = (.*)$", found["settings"], re.MULTILINE))

    def link(self, compiler, objects, settings, program):
        """Links the objects with the libraries of the settings. The objects
        take the place of their twins in the libraries, as they come first."""
        must_run([*compiler,
                  *shlex.split(settings.get("FLAGS", "")),
                  *shlex.split(settings.get("LINK_FLAGS", "")),
                  *map(str, objects),
                  *shlex.split(settings.get("LINK_PATH", "")),
                  *shlex.split(settings["LINK_LIBRARIES"]),
                  "-o", str(program)], self.folder)


def included_by(file):
    """The sources that the file of caisson_join includes, if it is one."""
    file = pathlib.Path(file)
    if file.parent.name != "joined":
        return []
    return [str(ROOT / source) for source in re.findall(
        r'^#include "(.+)"$', file.read_text(), re.MULTILINE)]


def without_output(argv):
    """The command without -c, -o and the names after them."""
    result, skip = [], False
    for word in argv:
        if skip or word in ("-c", "-o"):
            skip = not skip
        else:
            result.append(word)
    return result


def must_run(argv, folder):
    """Runs a compiler or linker; the trouble is its first error."""
    result = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines()
                 if "error" in line] or result.stderr.splitlines()
        raise Trouble(f"{pathlib.Path(argv[0]).name}: {lines[0]}" if lines
                      else f"{argv[0]} failed")
