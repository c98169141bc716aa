"""One block of the group for all of its devices.

Emitted code says `psum` of that block and of zeros, which JAX's documentation gives as the meaning of
`lax.pbroadcast`: jax 0.10.2 has pbroadcast on GPUs only, and never types its result as equal on all devices.
So a device sends what it sends for an all-reduce.
"""

from __future__ import annotations

from shardc.layout.axes import size_of
from shardc.ops.collective.all_reduce import all_reduce
from shardc.ops.collective.blocks import per_device
from shardc.ops.definition import Spelling
from shardc.ops.elementwise.rules import identity as passes
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    root, count = op.integer("root"), size_of(op.axes("axes"))
    if not 0 <= root < count:
        raise op.error(f"has root {root}, which is none of the {count} positions")
    return (op.one(),)


collective_broadcast = per_device(
    "spmd.collective_broadcast",
    _types,
    passes,
    title="broadcast",
    doc="Gives the block of position `root` to every device of the group.",
    attrs={"root": "int"},
    sends=all_reduce.sends,
    steps=all_reduce.steps,
    root=0,
    spelling=Spelling(called="pbroadcast"),
)
