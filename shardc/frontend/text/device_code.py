"""Per-device code while it is being written: over which axes its values differ, which gradients need to know.

A loop's carried values are taken to be as they start; where a gradient relied on that, the end of a turn is
checked.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from xdsl.ir import Block, SSAValue

from shardc.check.regions import StatesSoFar
from shardc.check.state import SAME, AxisParts, State
from shardc.diagnostics import Location, ShardcError
from shardc.dialects.snapshot import OpenReader
from shardc.frontend.text.builder import SourceBuilder
from shardc.layout import Mesh, Sharding


class _Frame(Struct):
    """A body that is being built: its arguments, and what they have been given."""

    block: Block
    args: Sequence[SSAValue]
    given: Sequence[SSAValue] | None = None
    shardings: Sequence[Sharding] | None = None
    trusted: bool = False


class DeviceStates(Struct, frozen=True):
    """Over which axes values differ, in code that is manual over `axes`."""

    parts: AxisParts
    axes: frozenset[str]
    states: list[State]


class DeviceCode(Struct):
    """The bodies that are open, outermost first; none outside of per-device code."""

    builder: SourceBuilder
    frames: list[_Frame] = []
    mesh: Mesh | None = None
    axes: tuple[str, ...] = ()
    _outer: list[tuple[list[_Frame], Mesh | None, tuple[str, ...]]] = []

    def enter(
        self, mesh: Mesh, axes: tuple[str, ...], args: Sequence[SSAValue], shardings: Sequence[Sharding]
    ) -> None:
        """Begin the body of a @shard_map function."""
        self._outer.append((self.frames, self.mesh, self.axes))
        self.frames, self.mesh, self.axes = [_Frame(self.builder.place, args, None, shardings)], mesh, axes

    def leave(self) -> None:
        """It has ended."""
        self.frames, self.mesh, self.axes = self._outer.pop()

    @contextmanager
    def region(self, args: Sequence[SSAValue], given: Sequence[SSAValue] | None) -> Generator[None]:
        """A region of an operation, or a function that is built for a gradient."""
        if self.mesh is None:
            yield
            return
        self.frames.append(_Frame(self.builder.place, args, given))
        try:
            yield
        finally:
            self.frames.pop()

    def states(self, values: Sequence[SSAValue]) -> DeviceStates | None:
        """Over which axes values differ at this place; None where the code is not per device."""
        if self.mesh is None:
            return None
        for frame in self.frames:
            frame.trusted = True
        return self._states(values)

    def _states(self, values: Sequence[SSAValue]) -> DeviceStates:
        assert self.mesh is not None
        reader = OpenReader(self.builder.module, self.mesh)
        regions = [reader.region(frame.args, frame.block) for frame in self.frames]
        shardings = self.frames[0].shardings or ()
        found = StatesSoFar(reader.graph, self.mesh, frozenset(self.axes), shardings, regions)
        for frame, region in zip(self.frames, regions, strict=True):
            if frame.shardings is not None:
                states = found.entering(frame.shardings)
            elif frame.given is not None:
                states = [found.states.get(reader.number(v), SAME) for v in frame.given]
            else:
                states = [SAME] * len(frame.args)
            found.region(region, states)
        return DeviceStates(
            found.parts, frozenset(self.axes), [found.states.get(reader.number(v), SAME) for v in values]
        )

    def check_turn(self, loc: Location, results: Sequence[SSAValue]) -> None:
        """ShardcError if a turn of a loop, in which a gradient was taken, ends with what differs more."""
        if self.mesh is None or not self.frames or not self.frames[-1].trusted:
            return
        args = self.frames[-1].args
        if self.frames[-1].given is None or len(args) != len(results):
            return
        found = self._states([*args, *results])
        pairs = zip(args, found.states, found.states[len(args) :], strict=False)
        for arg, before, after in pairs:
            more = after.varies - before.varies
            if more:
                name, over = arg.name_hint or "a carried value", found.parts.text(more)
                raise ShardcError(
                    f"{name} is the same over {over} before the loop and differs there after a turn,"
                    " in which a gradient is taken",
                    loc,
                    f'start with pcast({name}, {over}, to="varying")',
                )
