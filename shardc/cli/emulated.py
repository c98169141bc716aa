"""shardc --run: the compiled program on emulated devices, compared with a reference in f64."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.manual import is_all_per_device, per_device_lines
from shardc.backend.python import interface
from shardc.cli import driver
from shardc.cli.arrays import read_arrays, write_arrays
from shardc.compilation import lower
from shardc.diagnostics import ShardcError, listed
from shardc.dialects.snapshot import snapshot
from shardc.explain.shown import shower
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import compare
from shardc.interpret.compared import Compared
from shardc.interpret.hooks import Show
from shardc.interpret.reference import GraphReference, PythonReference, Reference
from shardc.interpret.run import run
from shardc.launch.program import load_program
from shardc.options import Options
from shardc.semantics.arrays import Array

_ALONE = "per-device code was run; there is nothing to compare it with but itself: --against names a function"


def run_module(given: argparse.Namespace, options: Options, module: ModuleOp) -> int:
    """Compile and run a module of stage ir and say how far its results are from the truth; 1 if too far."""
    whole = snapshot(module.clone()).graph
    named = read_arrays(given.inputs) if given.inputs else None
    arrays = arguments(whole, named, given.inputs or "")
    reference = _reference(given, options, whole)
    if given.trace is not None and not _traced(given, options, module, arrays):
        return 1
    local = lower(module, options)
    print(f"{_devices(local)} devices, {given.inputs or 'random inputs'}")
    alone = not given.against and is_all_per_device(whole)
    got = run(local, arrays, show=_shower(local))
    results = compare(reference, local, arrays, got, in_f64=not alone)
    _report(results, alone)
    if given.outputs:
        names = [result.name for result in interface.read(local).results]
        write_arrays(given.outputs, {names[result.index]: result.array for result in results})
    lines = per_device_lines(whole)
    if lines and not alone and not given.against:
        print(f"per-device code in line {', '.join(map(str, lines))} is compared with itself")
    return 0 if all(result.same for result in results) else 1


def _report(compared: Sequence[Compared], alone: bool) -> None:
    """Print the results; those of per-device code only, which are its own reference, as such."""
    for result in compared:
        print(f"result {result.index}: {result.type}, as written" if alone and result.same else result)
    if alone:
        print(_ALONE)


def _reference(given: argparse.Namespace, options: Options, whole: Graph) -> Reference:
    """What --against names, else the program on one device."""
    types = whole.types(whole.main.body.results)
    path, colon, name = (given.against or "").rpartition(":")
    if colon:
        return PythonReference(_python_function(path, name), types, given.against)
    if not given.against:
        return GraphReference(whole)
    text = driver.read_text(given.program)
    other = snapshot(read(text, replace(options, entry=given.against))).graph
    if _types(other) != _types(whole):
        raise ShardcError(f"--against {given.against} takes or gives other types than the program")
    return GraphReference(other, alike=False)


def _python_function(path: str, name: str) -> Callable[..., Any]:
    """A function of a Python file, which is run. ShardcError if there is none."""
    if not Path(path).is_file():
        raise ShardcError(f"--against: there is no Python file {path}")
    try:
        module = load_program(path)
    except Exception as error:
        raise ShardcError(f"--against {path}: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ShardcError(
            f"--against: {path} has no function {name}", hint=listed(name, names, "its functions are")
        )
    return function


def _types(graph: Graph) -> tuple[object, object]:
    body = graph.main.body
    return graph.types(body.args), graph.types(body.results)


def _traced(given: argparse.Namespace, options: Options, module: ModuleOp, arrays: Sequence[Array]) -> bool:
    from shardc.explain.trace import trace

    traced = module.clone()
    lower(traced, options, "collectives")
    return trace(traced, arrays, given.trace, print)


def _shower(graph: Graph) -> Show:
    """Prints what the program shows; at breakpoints it asks, if a terminal is there."""
    return shower(graph, print, input if sys.stdin.isatty() and sys.stdout.isatty() else None)


def _devices(graph: Graph) -> int:
    return next((mesh.size for mesh in graph.meshes.values()), 1)
