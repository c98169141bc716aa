"""Whether a model's outputs are what it declares."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto, NodeProto

from shardc.diagnostics import warn
from shardc.frontend.onnx.inputs import Dimensions
from shardc.frontend.onnx.listing import Listing, safe
from shardc.frontend.onnx.values import Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.syntax import Pos


def check_outputs(
    emitter: Emitter, dims: Dimensions, listing: Listing, graph: GraphProto, outputs: Sequence[Value]
) -> None:
    """ShardcError if there are none, or if one is declared with another dtype than it has; a warning for
    another shape, which runtimes let pass."""
    if not outputs:
        raise emitter.error("the model has no outputs", pos=Pos(max(1, emitter.loc.line), 1))
    makers = {name: node for node in graph.node for name in node.output}
    for info, value in zip(graph.output, outputs, strict=True):
        declared = dims.declared(info)
        if declared is None or declared == value.type:
            continue
        maker = makers.get(info.name)
        made = f"{_called(maker)} makes" if maker else "what is given is"
        line = listing.line(maker) if maker else None
        wrong = emitter.error(
            f"output {safe(info.name)} is declared as {declared}, and {made} {value.type}",
            "declare what is computed, or leave the shape out",
            Pos(line or 1, 1),
        )
        if declared.dtype != value.type.dtype:
            raise wrong
        said = wrong.diagnostic
        warn(said.message, said.loc, said.hint)


def _called(node: NodeProto) -> str:
    """What a message calls a node."""
    return f"{safe(node.op_type)} {safe(node.name)}".strip()
