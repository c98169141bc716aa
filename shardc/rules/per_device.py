"""Rules of the spmd operations, for per-device code that is manual over some axes of the mesh only.

They say how the other axes may split a block: a collective along manual axes then runs on parts of blocks.
The dimensions whose size it changes stay whole: the parts of the larger one are no parts of the smaller.
"""

from __future__ import annotations

from collections.abc import Callable

from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, integer, pointwise
from shardc.rules.elementwise import identity
from shardc.rules.rule import FactorRule, Kind


def all_reduce(op: Op) -> FactorRule:
    """Elementwise over the devices; a sum of partial sums is one too, and so on."""
    if op.attrs["kind"] == "sum":
        return pointwise(op, linear=[[0]])
    return pointwise(op, max_only=[[0]]) if op.attrs["kind"] == "max" else pointwise(op, min_only=[[0]])


def permute(op: Op) -> FactorRule:
    """Who gets nothing has zeros, which is linear."""
    return pointwise(op, linear=[[0]])


def all_gather(op: Op) -> FactorRule:
    """The gathered dimension grows."""
    return _resizing(op, (integer(op, "dim", 0),))


def reduce_scatter(op: Op) -> FactorRule:
    """The scattered dimension shrinks."""
    dims = (integer(op, "dim", 0),)
    return _resizing(op, dims, ordered=False, linear=op.attrs["kind"] == "sum")


def all_to_all(op: Op) -> FactorRule:
    """One dimension shrinks and one grows; if they are the same, its parts change places."""
    dims = (integer(op, "split_dim", 0), integer(op, "concat_dim", 0))
    return _resizing(op, tuple(dict.fromkeys(dims)))


def to_partial(op: Op) -> FactorRule:
    """The other devices hold what changes nothing."""
    return pointwise(op, linear=[[0]] if op.attrs["kind"] == "sum" else [])


def axis_index(op: Op) -> FactorRule:
    """A number."""
    return pointwise(op)


def _resizing(op: Op, changed: tuple[int, ...], ordered: bool = True, linear: bool = True) -> FactorRule:
    """Every dimension passes through but the `changed` ones, which have a factor on either side."""
    operand, result = op.operands[0].shape, op.results[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(operand):
        if dim not in changed:
            builder.along(dim, size)
    for dim in changed:
        builder.factor(operand[dim], {0: dim}, kind=Kind.REPLICATE)
        builder.factor(result[dim], results={0: dim}, kind=Kind.REPLICATE)
    return builder.build(linear=[[0]] if linear else (), monotone=[[0]] if ordered else ())


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "spmd.all_gather": all_gather,
    "spmd.all_reduce": all_reduce,
    "spmd.all_slice": all_gather,
    "spmd.all_to_all": all_to_all,
    "spmd.as_partial": to_partial,
    "spmd.axis_index": axis_index,
    "spmd.collective_permute": permute,
    "spmd.reduce_scatter": reduce_scatter,
    "spmd.to_partial": to_partial,
    "spmd.vary": identity,
}
