"""Tokens, which order side effects, tuples, and transfers over channels: never checked, never split."""

from __future__ import annotations

from shardc.ops.definition import OpDef, Syntax, Trait
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.registry import define

create_token = define(
    OpDef(
        name="stablehlo.create_token",
        doc="`stablehlo.create_token : !stablehlo.token`.",
        syntax=Syntax((), ("output",), format="attr-dict `:` type(results)", tensors=False),
    )
)
after_all = define(
    OpDef(
        name="stablehlo.after_all",
        doc="`stablehlo.after_all %0, %1 : !stablehlo.token`: after all of these tokens.",
        syntax=Syntax(
            ("*inputs",),
            format="$inputs attr-dict `:` custom<TokenTypes>(type($inputs), type($result))",
            tensors=False,
        ),
    )
)
_TRANSFER = {"channel_handle": "channel", "is_host_transfer": "bool?", "source_target_pairs": "any?"}
send = define(
    OpDef(
        name="stablehlo.send",
        doc="Sends tensors over a channel.",
        traits=frozenset((Trait.EFFECT, Trait.KEPT, Trait.EXTERNAL)),
        syntax=Syntax(("*inputs",), attrs=_TRANSFER, tensors=False),
    )
)
recv = define(
    OpDef(
        name="stablehlo.recv",
        doc="Receives tensors over a channel.",
        traits=frozenset((Trait.EFFECT, Trait.KEPT, Trait.EXTERNAL)),
        syntax=Syntax(("token",), ("*outputs",), attrs=_TRANSFER, tensors=False),
    )
)
tuple_ = define(
    OpDef(
        name="stablehlo.tuple",
        doc="`stablehlo.tuple %0, %1 : tuple<tensor<4xf32>, tensor<f32>>`.",
        syntax=Syntax(
            ("*val",),
            format="$val attr-dict `:` custom<TupleOpType>(type($val), type($result))",
            tensors=False,
        ),
    )
)
get_tuple_element = define(
    OpDef(
        name="stablehlo.get_tuple_element",
        doc="`stablehlo.get_tuple_element %0[0] : (tuple<tensor<4xf32>>) -> tensor<4xf32>`.",
        syntax=Syntax(
            ("operand",),
            attrs={"index": "i32"},
            format=f"$operand `[` $index `]` attr-dict {FUNCTIONAL}",
            tensors=False,
        ),
    )
)
infeed = define(
    OpDef(
        name="stablehlo.infeed",
        doc="Reads tensors from the host.",
        traits=frozenset(
            (
                Trait.EFFECT,
                Trait.KEPT,
                Trait.EXTERNAL,
            )
        ),
        syntax=Syntax(
            ("token",), ("*outputs",), attrs={"infeed_config": "str?", "layout": "any?"}, tensors=False
        ),
    )
)
outfeed = define(
    OpDef(
        name="stablehlo.outfeed",
        doc="Writes tensors to the host.",
        traits=frozenset(
            (
                Trait.EFFECT,
                Trait.KEPT,
                Trait.EXTERNAL,
            )
        ),
        syntax=Syntax(("*inputs",), attrs={"outfeed_config": "str?"}, tensors=False),
    )
)
