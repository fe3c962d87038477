"""Objects in which no invariant is checked, for test/mutants/run --alone."""

import itertools
import pathlib
import re
import subprocess
import tempfile
import threading

from built import Trouble, must_run, without_output

# See runtime/caisson/base/ensure.hpp.
DEFINE = "-DCAISSON_NO_ENSURE"
# Each round silences at least one more object.
MOST_ROUNDS = 100


def place_of(why):
    """In which file the invariant stands that was violated, such as
    caisson/base/window.hpp; None: none was."""
    found = re.search(r"invariant violated: .* at (\S+?):\d+(:|$)", why or "",
                      re.MULTILINE)
    return found and found[1]


class Once:
    """Values that several threads want, each made when it is wanted first."""

    def __init__(self):
        self.guard = threading.Lock()
        self.locks, self.values = {}, {}

    def get(self, key, make):
        with self.guard:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.values:
                self.values[key] = make()
            return self.values[key]


class Quiet:
    """Compiles what a program is linked from anew, once each, and only where an
    invariant hides what a test would see."""

    def __init__(self, build):
        self.build = build
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=build.scratch))
        self.numbers = itertools.count()
        self.objects = Once()
        self.parts = self.parts_of_objects()

    def parts_of_objects(self):
        """The files that each object is made of, named as in violations."""
        done = subprocess.run(["ninja", "-C", str(self.build.folder), "-t",
                               "deps"], capture_output=True, text=True)
        result, parts = {}, set()
        for line in done.stdout.splitlines():
            if line.startswith(" "):
                head, found, tail = line.rpartition("/caisson/")
                if found:
                    parts.add("caisson/" + tail)
            elif ": #deps" in line:
                parts = result[line.partition(":")[0]] = set()
        if not result:
            raise Trouble(f"ninja knows no objects of {self.build.folder}")
        return result

    def source_of(self, path):
        """What an object is compiled from."""
        found = re.search(rf"^build {re.escape(path)}: \S+ (\S+)",
                          self.build.ninja, re.MULTILINE)
        return str(self.build.folder / found[1]) if found else None

    def more(self, mutant, place, so_far):
        """Objects of the mutant's program that have the invariants of a file
        and are not silenced so far: those of libraries, then those of tests."""
        _, settings = self.build.rule(mutant.binary)
        libraries = [path for name in settings["LINK_LIBRARIES"].split()
                     if name.endswith(".a") and not name.startswith("/")
                     for path in self.build.rule(pathlib.Path(name).name)[0]]
        own = {self.build.file_of(source) for source in mutant.sources}
        for paths in (libraries, self.build.tests_of(mutant)):
            found = {path for path in paths
                     if path not in so_far and place in self.parts.get(path, ())
                     and self.source_of(path) not in own}
            if found:
                return found
        raise Trouble(f"an invariant in {place} is still checked")

    def object(self, path):
        """The object without invariants; compiled when it is wanted first."""
        return self.objects.get(path, lambda: self.compile(path))

    def compile(self, path):
        output = self.folder / f"{next(self.numbers)}.o"
        source = self.source_of(path)
        argv = self.build.quick(without_output(self.build.commands[source]))
        must_run([*argv, DEFINE, "-c", source, "-o", str(output)],
                 self.build.folder)
        return output
