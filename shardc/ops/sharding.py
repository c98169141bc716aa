"""What a program says of shardings: Shardy's meshes, annotations and barriers."""

from __future__ import annotations

from shardc.graph import TensorType
from shardc.layout import LayoutError, Mesh, Sharding, replicated
from shardc.ops import result_types as types
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.elementwise.rules import identity as passes
from shardc.ops.meanings import identity, nothing
from shardc.ops.movement.constant import constant as plain_constant
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp

_X = TensorType((8, 4), "f32")
_WHOLE = replicated(Mesh("pod", (("x", 4),)), 2)


def same_global(op: UntypedOp) -> Types:
    """The global type stays; the sharding, or out_sharding, must have its rank, unless it is one device."""
    operand = op.one()
    key = "sharding" if "sharding" in op.attrs else "out_sharding"
    sharding = op.get(key, Sharding)
    if sharding.rank != operand.rank and not sharding.mesh.is_maximal:
        raise op.error(f"has a sharding of rank {sharding.rank} for {operand}")
    try:
        sharding.check()
    except LayoutError as error:
        raise op.error(f"has a sharding that cannot be: {error}") from error
    return (operand,)


def _no_result(op: UntypedOp) -> Types:
    op.one()
    return ()


mesh = define(OpDef(name="sdy.mesh", doc='`sdy.mesh @pod = <["x"=4, "y"=2]>` names the axes of the devices.'))
sharding_constraint = define(
    OpDef(
        name="sdy.sharding_constraint",
        doc='`sdy.sharding_constraint %0 <@pod, [{"x"}, {?}]> : tensor<8x4xf32>`: the user\'s annotation.',
        infer=same_global,
        rule=passes,
        meaning=identity,
        traits=frozenset(
            (
                Trait.IDENTITY,
                Trait.ANNOTATION,
                Trait.KEPT,
            )
        ),
        example=of("sdy.sharding_constraint", [_X], _X, sharding=_WHOLE),
    )
)
reshard = define(
    OpDef(
        name="sdy.reshard",
        doc='`sdy.reshard %0 <@pod, [{}, {"x"}]> : tensor<8x4xf32>` moves a value to another sharding.',
        infer=same_global,
        rule=passes,
        meaning=identity,
        traits=frozenset((Trait.IDENTITY,)),
        example=of("sdy.reshard", [_X], _X, sharding=_WHOLE),
    )
)
propagation_barrier = define(
    OpDef(
        name="sdy.propagation_barrier",
        doc="`sdy.propagation_barrier %0 allowed_direction=FORWARD : …`: shardings pass only that way.",
        infer=types.same,
        meaning=identity,
        traits=frozenset(
            (
                Trait.IDENTITY,
                Trait.ANNOTATION,
                Trait.SAME_LAYOUT,
            )
        ),
        syntax=Syntax(
            ("input",),
            attrs={"allowed_direction": "direction"},
            format=(
                "$input `allowed_direction` `` `=` `` custom<Direction>($allowed_direction) attr-dict "
                "`:` custom<SameType>(type($input), type($result))"
            ),
        ),
    )
)
sharding_group = define(
    OpDef(
        name="sdy.sharding_group",
        doc="`sdy.sharding_group %0 group_id=1 : …`: all values of a group are sharded alike.",
        infer=_no_result,
        meaning=nothing,
        traits=frozenset(
            (
                Trait.ANNOTATION,
                Trait.KEPT,
            )
        ),
    )
)
data_flow_edge = define(
    OpDef(
        name="sdy.data_flow_edge",
        doc='`%2 = sdy.data_flow_edge %1#0 sharding=<@pod, [{"x"}]> : …`: what flows in is sharded so.',
    )
)
func_data_flow_edge = define(
    OpDef(
        name="sdy.func_data_flow_edge",
        doc="`%1 = sdy.func_data_flow_edge %0 : …`: how a function's argument or a call's result is sharded.",
    )
)
constant = define(
    OpDef(
        name="sdy.constant",
        doc="`sdy.constant dense<1.0> : tensor<4xf32>`: a constant that is not merged with others.",
        infer=plain_constant.infer,
        meaning=plain_constant.meaning,
        traits=frozenset((Trait.SOURCE,)),
    )
)
