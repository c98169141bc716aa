"""Data-flow edges of functions that stand in a program: `sdy.func_data_flow_edge %arg0`, or a call's result.

They tie functions together that propagation does not copy for each call: what flows into the argument of a
function is the operands of all its calls, what flows into a call's result is what the function returns.
"""

from __future__ import annotations

from shardc.graph import Graph, Node, walk
from shardc.ops import func, sdy

Source = tuple[str, Node, int]
"""A use: the function that it is in, the operation, the number of the operand."""


def sources_of_edges(graph: Graph) -> dict[int, list[Source]]:
    """The id of every func_data_flow_edge -> what flows into it."""
    flows: dict[int, list[Source]] = {}
    edges: list[Node] = []
    for function in graph.functions.values():
        for node in walk(function.body):
            if node.name == sdy.func_data_flow_edge.name:
                edges.append(node)
            if node.name == func.call.name:
                callee = graph.functions[str(node.attrs["callee"])]
                end = callee.body.nodes[-1]
                for number, (argument, _) in enumerate(zip(callee.body.args, node.operands, strict=True)):
                    flows.setdefault(argument, []).append((function.name, node, number))
                for number, result in enumerate(node.results):
                    flows[result] = [(callee.name, end, number)]
    return {edge.id: flows.get(edge.operands[0], []) for edge in edges}
