"""`shardc-layout onnx-check FILE`: ONNX's sharding formalism, node by node, over a .onnx file or a text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from shardc.cli.layout_text import Table, show
from shardc.diagnostics import ShardcError
from shardc.frontend.onnx import require
from shardc.layout import LayoutError
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.notations.onnx_text import to_dict, write_spec
from shardc.layout.onnx.graph import Move, NodeResult, check_model
from shardc.layout.onnx.model import Model
from shardc.layout.onnx.model_text import read_model
from shardc.layout.onnx.operations import LISTED, OPERATIONS


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("file", metavar="FILE", help="a model: a .onnx file, or protobuf text")
    command.add_argument("--configuration", metavar="NAME", help="which one, if the model has several")
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(options: argparse.Namespace) -> None:
    """Print what was found. LayoutError at the end if a node is invalid."""
    results = check_model(_model(options.file), options.configuration)
    if options.format == "json":
        print(json.dumps([_as_json(result) for result in results], indent=1))
    else:
        show(*_as_text(results))
    invalid = [str(number) for number, result in enumerate(results) if result.verdict == "invalid"]
    if invalid:
        raise LayoutError(f"invalid nodes: {', '.join(invalid)}")


def _model(path: str) -> Model:
    if path.endswith(".onnx"):
        require()
        from shardc.frontend.onnx.model import read_model as read_binary
        from shardc.frontend.onnx.plain import plain_model

        return plain_model(read_binary(path).proto, path)
    try:
        with open(path, encoding="utf-8") as file:
            return read_model(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise ShardcError(f"cannot read {path}: {error}") from None


def _as_text(results: Sequence[NodeResult]) -> list[str | Table]:
    table = Table(["node", "operation", "stage", "verdict", ""])
    for number, result in enumerate(results):
        first, *rest = _lines(result) or [""]
        stage = "" if result.pipeline_stage is None else result.pipeline_stage
        table.add(number, result.node.op_type, stage, result.verdict, first)
        for line in rest:
            table.add("", "", "", "", line)
    return [table]


def _lines(result: NodeResult) -> list[str]:
    if result.natural is None:
        return [result.reason]
    output = result.node.output[0]
    lines = [f"receive {name} from stage {stage}" for name, stage in result.received]
    lines += [f"repartition {_move(move)}" for move in result.repartition]
    lines.append(f"compute {output}: {_spec(result.natural.spec)}")
    if result.natural.reductions:
        lines.append(f"combine over devices: {result.natural.combine}")
    lines += [f"redistribute {_move(move)}" for move in result.redistribute]
    if result.node.op_type in OPERATIONS and result.node.op_type not in LISTED:
        lines.append("the document's lists do not have it: the rule is that of its group")
    return lines


def _move(move: Move) -> str:
    return f"{move.name}: {_spec(move.source)} -> {_spec(move.target)}"


def _spec(spec: ShardingSpec | None) -> str:
    return "unsharded" if spec is None else write_spec(spec)


def _as_json(result: NodeResult) -> dict[str, object]:
    def moved(moves: Sequence[Move]) -> list[dict[str, object]]:
        return [
            {"tensor": m.name, "from": m.source and to_dict(m.source), "to": m.target and to_dict(m.target)}
            for m in moves
        ]

    natural = result.natural
    return {
        "op_type": result.node.op_type,
        "verdict": result.verdict,
        "reason": result.reason,
        "repartition": moved(result.repartition),
        "natural": natural and natural.spec and to_dict(natural.spec),
        "shape": natural and natural.shape,
        "combine": natural.combine if natural else "",
        "redistribute": moved(result.redistribute),
        "pipeline_stage": result.pipeline_stage,
        "received": dict(result.received),
    }
