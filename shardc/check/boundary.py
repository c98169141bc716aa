"""What enters per-device code has the states of its in_shardings; what leaves must fit its out_shardings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.text import name_of, sharded_text
from shardc.check.site import CheckedOp
from shardc.check.state import REDUCERS, AxisParts, State
from shardc.diagnostics import ShardcError
from shardc.graph import Node, TensorType
from shardc.layout import Axis, Sharding, size_of, text_of
from shardc.ops import spmd


class Left(Struct, frozen=True):
    """How a value left per-device code: by an out_sharding, the blocks the `same` over axes of these names.

    Without check_vma a derivative of JAX's keeps as blocks of all axes also what is the same on all devices.
    """

    sharding: Sharding
    same: frozenset[str]


def entering(
    sharding: Sharding, outside: State, parts: AxisParts, manual: frozenset[str], left: Left | None = None
) -> State:
    """A block varies over the axes that split it, on top of what it does outside; other axes hold copies.

    What `left` other per-device code by the same sharding enters as the blocks that it was.
    """
    same = left.same if left is not None and left.sharding.dims == sharding.dims else frozenset[str]()
    split = parts.of(a for dim in sharding.dims for a in dim.axes if a.name in manual and a.name not in same)
    partial = parts.of(axis for axis in sharding.unreduced if axis.name in manual)
    kind = sharding.kind if partial else outside.kind
    return State(outside.varies | split, outside.partial | partial, kind)


def leaving(site: CheckedOp, node: Node, index: int) -> Left:
    """How the index-th value that `site` returns leaves; ShardcError unless it is what the out_sharding of
    `node` says."""
    sharding = cast(Sequence[Sharding], node.attrs["out_shardings"])[index]
    manual = frozenset(cast(Sequence[str], node.attrs["manual_axes"]))
    result = _Result(site, index, sharding, site.graph.type(node.results[index]), manual)
    result.check_kind()
    result.check_same()
    differs = {axis.name for axis in result.varies | result.partial}
    return Left(sharding, manual - differs)


class _Result:
    def __init__(
        self, site: CheckedOp, index: int, sharding: Sharding, type: TensorType, manual: frozenset[str]
    ) -> None:
        self.site, self.index, self.sharding, self.type = site, index, sharding, type
        self.state = site.states[index]
        parts = site.parts
        self.split = parts.of(axis for dim in sharding.dims for axis in dim.axes if axis.name in manual)
        self.declared = parts.of(axis for axis in sharding.unreduced if axis.name in manual)
        inside = parts.of(parts.mesh.axis(name) for name in parts.mesh.sizes if name in manual)
        self.varies, self.partial = self.state.varies & inside, self.state.partial & inside

    def check_kind(self) -> None:
        """Partial results are declared so, with their kind; whole values are not."""
        over, kind = self.site.parts.text, self.state.kind
        wrong = self.partial - self.declared
        if wrong & self.split:
            scatter = (
                f"psum_scatter over {over(wrong)}" if kind == "sum" else f"{REDUCERS[kind]} and take a block"
            )
            raise self.error(
                f"is split over {over(wrong)}", f"is a partial {kind} over {over(wrong)}", scatter + " first"
            )
        if wrong:
            raise self.error(
                f"is whole over {over(wrong)}",
                f"is a partial {kind} over {over(wrong)}",
                f"{REDUCERS[kind]} over {over(wrong)} first, or declare it partial({kind}: {over(wrong)})",
            )
        if self.partial and kind != self.sharding.kind:
            raise self.error(
                f"is partial({self.sharding.kind}: {over(self.declared)})",
                f"is a partial {kind} over {over(self.partial)}",
                f"declare it partial({kind}: {over(self.partial)})",
            )
        declared = self.declared - self.state.varies
        whole = [a for a in declared if not self.state.is_term(a, self.sharding.kind)]
        if whole:
            raise self.error(
                f"is partial(sum: {over(whole)})",
                f"is the same over {over(whole)}, so the sum counts it once per device",
                f"leave {over(whole)} out of partial(…)",
            )

    def check_same(self) -> None:
        """The value varies over no axis that the declared type does not name."""
        wrong = self.varies - self.split - self.declared
        if wrong:
            over = self.site.parts.text(wrong)
            raise self.error(f"is the same over {over}", f"varies over {over}", self.fix(wrong, over))

    def fix(self, wrong: frozenset[Axis], over: str) -> str:
        """What makes the value the same, or the type one that lets it vary."""
        maker = self.site.makers.get(self.site.node.operands[self.index])
        if maker is not None and maker.name == spmd.all_gather.name and self.gathered(maker) >= wrong:
            return 'all_gather(…, to="invarying") gives what is typed as the same'
        if not self.type.rank:
            joined = _dim_text(size_of(wrong), over.split(", "))
            return (
                f"psum over {over} first; a scalar cannot be split, but reshape(x, (1,)) can, as `{joined}`"
            )
        free = [i for i, dim in enumerate(self.sharding.dims) if not dim.axes]
        dim = free[-1] if free else self.type.rank - 1
        axes = [text_of(a, self.site.parts.mesh) for a in self.sharding.dims[dim].axes] + over.split(", ")
        local = self.site.graph.type(self.site.node.operands[self.index]).shape[dim]
        size = local * self.sharding.dims[dim].parts * size_of(wrong)
        return f"psum over {over} first, or return the blocks joined, as `{_dim_text(size, axes)}`"

    def gathered(self, maker: Node) -> frozenset[Axis]:
        return self.site.parts.of(cast(Sequence[Axis], maker.attrs["axes"]))

    def error(self, declared: str, found: str, hint: str) -> ShardcError:
        value = self.site.node.operands[self.index]
        name = name_of(self.site.graph.values[value].loc) or "the value"
        type = self.site.parts.type_text(self.site.graph.type(value), self.state)
        which = "the result" if len(self.site.node.operands) == 1 else f"result {self.index}"
        result = sharded_text(self.type, replace(self.sharding, unreduced=()))
        message = f"{which}, {result}, {declared}, but {name}: {type} {found}"
        made = self.site.graph.values[value].loc
        if made.file and made.file != self.site.loc.file:
            return ShardcError(message, made, hint)  # JAX's text says where in Python the value was made
        return self.site.error(message, hint)


def _dim_text(size: int, axes: Sequence[str]) -> str:
    if not axes:
        return str(size)
    return f"{size}@{axes[0]}" if len(axes) == 1 else f"{size}@({', '.join(axes)})"
