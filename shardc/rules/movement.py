"""Rules of operations that only move elements, or drop, repeat and add some."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, integer, ints
from shardc.rules.rule import FactorRule, Kind


def broadcast_in_dim(op: Op) -> FactorRule:
    """Dimension i of the operand becomes broadcast_dimensions[i]; a size 1 that grows has its own factor."""
    shape = op.operands[0].shape
    source = {out: dim for dim, out in enumerate(ints(op, "broadcast_dimensions"))}
    builder = RuleBuilder(op)
    for out, size in enumerate(op.results[0].shape):
        dim = source.get(out)
        if dim is not None and shape[dim] == 1 != size:
            builder.factor(1, {0: dim})
            dim = None
        builder.factor(size, {} if dim is None else {0: dim}, {0: out})
    return builder.build(linear=[[0]], monotone=[[0]])


def bitcast_convert(op: Op) -> FactorRule:
    """The bits as another dtype; wider to narrower adds a minor dimension, narrower to wider removes one."""
    source, target = op.operands[0].shape, op.results[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(min(source, target, key=len)):
        builder.along(dim, size)
    if len(source) < len(target):
        builder.factor(target[-1], results={0: len(target) - 1}, kind=Kind.REPLICATE, plain=False)
    elif len(source) > len(target):
        builder.factor(source[-1], {0: len(source) - 1}, kind=Kind.REPLICATE, plain=False)
    return builder.build()


def concatenate(op: Op) -> FactorRule:
    """The joined dimension has the result's size and must be whole.

    sdy makes it a permutation where the operands are slices, which an operation alone does not show.
    """
    joined = integer(op, "dimension", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size, Kind.REPLICATE if dim == joined else Kind.PASS)
    every = range(len(op.operands))
    return builder.build(linear=[every], monotone=[every])


def join(op: Op) -> FactorRule:
    """Slices of the operands, one after another: the joined dimension is permuted."""
    joined = integer(op, "dimension", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.results[0].shape):
        builder.along(dim, size, Kind.PERMUTATION if dim == joined else Kind.PASS)
    every = range(len(op.operands))
    return builder.build(linear=[every], monotone=[every])


def pad(op: Op) -> FactorRule:
    """The second operand is the padding. Padding that keeps the size (-1, 1) shifts, so it is not plain."""
    shape = op.operands[0].shape
    zeros = (0,) * len(shape)
    amounts = [ints(op, f"{part}_padding{side}", zeros) for part, side in _PADDING]
    builder = RuleBuilder(op)
    for dim, (size, padded) in enumerate(zip(shape, op.results[0].shape, strict=True)):
        if size == padded:
            builder.along(dim, size, plain=None if not any(a[dim] for a in amounts) else False)
        else:
            builder.along(dim, size, Kind.PERMUTATION)
    return builder.build(linear=[[0, 1]], monotone=[[0, 1]])


_PADDING = (("edge", "_low"), ("edge", "_high"), ("interior", ""))


def reverse(op: Op) -> FactorRule:
    """Reversed dimensions are permuted."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        builder.along(dim, size, Kind.PERMUTATION if dim in ints(op, "dimensions") else Kind.PASS)
    return builder.build(linear=[[0]], monotone=[[0]])


def slice_(op: Op) -> FactorRule:
    """Dimensions that lose elements are permuted; their factor has the operand's size."""
    builder = RuleBuilder(op)
    for dim, (size, kept) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        builder.along(dim, size, Kind.PASS if size == kept else Kind.PERMUTATION)
    return builder.build(linear=[[0]], monotone=[[0]])


def transpose(op: Op) -> FactorRule:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    builder = RuleBuilder(op)
    for out, dim in enumerate(ints(op, "permutation")):
        builder.factor(op.operands[0].shape[dim], {0: dim}, {0: out})
    return builder.build(linear=[[0]], monotone=[[0]])


def reshape(op: Op) -> FactorRule | None:
    """Both shapes are cut, major to minor, into common factors where they line up: 8x4 -> 2x16: ij,k -> i,jk.

    Where they don't, each side has its own factors until both products meet again. None for empty tensors.
    """
    if op.operands[0].size == 0:
        return None
    builder = RuleBuilder(op)
    source, target = _Side(op.operands[0].shape), _Side(op.results[0].shape)
    while not (source.done and target.done):
        if source.size == 1:
            builder.factor(1, {0: source.dim}, plain=False)
            source.dim += 1
        elif target.size == 1:
            builder.factor(1, results={0: target.dim}, plain=False)
            target.dim += 1
        else:
            _cut(builder, source, target)
    return builder.build(linear=[[0]], monotone=[[0]])


class _Side:
    """How far one shape has been cut: the dimension, what of it is taken, the product of all factors."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.dim = 0
        self.taken = 1
        self.product = 1

    @property
    def done(self) -> bool:
        return self.dim == len(self.shape)

    @property
    def size(self) -> int | None:
        return None if self.done else self.shape[self.dim]

    @property
    def left(self) -> int:
        return 1 if self.done else self.shape[self.dim] // self.taken

    def take(self, factor: int) -> dict[int, int]:
        """Cut off `factor`; which dimension it belongs to, as RuleBuilder.factor wants it."""
        dim = self.dim
        self.taken *= factor
        self.product *= factor
        if self.taken == self.shape[dim]:
            self.dim, self.taken = dim + 1, 1
        return {0: dim}


def _cut(builder: RuleBuilder, source: _Side, target: _Side) -> None:
    common = gcd(source.left, target.left)
    if source.product < target.product:
        own = _private(source, target, common)
        builder.factor(own, source.take(own), plain=False)
    elif source.product > target.product:
        own = _private(target, source, common)
        builder.factor(own, results=target.take(own), plain=False)
    elif common > 1:
        builder.factor(common, source.take(common), target.take(common))
    else:
        builder.factor(source.left, source.take(source.left), plain=False)
        builder.factor(target.left, results=target.take(target.left), plain=False)


def _private(behind: _Side, ahead: _Side, common: int) -> int:
    """A factor for the side behind: what makes the products meet, else what keeps `common` for later."""
    if ahead.product % behind.product == 0 and behind.left % (ahead.product // behind.product) == 0:
        return ahead.product // behind.product
    return behind.left // common if behind.left > common else behind.left


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "shardc.join": join,
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.concatenate": concatenate,
    "stablehlo.pad": pad,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": reverse,
    "stablehlo.slice": slice_,
    "stablehlo.transpose": transpose,
}
