"""What stops one node; lowering.py collects these and reports them together."""

from __future__ import annotations


class Unsupported(Exception):
    """An operator, or this form of it, has no lowering. The text says what."""


class Dynamic(Exception):
    """A shape depends on data: the value of `name` would have to be known while compiling."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{why} {name}")
        self.name = name
        self.why = why


class Invalid(Exception):
    """A node that is no ONNX: unknown attribute, missing input. The text says what."""
