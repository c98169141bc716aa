"""After propagation: copies of constants that came out alike are one again.

Only copies that differ in their shardings, or in those of what they are computed from, stay.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Node, Region, walk
from shardc.ops import func, sdy
from shardc.propagation.editing import Editor


class Renumbering(Struct, frozen=True):
    """Old -> new ids of the nodes and values that preparation had made and that stay."""

    nodes: dict[int, int]
    values: dict[int, int]


def merge_constants(editor: Editor, found: Callable[[int], object]) -> Renumbering:
    """Let uses of equal copies use one, drop the others, and number new nodes and values densely again.

    `found` tells what was found for a value.
    """
    same = _same_values(editor, found)
    for function in editor.graph.functions.values():
        _use(function.body, same, editor)
    return _renumber(editor)


def _same_values(editor: Editor, found: Callable[[int], object]) -> dict[int, int]:
    """The results of copies that are not needed -> those of the node to use instead."""
    families: dict[int, list[Node]] = {original: [] for original in editor.copies.values()}
    nodes = [node for function in editor.graph.functions.values() for node in walk(function.body)]
    for node in nodes:
        if node.id in editor.copies and node.name != func.call.name:
            families[editor.copies[node.id]].append(node)
    same: dict[int, int] = {}
    for original in nodes:
        known: dict[object, Node] = {}
        for node in [original, *families[original.id]] if original.id in families else ():
            operands = tuple(same.get(operand, operand) for operand in node.operands)
            first = known.setdefault((operands, *map(found, node.results)), node)
            if first is not node:
                same.update(zip(node.results, first.results, strict=True))
    return same


def _use(region: Region, same: dict[int, int], editor: Editor) -> None:
    kept: list[Node] = []
    for node in region.nodes:
        if node.id in editor.copies and (_any(node.results, same) or _any(node.operands, same, node)):
            del editor.copies[node.id]
            continue
        if _any(node.operands, same):
            node.operands = tuple(same.get(operand, operand) for operand in node.operands)
        for inner in node.regions:
            _use(inner, same, editor)
        kept.append(node)
    region.nodes[:] = kept


def _any(values: tuple[int, ...], same: dict[int, int], group: Node | None = None) -> bool:
    """Whether one of the values is not needed; with `group`, only if that node is a sharding group's."""
    if group is not None and group.name != sdy.sharding_group.name:
        return False
    return any(value in same for value in values)


def _renumber(editor: Editor) -> Renumbering:
    """Close the gaps in the ids of new nodes and values."""
    graph = editor.graph
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    new = {node.id: node for node in editor.added} | {n.id: n for n in nodes if n.id in editor.copies}
    numbers: dict[int, int] = {}
    values: dict[int, int] = {}
    next_node, next_value = editor.first_node, editor.first_value
    copies: dict[int, int] = {}
    for node in (new[number] for number in sorted(new)):
        if node.id in editor.copies:
            copies[next_node] = editor.copies[node.id]
        numbers[node.id] = next_node
        node.id, next_node = next_node, next_node + 1
        for value in node.results:
            values[value], next_value = next_value, next_value + 1
    editor.copies = copies
    kept = [replace(graph.values[old], id=number) for old, number in values.items()]
    graph.values[editor.first_value :] = kept
    for node in nodes:
        node.operands = tuple(values.get(operand, operand) for operand in node.operands)
        node.results = tuple(values.get(result, result) for result in node.results)
    return Renumbering(numbers, values)
