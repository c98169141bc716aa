"""rng: random numbers that follow from no key, so that no two devices would agree on them."""

from __future__ import annotations

from shardc.graph.types import TensorType
from shardc.ops.definition import COMPUTES, OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp

_BOUND = TensorType((), "f32")


def _types(op: UntypedOp) -> Types:
    low, high, shape = op.arity(3)
    if low != high or low.rank or shape.rank != 1:
        raise op.error(f"needs two scalars and a shape, got {low}, {high} and {shape}")
    result = op.stated()
    if result.dtype != low.dtype or result.rank != shape.shape[0]:
        raise op.error(f"of {low} with a shape of {shape.shape[0]} sizes cannot give {result}")
    return (result,)


rng = define(
    OpDef(
        name="stablehlo.rng",
        doc="`stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (…) -> …`.",
        infer=_types,
        work=COMPUTES,
        traits=frozenset(
            (
                Trait.RANDOM,
                Trait.EFFECT,
                Trait.KEPT,
            )
        ),
        syntax=Syntax(
            ("a", "b", "shape"),
            attrs={"rng_distribution": "rng_distribution"},
            format=f"$a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.rng",
            [_BOUND, _BOUND, TensorType((2,), "i64")],
            TensorType((8, 4), "f32"),
            rng_distribution="UNIFORM",
        ),
    )
)
