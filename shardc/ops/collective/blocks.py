"""What operations of per-device code have in common: their blocks, and their reductions' kinds."""

from __future__ import annotations

from collections.abc import Callable

from shardc.graph import Op, TensorType
from shardc.layout import Axis
from shardc.layout.sharding import KINDS
from shardc.ops.definition import FREE, Infer, Meaning, OpDef, RuleFunction, Spelling, Syntax, Trait, Work
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, pointwise
from shardc.ops.untyped import Types, UntypedOp

BLOCK = TensorType((8, 4), "f32")
GROUP = (Axis("x", 4),)
"""The operand of examples, and the axes of their groups."""


def per_device(
    name: str,
    infer: Infer,
    rule: RuleFunction,
    *,
    doc: str,
    attrs: dict[str, str] | None = None,
    result: TensorType | None = None,
    meaning: Meaning | None = None,
    sends: Callable[[int, int], int] | None = None,
    steps: Callable[[int], int] | None = None,
    traits: tuple[Trait, ...] = (),
    title: str | None = None,
    spelling: Spelling = Spelling(),
    work: Work = FREE,
    **example: object,
) -> OpDef:
    """An operation of one block; a collective if it sends. `example` are the attributes of its example."""
    return define(
        OpDef(
            name=name,
            doc=doc,
            infer=infer,
            rule=rule,
            meaning=meaning,
            traits=frozenset((Trait.ALONG_AXES, *traits, *((Trait.COLLECTIVE,) if sends else ()))),
            syntax=Syntax(("operand",), attrs={"axes": "text", **(attrs or {})}),
            sends=sends,
            steps=steps,
            title=title,
            spelling=spelling,
            work=work,
            example=Op(name, (BLOCK,), (BLOCK if result is None else result,), {"axes": GROUP, **example}),
        )
    )


def check_kind(op: UntypedOp) -> None:
    """Raise ShapeError unless the attribute `kind` is one that partial results have."""
    kind = op.get("kind", str)
    if kind not in KINDS:
        raise op.error(f"has no kind {kind}; the kinds are {', '.join(KINDS)}")


def grouped(op: UntypedOp) -> Types:
    """The operand's type; the operation names a group."""
    op.axes("axes")
    return (op.one(),)


def combined(op: UntypedOp) -> Types:
    """The operand's type; the operation names a group and a kind."""
    op.axes("axes")
    check_kind(op)
    return (op.one(),)


def resizing(op: Op, changed: tuple[int, ...], ordered: bool = True, linear: bool = True) -> FactorRule:
    """Every dimension passes through but the `changed` ones, which have a factor on either side.

    Several operands have one shape.

    `ordered`: maxima and minima pass too; `linear`: sums do.
    """
    operand, result = op.operands[0].shape, op.results[0].shape
    operands, results = range(len(op.operands)), range(len(op.results))
    builder = RuleBuilder(op)
    for dim, size in enumerate(operand):
        if dim not in changed:
            builder.along(dim, size)
    for dim in changed:
        builder.factor(operand[dim], dict.fromkeys(operands, dim), kind=Kind.REPLICATE)
        builder.factor(result[dim], results=dict.fromkeys(results, dim), kind=Kind.REPLICATE)
    return builder.build(linear=[operands] if linear else (), monotone=[operands] if ordered else ())


def moved(op: Op) -> FactorRule:
    """Blocks change devices, and who receives none has zeros: sums pass."""
    return pointwise(op, linear=[[0]])
