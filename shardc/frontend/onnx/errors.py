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


MISFITS = (ArithmeticError, LookupError, TypeError, ValueError)
"""What arithmetic on shapes and attributes raises where they do not fit together."""


class Lost(Exception):
    """A body gives something that could not be made; why is among the problems already."""


class Invalid(Exception):
    """A node that is no ONNX: unknown attribute, missing input. The text says what."""
