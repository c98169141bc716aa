"""What a variable is called whose value has no name in the source: after the operation that makes it."""

from __future__ import annotations

from shardc.backend.python import idiom
from shardc.graph import Node
from shardc.ops import hlo, spmd

_NOUNS = {
    "block": (spmd.all_slice, spmd.reduce_scatter),
    "chosen": (hlo.select,),
    "exchanged": (spmd.all_to_all,),
    "exps": (hlo.exponential,),
    "gathered": (spmd.all_gather,),
    "joined": (hlo.concatenate,),
    "mask": (hlo.compare,),
    "ordered": (hlo.sort,),
    "part": (hlo.dynamic_slice, hlo.slice_),
    "places": (hlo.iota,),
    "position": (spmd.axis_index,),
    "product": (hlo.dot_general, idiom.einsum),
    "received": (spmd.collective_permute,),
    "reduced": (hlo.reduce, idiom.keepdims),
    "rows": (hlo.gather, idiom.take),
    "table": (hlo.constant,),
    "total": (spmd.all_reduce,),
}
_BY_NAME = {definition.name: text for text, definitions in _NOUNS.items() for definition in definitions}


def noun(node: Node | None) -> str:
    """The variable for a result of the node; `t` where no noun says more."""
    return "t" if node is None else _BY_NAME.get(node.name, "t")
