"""What the `shardc` command does: each action reads a program, has it compiled, and prints.

The options of the compilation are `options`; `given` are the arguments of the command, for what is printed.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.cli import driver
from shardc.compilation import by_memory, counted_on, emit, lower, machine_of, placed, restored, seek
from shardc.diagnostics import register_source
from shardc.dialects.text import print_module
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.pipeline import STAGES
from shardc.proof import LARGE

if TYPE_CHECKING:
    from shardc.frontend.onnx.lowering import Lowering
    from shardc.rewrite.kept_text import Unread

WAY_OUT = "--no-prove writes"
"""How to have a program that is proved to be wrong."""


def compile(given: argparse.Namespace, options: Options, stage: str, proved: bool) -> int:
    """Write the compiled model, or a stage of it; or the syntax tree of a program.

    proved: the model, where its work is small.
    """
    if stage == "ast":
        text = _ast(given, options)
    elif stage in STAGES:
        text = _stage_text(_load(given, options), options, stage)
    else:
        from shardc.cli import onnx

        return onnx.compile(given, options, stage, proved)
    driver.write_text(given.output, text)
    return 0


def compiled(text: str, options: Options, stage: str, proved: bool) -> tuple[str, str | None]:
    """What a program becomes at a stage, or for a target; with `proved` the verdict on it."""
    if stage in STAGES:
        return _stage_text(read(text, options), options, stage), None
    from shardc.rewrite.kept_module import watched
    from shardc.rewrite.kept_text import unread

    seen = unread(text, options)
    found = _restored(seen, text, options, stage, proved) if seen else None
    if found is not None:
        return found
    from shardc.proof.demand import ask

    with watched() as reading:
        module = read(text, options)
    kept = seek(module, options)
    if seen and kept:
        seen.keep(kept, reading)
    asked = ask(module, None if proved else False, kept, partial(read, text, options))
    local = lower(module, options, "local", kept, asked.weight)
    made = emit(local, stage, options.process_data, options.comments)
    return made, asked.answer(local, made, stage, WAY_OUT)


def _restored(
    seen: Unread, text: str, options: Options, stage: str, proved: bool
) -> tuple[str, str | None] | None:
    """The same of a text that was read before, but for its numbers; None if the cache folder has it not, or
    what it has is to be proved anew."""
    kept = seen.find()
    verdict = kept.recall(LARGE) if kept and proved else None
    if kept is None or (proved and verdict is None):
        return None
    register_source(options.file, text.removeprefix("\ufeff"))  # as reading it does
    local = restored(kept)
    return local and (emit(local, stage, options.process_data, options.comments), verdict)


def _stage_text(module: ModuleOp, options: Options, stage: str) -> str:
    lower(module, options, stage)
    return print_module(module)


def check(given: argparse.Namespace, options: Options) -> int:
    """Take the program through every pass and write nothing."""
    if options.language == "onnx":
        from shardc.cli import onnx

        return onnx.check(given, options)
    lower(_load(given, options), options)
    return 0


def run(given: argparse.Namespace, options: Options) -> int:
    """Run on emulated devices and compare; 1 if the results differ."""
    from shardc.cli.emulated import run_module

    return run_module(given, options, _load(given, options))


def prove(given: argparse.Namespace, options: Options) -> int:
    """Prove the compiled program equal to the global one; with -o write it. 1 if it differs."""
    from shardc.proof.command import prove_module

    file = given.prove
    write = partial(driver.write_text, file) if file else None
    against = _load(given, replace(options, entry=given.against)) if given.against else None
    model = _model(given, options)
    judged = prove_module(_read(given, options) if model is None else model.module, options, write, against)
    if given.output and not judged.fails:
        text = judged.text or emit(judged.local, options.target, options.process_data, options.comments)
        if model is not None:
            from shardc.cli.onnx import with_weights

            text = with_weights(text, model, options.target, judged.local)
        driver.write_text(given.output, text)
    return int(judged.fails)


def explain(given: argparse.Namespace, options: Options) -> int:
    """Say why tensors are split as they are."""
    from shardc.cli.explain import print_explanation, text
    from shardc.explain.program import explain_module

    module = _load(given, options)
    placement = placed(module, options)
    counted = counted_on(module, options)
    explanation = explain_module(
        module, given.explain or None, machine_of(options), placement and placement.text, counted
    )
    format = given.format or "text"
    if given.output:
        driver.write_text(given.output, text(explanation, format))
    else:
        print_explanation(explanation, format)
    return 0


def cost(given: argparse.Namespace, options: Options) -> int:
    """Say what the program costs each device."""
    from shardc.backend.numpy import peak
    from shardc.cli.cost import print_cost, text
    from shardc.cli.progress import Progress
    from shardc.report.program import cost_module

    machine = machine_of(options)
    with Progress() as progress:
        module = _load(given, options)
        placement = placed(module, options)
        told = by_memory(module, options)
        found = cost_module(module, peak, told, machine, given.tries, placement, progress.tell)
    format = given.format or "text"
    if given.output:
        driver.write_text(given.output, text(found, format))
    else:
        print_cost(found, format)
    return 0


def _load(given: argparse.Namespace, options: Options) -> ModuleOp:
    model = _model(given, options)
    return _read(given, options) if model is None else model.module


def _model(given: argparse.Namespace, options: Options) -> Lowering | None:
    """The program as a model of ONNX, if it is one."""
    if options.language != "onnx":
        return None
    from shardc.cli.onnx import lowered

    return lowered(given, options)


def _read(given: argparse.Namespace, options: Options) -> ModuleOp:
    return read(driver.read_text(given.program), options)


def _ast(given: argparse.Namespace, options: Options) -> str:
    from shardc.frontend.text import parse, print_ast

    return print_ast(parse(driver.read_text(given.program), options.file))
