"""Reads and writes what an example says that it prints: the comment at the end of
its source.
"""

import re

OUTPUT = re.compile(r"\n/\* It prints:\n\n(.*)\*/\n\Z", re.DOTALL)


def expected_output(source):
    """What the text of a source says that it prints; None if it says nothing."""
    match = OUTPUT.search(source)
    return match and match[1]


def without_output(source):
    """The text of a source up to that comment."""
    return OUTPUT.sub("", source)


def with_output(source, printed):
    """The text of a source that says that it prints this."""
    return f"{without_output(source)}\n/* It prints:\n\n{printed}*/\n"
