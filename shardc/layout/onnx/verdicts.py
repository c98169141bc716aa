"""What is said of a specification: valid, invalid, unsupported, or not covered by the document."""

from __future__ import annotations

from shardc.layout.mesh import LayoutError


class Unsupported(LayoutError):
    """It may make sense, but the document lists the operation as unsupported, or this checker cannot tell."""


class NotCovered(LayoutError):
    """The document does not mention the operation."""


def verdict_of(error: LayoutError) -> str:
    """`unsupported`, `not covered by the document`, or else `invalid`."""
    if isinstance(error, Unsupported):
        return "unsupported"
    return "not covered by the document" if isinstance(error, NotCovered) else "invalid"
