"""Whether two programs can be compared, and as what."""

from __future__ import annotations

from shardc.analysis.manual import is_all_per_device
from shardc.analysis.shown import unshown
from shardc.graph import Graph
from shardc.proof.batched import batched


def comparable(graph: Graph) -> Graph:
    """A program as it is compared: without what it shows, and with batching dimensions where it has them."""
    return batched(unshown(graph))


def incomparable(whole: Graph, local: Graph, manual: bool) -> str | None:
    """Why there is nothing to compare, if so. manual: a global program that is all per-device code is."""
    first, second = whole.main.body, local.main.body
    for values, others in ((first.args, second.args), (first.results, second.results)):
        if whole.types(values) != local.types(others):
            return "the programs take or give other types"
    if is_all_per_device(whole) and not manual:
        return "the program is per-device code, with nothing to compare it with; --against names a function"
    return None
