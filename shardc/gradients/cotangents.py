"""Cotangents as they come together: in per-device code each with the axes it is still to be summed over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shardc.gradients.program import Program
from shardc.gradients.recording import Writer
from shardc.layout import Axis
from shardc.ops import hlo, spmd
from shardc.ops.derivatives.terms import Term

Pending = frozenset[Axis]
"""Axes over which the sum of what the devices have is the cotangent."""

NONE: Pending = frozenset()


class Cotangents:
    """What has come together so far for each value."""

    def __init__(self, program: Program, writer: Writer[Any]) -> None:
        self.program, self.writer = program, writer
        self._parts: dict[int, list[tuple[Any, Pending]]] = {}

    def add(self, value: int, cotangent: Any, pending: Pending = NONE) -> None:
        """One more term of a value's cotangent."""
        self._parts.setdefault(value, []).append((cotangent, pending))

    def has(self, value: int) -> bool:
        return value in self._parts

    def pending(self, value: int) -> Pending:
        """All axes that some term is still to be summed over."""
        return NONE.union(*(pending for _, pending in self._parts.get(value, [])))

    def waiting(self) -> list[int]:
        """The values whose cotangents nobody has taken yet."""
        return [*self._parts]

    def terms(self, value: int) -> Sequence[tuple[Any, Pending]]:
        """What has come together for a value."""
        return self._parts.get(value, ())

    def take(self, value: int) -> Any | None:
        """The whole cotangent; None if it is zero. One sum for all terms that are to be summed alike."""
        return self.take_up_to(value, NONE)

    def take_up_to(self, value: int, left: Pending) -> Any | None:
        """The same, but still to be summed over the axes `left`, which all terms are to be."""
        by_axes: dict[Pending, Any] = {}
        for term, pending in self._parts.pop(value, []):
            rest = pending - left
            by_axes[rest] = term if rest not in by_axes else self._sum(by_axes[rest], term)
        total: Any | None = None
        for rest, term in sorted(by_axes.items(), key=lambda item: -len(item[0])):
            whole = self.reduced(term, rest)
            total = whole if total is None else self._sum(total, whole)
        name = self.program.graph.values[value].loc.name
        if total is not None and name:
            self.writer.name([total], [name if name.startswith("d_") else f"d_{name}"])
        return total

    def take_pending(self, value: int, pending: Pending) -> Any | None:
        """The cotangent as a sum over these axes that is still to be made: whole terms count once."""
        total: Any | None = None
        for term, own in self._parts.pop(value, []):
            part = self.on_first(term, pending - own)
            total = part if total is None else self._sum(total, part)
        return total

    def take_common(self, value: int) -> tuple[Any | None, Pending]:
        """The cotangent summed as far as its terms differ, and the axes that are left."""
        common = shared(pending for _, pending in self._parts.get(value, []))
        return self.take_up_to(value, common), common

    def reduced(self, term: Any, axes: Pending) -> Any:
        """The sum over the devices along axes."""
        if not axes:
            return term
        return self.writer.one(spmd.all_reduce.name, term, axes=self.program.axes(axes), kind="sum")

    def on_first(self, term: Any, axes: Pending) -> Any:
        """The term on the first device along axes, and zero on the others."""
        if not axes:
            return term
        index = Term(self.writer, self.writer.one(spmd.axis_index.name, axes=self.program.axes(axes)))
        first, whole = index.compare("EQ", 0), Term(self.writer, term)
        here = first.broadcast(whole.shape, ()) if whole.shape else first
        return whole.where(here).v

    def _sum(self, a: Any, b: Any) -> Any:
        return self.writer.one(hlo.add.name, a, b)


def shared(pendings: Iterable[Pending]) -> Pending:
    """The axes that all of these have."""
    first, *rest = [*pendings] or [NONE]
    for other in rest:
        first = first & other
    return first


def zeros(writer: Writer[Any], program: Program, value: int) -> Any:
    """Zeros like a value."""
    type = program.graph.type(value)
    return Term(writer, None).filled(0.0, type).v
