"""The type of a value in per-device code: over which axes it varies, is the same, or is a partial result.

Over an axis that a state does not name the value is the same on all devices. Axes are held in parts, cut at
every sub-axis boundary that occurs in the code, so that sets of them can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph import Location, TensorType
from shardc.layout import Axis, Mesh, axis_named, merge, text_of

REDUCERS = {"sum": "psum", "max": "pmax", "min": "pmin"}
"""What ends a partial result of a kind."""


class State(Struct, frozen=True):
    """Axes over which a value varies, and axes over which each device holds a partial result, of one kind.

    `zero`: all elements are known to be 0, so the value is a partial sum of itself over any axis. `numbers`:
    of an integer computed from the device's number, the value at every mesh position, or one for all.
    """

    varies: frozenset[Axis] = frozenset()
    partial: frozenset[Axis] = frozenset()
    kind: str = "sum"
    zero: bool = False
    numbers: tuple[int, ...] | None = None

    def is_term(self, axis: Axis, kind: str) -> bool:
        """Whether the values along `axis` may be combined by `kind` into what is meant.

        A maximum or minimum of copies is the value itself; a sum of copies is not. Different blocks may be
        meant so, but must be declared to be (spmd.as_partial).
        """
        if axis in self.partial or self.zero:
            return True
        return axis not in self.varies and kind != "sum"


SAME = State()
"""A value that is the same on all devices."""


class AxisParts:
    """The mesh axes of some code, cut where its sub-axes begin and end. Axes of size 1 have no parts."""

    def __init__(self, mesh: Mesh, axes: Iterable[Axis], loc: Location) -> None:
        """ShardcError if sub-axes overlap without a common refinement."""
        self.mesh = mesh
        bounds = {name: {1, size} for name, size in mesh.axes}
        for axis in axes:
            bounds[axis.name] |= {axis.pre, axis.end}
        self._parts: dict[str, list[Axis]] = {}
        for name, cuts in bounds.items():
            pairs = list(pairwise(sorted(cuts)))
            for low, high in pairs:
                if high % low:
                    raise ShardcError(
                        f"parts of axis {name} end at {low} and {high} of {mesh.sizes[name]}: they overlap",
                        loc,
                    )
            self._parts[name] = [Axis(name, high // low, low) for low, high in pairs]

    def of(self, axes: Iterable[Axis]) -> frozenset[Axis]:
        """The parts of the axes."""
        return frozenset(part for axis in axes for part in self._parts[axis.name] if axis.contains(part))

    def named(self, texts: Iterable[str]) -> frozenset[Axis]:
        """The parts of axes written x or x:(pre)size."""
        return self.of(axis_named(text, self.mesh) for text in texts)

    @property
    def all(self) -> tuple[Axis, ...]:
        """Every part, in mesh order."""
        return tuple(part for parts in self._parts.values() for part in parts)

    def text(self, parts: Iterable[Axis]) -> str:
        """`i, j`, in mesh order."""
        joined = merge(sorted(parts, key=self.mesh.order))
        return ", ".join(text_of(axis, self.mesh) for axis in joined)

    def type_text(self, type: TensorType, state: State) -> str:
        """`f32[2, 32]{varies: i; partial sum: j}`, or `f32[2, 32]{same}`."""
        return f"{type}{{{self.state_text(state)}}}"

    def state_text(self, state: State) -> str:
        """`varies: i; partial sum: j`, or `same`."""
        said = [f"varies: {self.text(state.varies)}"] if state.varies else []
        said += [f"partial {state.kind}: {self.text(state.partial)}"] if state.partial else []
        return "; ".join(said) or "same"
