"""The border of a manual computation: its body does not see the manual axes.

Outside, a dimension's axes are manual ones and then free ones. Inside, only the free ones are left.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.manual import inside
from shardc.layout import Sharding


class Border(Struct, frozen=True):
    """One value that crosses the border.

    `outer` is its annotation outside. An argument's sharding is kept as the body sees it and is compared
    with operands outside (`inward`); a result's is kept as it is outside and is compared with what the body
    returns.
    """

    outer: Sharding
    manual_axes: frozenset[str]
    inward: bool

    def to_sources(self, sharding: Sharding | None) -> Sharding | None:
        """From the side where the value's sharding is kept to the other one."""
        if sharding is None:
            return None
        return self.outside(sharding) if self.inward else inside(sharding, self.manual_axes)

    def to_target(self, sharding: Sharding) -> Sharding:
        """Back again."""
        return inside(sharding, self.manual_axes) if self.inward else self.outside(sharding)

    def outside(self, sharding: Sharding) -> Sharding:
        """A sharding of the body with the value's manual axes before each dimension's own."""
        dims = tuple(
            replace(dim, axes=tuple(a for a in outer.axes if a.name in self.manual_axes) + dim.axes)
            for outer, dim in zip(self.outer.dims, sharding.dims, strict=True)
        )
        return replace(sharding, dims=dims, replicated=self.outer.replicated, unreduced=self.outer.unreduced)


def complete(sharding: Sharding, manual_axes: tuple[str, ...]) -> Sharding:
    """The annotation with every manual axis that it does not mention among its replicated axes."""
    named = {axis.name for axis in sharding.axes()}
    missing = tuple(sharding.mesh.axis(name) for name in manual_axes if name not in named)
    return replace(sharding, replicated=sharding.replicated + missing) if missing else sharding
