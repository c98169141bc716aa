"""Whether two programs can be compared, and as what."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.analysis.manual import is_all_per_device
from shardc.analysis.shown import unshown
from shardc.graph import Graph, Node, walk
from shardc.proof.batched import batched
from shardc.proof.signless import signless
from shardc.semantics.lapack import is_known, options_of


def comparable(graph: Graph) -> Graph:
    """A program as it is compared: without what it shows and absolute values of what is never below zero, and
    with batching dimensions where it has them.
    """
    return signless(batched(unshown(graph)))


def incomparable(whole: Graph, local: Graph, manual: bool) -> str | None:
    """Why there is nothing to compare, if so. manual: a global program that is all per-device code is."""
    first, second = whole.main.body, local.main.body
    for values, others in ((first.args, second.args), (first.results, second.results)):
        if whole.types(values) != local.types(others):
            return "the programs take or give other types"
    if is_all_per_device(whole) and not manual:
        return "the program is per-device code, with nothing to compare it with; --against names a function"
    unknown = next(filter(None, map(_unknown, _operations(whole))), None)
    return None if unknown is None else f"what {unknown} computes is not known here"


def _operations(graph: Graph) -> Iterator[Node]:
    return (node for function in graph.functions.values() for node in walk(function.body))


def _unknown(node: Node) -> str | None:
    """The target of a call of something that has no kernel, as a function of the host."""
    target = node.attrs.get("call_target_name")
    known = target is None or is_known(str(target), options_of(node.attrs))
    return None if known else f"{node.name} @{target}"
