"""What the `shardc` command does with .onnx models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shardc.cli import driver
from shardc.compilation import argument_specs, emit, lower
from shardc.diagnostics import ShardcError
from shardc.frontend.onnx import require
from shardc.options import Options

if TYPE_CHECKING:
    from shardc.frontend.onnx.lowering import Lowering
    from shardc.graph import Graph


def lowered(given: argparse.Namespace, options: Options) -> Lowering:
    """The model in a file, lowered as the arguments say."""
    require()
    from shardc.frontend.onnx.read import Wishes, open_model
    from shardc.frontend.onnx.read import lowered as lower_model

    if options.entry is not None:
        raise ShardcError("--entry chooses a function of a .shard program; a model has one graph")
    wishes = Wishes(
        mesh=given.mesh,
        shardings=dict(given.shardings),
        dims=dict(options.defines or {}),
        configuration=given.configuration,
    )
    return lower_model(open_model(given.program), wishes)


def compile(given: argparse.Namespace, options: Options, stage: str, proved: bool) -> int:
    """Write the compiled model as a program with its loader, or --emit onnx: the model with its shardings.

    proved: where its work is small.
    """
    if stage == "ast":
        raise ShardcError("--emit ast is for .shard programs; a model has no text")
    model = lowered(given, options)
    if stage == "onnx":
        return _annotated(given, options, model)
    from shardc.proof.demand import ask

    asked = ask(model.module, None if proved else False)
    graph = lower(model.module, options, weight=asked.weight)
    text = emit(graph, stage, options.process_data, options.comments)
    verdict = asked.answer(graph, text, stage, "--no-prove writes")
    driver.write_text(given.output, with_weights(text, model, stage, graph))
    if verdict:
        print(verdict, file=sys.stderr)
    return 0


def with_weights(text: str, model: Lowering, target: str, graph: Graph) -> str:
    """The compiled program of a model with what loads its weights, where the target has that."""
    from shardc.frontend.onnx.loader import LOADERS, with_loader

    if target not in LOADERS:
        return text
    return with_loader(text, model.weights, model.constants.keys, target, argument_specs(graph))


def _annotated(given: argparse.Namespace, options: Options, model: Lowering) -> int:
    from shardc.frontend.onnx.write import annotated

    if not given.output:
        raise ShardcError("a model is binary: name its file with -o")
    lower(model.module, options, "sharded")
    proto, changed = annotated(model, given.approximate)
    driver.write_bytes(given.output, lambda name: Path(name).write_bytes(proto.SerializeToString()))
    for line in changed:
        print(line)
    return 0


def check(given: argparse.Namespace, options: Options) -> int:
    """Take the model through every pass; print what ONNX's formalism does not accept: 1 if any is invalid."""
    from shardc.frontend.onnx.check import INVALID, findings

    model = lowered(given, options)
    lower(model.module.clone(), options)
    if model.mesh is None:
        return 0
    lower(model.module, options, "sharded")
    found = findings(model)
    for line in found:
        print(line)
    return 1 if any(line.verdict == INVALID for line in found) else 0
