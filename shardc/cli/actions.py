"""What the `shardc` command does: compile, check, run."""

from __future__ import annotations

import argparse
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardc.cli import driver
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.graph import Graph
from shardc.passes.pipeline import STAGES, Options, by_option, run_to


def compile(options: argparse.Namespace) -> int:
    """Write the compiled program, or the stage that --emit names."""
    stage = options.emit or options.target
    if stage == "ast":
        text = _ast(options)
    else:
        module = _load(options)
        ir_stage = stage if stage in STAGES else "local"
        run_to(make_context(), module, ir_stage, options=_pass_options(options))
        text = print_module(module) if stage in STAGES else _source(snapshot(module).graph, stage)
    driver.write_text(options.output, text)
    return 0


def check(options: argparse.Namespace) -> int:
    """Take the program through every pass and write nothing."""
    run_to(make_context(), _load(options), "local", options=_pass_options(options))
    return 0


def run(options: argparse.Namespace) -> int:
    """Run on emulated devices and compare; 1 if the results differ."""
    from shardc.cli.run import compare

    module = _load(options)
    whole = snapshot(module.clone()).graph
    if options.trace is not None and _trace(options, module.clone(), whole):
        return 1
    run_to(make_context(), module, "local", options=_pass_options(options))
    return compare(whole, snapshot(module).graph, options.inputs, options.outputs)


def explain(options: argparse.Namespace) -> int:
    """Say why tensors are split as they are."""
    from shardc.cli.explain import explain_module, show, text

    explanation = explain_module(_load(options), options.explain or None)
    format = options.format or "text"
    if options.output:
        driver.write_text(options.output, text(explanation, format))
    else:
        show(explanation, format)
    return 0


def cost(options: argparse.Namespace) -> int:
    """Say what the program costs each device."""
    from shardc.cli.cost import cost_module, machine_of, print_cost, text

    machine = machine_of(options.machine, options.links)
    found = cost_module(_load(options), _pass_options(options), machine, options.tries)
    format = options.format or "text"
    if options.output:
        driver.write_text(options.output, text(found, format))
    else:
        print_cost(found, format)
    return 0


def _trace(options: argparse.Namespace, module: ModuleOp, whole: Graph) -> int:
    """Show every operation on some devices; 1 at the first that is wrong."""
    from shardc.cli.run import arguments
    from shardc.cli.trace import trace

    run_to(make_context(), module, "collectives", options=_pass_options(options))
    return trace(module, arguments(whole, options.inputs), options.trace)


def _pass_options(options: argparse.Namespace) -> Options:
    found: Options = {
        "require-rules": {"fallback": options.fallback},
        "reshards-to-collectives": {"memory_limit": options.memory_limit},
        "overlap": _overlap_options(options),
    }
    return {**found, **by_option(options.regather, options.combine)}


def _overlap_options(options: argparse.Namespace) -> dict[str, Any]:
    from shardc.cli.cost import machine_of
    from shardc.report.overlap import pass_options

    return pass_options(options.overlap, machine_of(options.machine, options.links))


def _load(options: argparse.Namespace) -> ModuleOp:
    return driver.load(options.program, dict(options.defines), options.entry)


def _ast(options: argparse.Namespace) -> str:
    from shardc.frontend.text import parse, print_ast

    return print_ast(parse(driver.read_text(options.program), options.program))


def _source(graph: Graph, target: str) -> str:
    if target == "jax":
        from shardc.backend.jax import emit
    elif target == "numpy":
        from shardc.backend.numpy import emit
    else:
        from shardc.backend.shard import emit
    return emit(graph)
