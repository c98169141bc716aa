"""rng_bit_generator: random bits that follow from a state, and the next state."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import COMPUTES, OpDef, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import random_bits
from shardc.semantics.arrays import Array, Body

_STATE = TensorType((2,), "u64")


def _types(op: UntypedOp) -> Types:
    state = op.one()
    if op.given is None or len(op.given) != 2:
        raise op.error("cannot infer its result types: state both (result=)")
    return (state, op.given[1])


def _rule(op: Op) -> FactorRule:
    """State -> state, bits. Sharded bits would be the same bits on every device, so they are not plain."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        builder.factor(size, {0: dim}, {0: dim}, Kind.REPLICATE, blocked=True)
    for dim, size in enumerate(op.results[1].shape):
        builder.factor(size, results={1: dim}, plain=False)
    return builder.build()


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    algorithm, bits = str(op.attrs["rng_algorithm"]), op.results[1]
    return random_bits.rng_bit_generator(
        arrays[0], rng_algorithm=algorithm, shape=bits.shape, dtype=bits.numpy
    )


rng_bit_generator = define(
    OpDef(
        name="stablehlo.rng_bit_generator",
        doc="`%state, %bits = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (…) -> (…)`.",
        infer=_types,
        rule=_rule,
        meaning=_meaning,
        work=COMPUTES,
        traits=frozenset((Trait.RANDOM,)),
        syntax=Syntax(
            ("initial_state",),
            ("output_state", "output"),
            attrs={"rng_algorithm": "rng_algorithm"},
            format=f"$initial_state `,` `algorithm` `=` $rng_algorithm attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.rng_bit_generator",
            [_STATE],
            _STATE,
            TensorType((8, 4), "u32"),
            rng_algorithm="THREE_FRY",
        ),
    )
)
