"""reshape: the same elements in row-major order."""

from __future__ import annotations

from math import gcd

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels


def _types(op: UntypedOp) -> Types:
    operand, result = op.one(), op.stated()
    if operand.size != result.size or operand.dtype != result.dtype:
        raise op.error(f"keeps elements and dtype, got {operand} to {result}")
    return (result,)


def _rule(op: Op) -> FactorRule:
    """Both shapes are cut, major to minor, into common factors where they line up: 8x4 -> 2x16: ij,k -> i,jk.

    Where they don't, each side has its own factors until both products meet again, and so has each of empty
    tensors.
    """
    builder = RuleBuilder(op)
    source, target = _Side(op.operands[0].shape), _Side(op.results[0].shape)
    if op.operands[0].size == 0:
        for dim, size in enumerate(source.shape):
            builder.factor(size, {0: dim}, plain=False)
        for dim, size in enumerate(target.shape):
            builder.factor(size, results={0: dim}, plain=False)
        return builder.build(linear=[[0]], monotone=[[0]])
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


reshape = define(
    OpDef(
        name="stablehlo.reshape",
        doc="`stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>`: row-major order kept.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.reshape, shape=True),
        traits=frozenset((Trait.MOVES, Trait.VIEW, Trait.EXCERPT)),
        syntax=Syntax(("operand",), format=f"operands attr-dict {FUNCTIONAL}"),
        example=of("stablehlo.reshape", [TensorType((8, 4), "f32")], TensorType((2, 4, 4), "f32")),
    )
)
