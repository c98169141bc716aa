"""Which values a region still needs: so that arrays are freed as soon as nothing will read them."""

from __future__ import annotations

from shardc.graph.program import Region, captured


def deaths(region: Region) -> list[list[int]]:
    """For every node of the region, those of the region's own values that no later node reads."""
    last = {value: index for index, node in enumerate(region.nodes) for value in node.results}
    last |= dict.fromkeys(region.args, 0)
    for index, node in enumerate(region.nodes):
        for value in (*node.operands, *captured(node)):
            if value in last:
                last[value] = index
    dying: list[list[int]] = [[] for _ in region.nodes]
    for value, index in last.items():
        dying[index].append(value)
    return dying
