"""The last part of an emitted file: what `python out.py` does."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.python.emission import Target
from shardc.backend.python.expressions import name, raw, tuple_of
from shardc.backend.python.names import printable, quoted
from shardc.backend.python.records import leaf_places, pattern
from shardc.backend.python.writer import Writer
from shardc.graph import FOUR_BITS, is_complex, is_float
from shardc.graph.trees import Tree, branches


def random_input(array: Array, dtype: str) -> str:
    """An expression for a random array: normal floats, small integers."""
    shape = array.type.shape
    if array.type.dtype == "bool":
        return f"rng.integers(2, size={shape}).astype(bool)"
    if array.type.dtype == "f8e8m0fnu":  # it has no sign
        return f"np.abs(rng.standard_normal({shape})).astype({dtype})"
    if is_float(array.type.dtype):
        return f"rng.standard_normal({shape}).astype({dtype})"
    if is_complex(array.type.dtype):
        return f"(rng.standard_normal({shape}) + 1j * rng.standard_normal({shape})).astype({dtype})"
    if array.type.dtype in FOUR_BITS:  # of which NumPy draws none
        return f"rng.integers(4, size={shape}).astype({dtype})"
    return f"rng.integers(4, size={shape}, dtype={dtype})"


def inputs(writer: Writer, program: PerDeviceProgram, target: Target) -> None:
    """inputs = [ … ], one a line; tuples in brackets."""
    writer.line("rng = np.random.default_rng(0)")
    with writer.indented("inputs = ["):
        arrays = iter(program.params)
        for _, tree in program.interface.parameters:
            _input(writer, target, tree, arrays)
    writer.line("]")


def _input(writer: Writer, target: Target, tree: Tree, arrays: Iterator[Array], key: str = "") -> None:
    if tree is None:
        array = next(arrays)
        made = random_input(array, target.dtype(array.type.dtype))
        writer.line(f"{key}{made}," if key else f"{made},  # {printable(array.name)}")
        return
    first, last = "{}" if tree.is_dict else "()"
    if not tree.items:
        writer.line(f"{key}{first}{last},")
        return
    with writer.indented(f"{key}{first}"):
        for number, item in enumerate(tree.items):
            own = f"{quoted(tree.fields[number])}: " if tree.is_dict else ""
            _input(writer, target, item, arrays, own)
    writer.line(f"{last},")


def results(writer: Writer, program: PerDeviceProgram) -> str:
    """Lines that call main; what gives its results one by one."""
    if program.interface.is_flat:
        writer.line("results = main(*inputs)")
        return "results if isinstance(results, tuple) else (results,)"
    if any(branch.is_dict for branch in branches(program.interface.results)):
        writer.line("given = main(*inputs)")
        places = leaf_places(program.interface.results, "given")
        writer.statement("results = ", tuple_of(list(map(name, places))))
        return "results"
    names = [result.name for result in program.results]
    writer.unpack(pattern(program.interface.results, iter(names)), raw("main(*inputs)"))
    writer.statement("results = ", tuple_of(list(map(name, names))))
    return "results"
