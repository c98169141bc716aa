"""Changes of a global value's layout, each of which becomes one collective: Shardy's.

`%1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@pod, [{}, {}]> : tensor<8x4xf32>`
changes where the blocks lie, and the type stays.
"""

from __future__ import annotations

from shardc.ops.definition import OpDef, Syntax, Trait
from shardc.ops.meanings import identity
from shardc.ops.registry import define
from shardc.ops.sharding import same_global

_SAME_TYPE = "`:` custom<SameType>(type($input), type($result))"
_TAIL = f"$input `out_sharding` `` `=` `` $out_sharding attr-dict {_SAME_TYPE}"


def _change(name: str, key: str | None, kind: str, doc: str, reduces: bool = False) -> OpDef:
    """A change; attribute `key` lists its axes. Before them may stand what one that `reduces` combines by."""
    words = f"custom<Reduction>($reduction_op) ${key}" if reduces else f"${key}"
    return define(
        OpDef(
            name=name,
            doc=doc,
            infer=same_global,
            meaning=identity,
            traits=frozenset((Trait.GLOBAL_COLLECTIVE, Trait.IDENTITY)),
            syntax=Syntax(
                ("input",),
                attrs={
                    **({key: kind} if key else {}),
                    **({"reduction_op": "str?"} if reduces else {}),
                    "out_sharding": "sharding",
                },
                format=f"{words} {_TAIL}" if key else _TAIL,
            ),
        )
    )


all_gather = _change(
    "sdy.all_gather",
    "gathering_axes",
    "axis_lists",
    '`[{"x"}, {}]`: these axes, the minor ones of each dimension, no longer split it.',
)
all_slice = _change(
    "sdy.all_slice",
    "slicing_axes",
    "axis_lists",
    '`[{"x"}, {}]`: these axes split each dimension further; nothing is sent.',
)
all_to_all = _change(
    "sdy.all_to_all",
    "params",
    "all_to_all_params",
    '`[{"x"}: 0->1]`: axes move from the end of one dimension to the end of another.',
)
collective_permute = _change("sdy.collective_permute", None, "", "Blocks of one shape change places.")
all_reduce = _change(
    "sdy.all_reduce",
    "reduction_axes",
    "axes",
    '`{"x"}` or `max {"x"}`: the partial results over these axes are combined.',
    reduces=True,
)
reduce_scatter = _change(
    "sdy.reduce_scatter",
    "reduce_scatter_axes",
    "axis_lists",
    '`[{"x"}, {}]` or `max [{"x"}, {}]`: combined and split along a dimension in one step.',
    reduces=True,
)
sharded_to_unreduced = _change(
    "sdy.sharded_to_unreduced",
    "axes",
    "axis_lists",
    '`[{"x"}, {}]`: instead of a block each device holds the tensor, zero outside its block.',
)
replicated_to_unreduced = _change(
    "sdy.replicated_to_unreduced",
    "axes",
    "axes",
    '`{"x"}`: one device keeps the value, the others hold zeros.',
)
