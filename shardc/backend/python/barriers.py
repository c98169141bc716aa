"""Optimization barriers, one for each set of axes that values vary over.

JAX takes all results of one to vary over what any operand does, and would not believe that the others are the
same on all devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from shardc.graph import Node, Region
from shardc.ops import Trait, has, hlo

Varying = Mapping[int, frozenset[str]]


def divide_barriers(region: Region, varying: Varying) -> Region:
    """The region with its barriers divided, and those of the regions in it; the given one stays as it is."""
    return Region(region.args, [part for node in region.nodes for part in _parts(node, varying)])


def _parts(node: Node, varying: Varying) -> Iterator[Node]:
    if has(node.name, Trait.REGION):
        yield replace(node, regions=tuple(divide_barriers(region, varying) for region in node.regions))
    elif node.name != hlo.optimization_barrier.name:
        yield node
    else:
        axes = [varying.get(value, frozenset[str]()) for value in node.operands]
        for one in dict.fromkeys(axes):
            chosen = [i for i, other in enumerate(axes) if other == one]
            yield replace(
                node,
                operands=tuple(node.operands[i] for i in chosen),
                results=tuple(node.results[i] for i in chosen),
            )
