"""Per-device code within a program, and named parts of it."""

from __future__ import annotations

from shardc.layout import Sharding
from shardc.ops import result_types as types
from shardc.ops.definition import OpDef, Syntax, Trait
from shardc.ops.registry import define
from shardc.ops.untyped import Types, UntypedOp, types_text


def _manual(op: UntypedOp) -> Types:
    """What the program states, with a sharding for every operand and result."""
    results = types.stated(op)
    for what, held, key in (
        ("operands", op.operands, "in_shardings"),
        ("results", results, "out_shardings"),
    ):
        shardings = op.tuple_of(key, Sharding)
        if len(held) != len(shardings):
            raise op.error(
                f"has {len(held)} {what} ({types_text(held)}) and {len(shardings)} shardings for them"
            )
    return results


def _named(op: UntypedOp) -> Types:
    """What the body returns."""
    results = op.region_results[0] if op.region_results else types.stated(op)
    op.check_region(0, results)
    return results


return_ = define(
    OpDef(
        name="sdy.return",
        doc="`sdy.return %0 : tensor<4xf32>` ends a body.",
        infer=types.nothing,
        traits=frozenset((Trait.TERMINATOR,)),
        syntax=Syntax(("*values",), (), format="attr-dict ($values^ `:` type($values))?", tensors=False),
    )
)
named_computation = define(
    OpDef(
        name="sdy.named_computation",
        doc='`sdy.named_computation<"f">(%0) in_shardings=[…] out_shardings=[…] (%arg: …) {…} : …`.',
        infer=_named,
    )
)
manual_computation = define(
    OpDef(
        name="sdy.manual_computation",
        doc="JAX's shard_map: the body runs per device over the manual axes, on local blocks.",
        infer=_manual,
        traits=frozenset((Trait.REGION,)),
    )
)
