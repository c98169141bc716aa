"""The text that errors show of a model: one line per node, bodies indented below theirs."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, NodeProto

from shardc.frontend.onnx.names import shortened
from shardc.frontend.onnx.schema import subgraphs

MOST = 120


class Listing:
    """Lines of text, what each is called, and the line of every node by its identity."""

    def __init__(self, model: ModelProto) -> None:
        self.lines: list[str] = ["inputs " + ", ".join(safe(i.name) for i in model.graph.input)]
        self.titles: list[str] = [""]
        self._at: dict[int, int] = {}
        self._keep: list[NodeProto] = []
        self._graph(model.graph, "")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def line(self, node: NodeProto) -> int | None:
        """The line of a node; None for those of a function's body."""
        return self._at.get(id(node))

    def _graph(self, graph: GraphProto, indent: str) -> None:
        short = shortened(output for node in graph.node for output in node.output)
        for node in graph.node:
            made = next(filter(None, node.output), "")
            self.titles.append(safe(short.get(made, made)))
            self._keep.append(node)
            domain = f"{node.domain}:" if node.domain else ""
            outputs = ", ".join(map(safe, node.output))
            inputs = ", ".join(map(safe, node.input))
            self.lines.append(f"{indent}{outputs} = {safe(domain + node.op_type)}({inputs})"[:500])
            self._at[id(node)] = len(self.lines)
            for body in subgraphs(node):
                self._graph(body, indent + "  ")


def safe(name: str) -> str:
    """A name as messages show it: in one line, not too long."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    return text if len(text) <= MOST else text[:MOST] + "…"
