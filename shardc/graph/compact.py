"""A graph whose values are numbered anew."""

from __future__ import annotations

from msgspec.structs import replace

from shardc.graph.program import Graph, Node, Region


def compact(graph: Graph) -> Graph:
    """The graph without values and functions that are not used; its nodes keep their ids.

    Values are numbered as a snapshot of the module numbers them: those in the regions of an operation before
    its results.
    """
    numbers: dict[int, int] = {}

    def number(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([numbers.setdefault(value, len(numbers)) for value in values])

    def of_region(region: Region) -> Region:
        return Region(number(region.args), [of_node(node) for node in region.nodes])

    def of_node(node: Node) -> Node:
        operands = tuple([numbers[value] for value in node.operands])
        regions = tuple([of_region(region) for region in node.regions])
        return replace(node, operands=operands, regions=regions, results=number(node.results))

    used = {function.name for function in (graph.main, *graph.called(graph.main.body))}
    functions = {
        name: replace(function, body=of_region(function.body))
        for name, function in graph.functions.items()
        if name in used
    }
    values = [replace(graph.values[old], id=new) for old, new in numbers.items()]
    return Graph(graph.meshes, functions, values)
