"""read_back(text, whole): the program that an emitted MPI text runs.

What the compiler writes of a program (device_main, its functions, the tables AXES to RESULTS) is read as that
of a NumPy text. What every such text carries, how devices talk and the array functions that NumPy has not,
must stand in it to the letter: it is trusted, as `shardc.runtime` is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from shardc.backend.mpi.program import PRELUDE, PRELUDE_OF_DICTS, carried_with
from shardc.backend.mpi.target import TARGET
from shardc.backend.python.carried import defined
from shardc.graph import Graph, TensorType, walk
from shardc.graph.trees import of_processes
from shardc.ops import spmd
from shardc.proof.reading.device_names import emulation
from shardc.proof.reading.numpy_text import Names, read_functions
from shardc.proof.reading.recorded import Recorder
from shardc.proof.reading.records import IMPORT, is_record, records_of
from shardc.proof.values import Beyond, Refused
from shardc.runtime.mesh import Mesh, P, names_of

_TABLES = ("AXES", "GROUPS", "DEVICES", "PARAMS", "RESULTS")
_IMPORTS = {
    "import numpy as np", "import base64", "import ml_dtypes", "import functools", "import sys",
    "import traceback", "import ast", "import re", "from mpi4py import MPI",
    "from types import SimpleNamespace", IMPORT,
}  # fmt: skip
_TALK, _KERNELS = "\n# How devices talk.\n", "\n# Array functions that NumPy has not.\n"
_START = '\nif __name__ == "__main__":\n'
"""What stands below a program's own text, in this order, each where it is needed."""

_GROUPED = {
    operation.name
    for operation in (spmd.all_reduce, spmd.reduce_scatter, spmd.all_gather, spmd.all_to_all,
                      spmd.collective_permute, spmd.collective_broadcast)
}  # fmt: skip
"""The operations for which processes have a communicator, one for each of GROUPS."""


def read_back(text: str, whole: Graph) -> Graph:
    """As numpy_text.read_back. Raises Beyond where what the text carries is not what the compiler writes."""
    functions, tables, records = _own(text)
    inside = whole.types(whole.main.body.args)

    def names(recorder: Recorder, namespace: Names) -> Names:
        def run_on_whole(*arguments: Any) -> Any:
            return _emulated(recorder, whole, tables, namespace["device_main"])(*arguments)

        return {"run_on_whole": run_on_whole, "check_keys": _trusted, **records}

    if tables["AXES"]:
        _check_arguments(tables, inside)
    graph = read_functions(functions, names, whole, of_processes(whole.main.interface))
    _check_groups(graph, {names_of(axes) for axes in tables["GROUPS"]})
    return graph


def _trusted(*_: Any) -> None:
    """What every text carries that checks what is given."""


def _own(text: str) -> tuple[list[ast.FunctionDef], Names, Names]:
    """The functions, the tables and the records of the program itself. Raises Beyond where there is more."""
    place = next((text.index(mark) for mark in (_TALK, _KERNELS, _START) if mark in text), len(text))
    body, rest = text[:place], text[place:]
    kernels, imports = carried_with(body)
    talk = PRELUDE_OF_DICTS if "\ndef check_keys(" in rest else PRELUDE
    for carried in (_TALK + talk if rest.startswith(_TALK) else "", kernels):
        rest = _without(rest, carried)
    functions: dict[str, ast.FunctionDef] = {}
    tables: Names = {}
    statements = ast.parse(body).body
    for node in statements:
        if isinstance(node, ast.FunctionDef) and node.name not in (*functions, *defined(PRELUDE_OF_DICTS)):
            functions[node.name] = node
        elif isinstance(node, ast.Assign) and _name(node) in _TABLES and _name(node) not in tables:
            tables[_name(node)] = _value(node.value)
        elif not is_record(node):
            _check_plain(node, {*_IMPORTS, *imports})
    for node in ast.parse(rest).body:
        _check_plain(node, set())
    if len(tables) < len(_TABLES):
        raise Beyond("MPI texts without their tables")
    return list(functions.values()), tables, records_of(statements)


def _without(text: str, carried: str) -> str:
    """The text after what it carries, with which it is to begin, but for empty lines."""
    words, wanted = text.lstrip("\n"), carried.strip("\n").replace(f"{_TALK[1:]}", f"{_TALK[1:]}\n\n")
    if not words.startswith(wanted):
        raise Beyond("texts that talk, or define array functions, in another way")
    return words[len(wanted) :]


def _check_plain(node: ast.stmt, imports: set[str]) -> None:
    """What makes no name, or one that every text makes; else raises Beyond."""
    text = ast.unparse(node)
    if not (
        (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or text in imports
        or text == "main_local = main"
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'")
    ):
        raise Beyond(f"`{text.partition(chr(10))[0]}` in emitted texts")


def _name(node: ast.Assign) -> str:
    return node.targets[0].id if isinstance(node.targets[0], ast.Name) and len(node.targets) == 1 else ""


def _value(node: ast.expr) -> Any:
    """A table; dtypes as the text that names them."""

    class Texts(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            return ast.Constant(ast.unparse(node))

    try:
        return ast.literal_eval(ast.fix_missing_locations(Texts().visit(node)))
    except ValueError:
        raise Beyond("tables of an emitted text that are computed") from None


def _check_arguments(tables: Names, types: Sequence[TensorType]) -> None:
    """What the text checks before it runs."""
    wanted = [(type.shape, TARGET.dtype(type.dtype)) for type in types]
    have = [(shape, dtype) for shape, dtype, _ in tables["PARAMS"].values()]
    if wanted != have:
        raise Refused("PARAMS are of other arguments")


def _emulated(recorder: Recorder, whole: Graph, tables: Names, device_main: Any) -> Any:
    """What run_on_whole does: cut, run, join; parts of sums are summed first."""
    results = list(tables["RESULTS"].values())
    return emulation(recorder, whole.types(whole.main.body.results))(
        device_main,
        Mesh(tables["AXES"], tables["DEVICES"]),
        in_specs=[P(*spec) for _, _, spec in tables["PARAMS"].values()],
        out_specs=[P(*spec) for _, _, spec, _ in results],
        partial_out={number: partial for number, (_, _, _, partial) in enumerate(results) if partial},
        out_shapes={number: shape for number, (shape, _, _, _) in enumerate(results)},
    )


def _check_groups(graph: Graph, groups: set[tuple[str, ...]]) -> None:
    """A collective over axes that are not among GROUPS has no communicator."""
    for function in graph.functions.values():
        for node in walk(function.body):
            axes: Any = node.attrs.get("axes", ())
            if node.name in _GROUPED and tuple(axis.name for axis in axes) not in groups:
                raise Refused(f"GROUPS lacks the axes of {node.name}")
