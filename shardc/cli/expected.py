"""-verify-diagnostics: compares what was said with comments in the input, as MLIR's tools do.

    // expected-error@+1 {{a text that is part of the message}}
    // expected-warning @below {{…}}     // expected-error-re {{has {{[0-9]+}} dims}}

A comment is about its own line; @+N, @-N, @above, @below point to others, @unknown to none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from shardc.diagnostics import Diagnostic

_COMMENT = re.compile(
    r"expected-(error|warning|note|remark)(-re)? *(?:@([+-]\d+|above|below|unknown))? *\{\{(.*)\}\}\s*$"
)


class Expected(Struct, frozen=True):
    """One comment: what is to be said, where (0: anywhere), and a pattern that the message must contain."""

    severity: str
    line: int
    pattern: str

    def fits(self, said: Diagnostic) -> bool:
        return (
            said.severity == self.severity
            and self.line in (0, said.loc.line)
            and re.search(self.pattern, said.message) is not None
        )


def expected_in(text: str) -> Iterator[Expected]:
    """The comments of a text, at most one to a line."""
    for number, line in enumerate(text.split("\n"), 1):
        found = _COMMENT.search(line)
        if found:
            severity, regex, place, body = found.groups(default="")
            pattern = _pattern(body) if regex else re.escape(body)
            yield Expected(severity, _line(number, place), pattern)


def problems(text: str, said: Sequence[Diagnostic]) -> list[str]:
    """What was expected and not said, and what was said and not expected. Notes are not looked at."""
    left = list(said)
    found: list[str] = []
    for expected in expected_in(text):
        match = next((diagnostic for diagnostic in left if expected.fits(diagnostic)), None)
        if match is not None:
            left.remove(match)
        elif expected.severity in ("error", "warning"):
            found.append(
                f"line {expected.line}: expected {expected.severity} was not said: {expected.pattern}"
            )
    return found + [f"not expected: {diagnostic}" for diagnostic in left]


_PLACES = {"": 0, "above": -1, "below": 1}


def _line(number: int, place: str) -> int:
    if place == "unknown":
        return 0
    return number + (_PLACES[place] if place in _PLACES else int(place))


def _pattern(body: str) -> str:
    """A text in which {{…}} stands for a regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", body)
    return "".join(part if number % 2 else re.escape(part) for number, part in enumerate(parts))
