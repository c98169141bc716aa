"""Writes `main_local` of a JAX program: main, given what each process holds, and the tables it reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.jax.target import TARGET
from shardc.backend.python import main_lines, records
from shardc.backend.python.carried import below_mark
from shardc.backend.python.expressions import Expr, call, integers, name, raw
from shardc.backend.python.mesh_text import spec
from shardc.backend.python.writer import Writer


def define_main_local(
    writer: Writer,
    program: PerDeviceProgram,
    shard_map: Callable[[Writer, PerDeviceProgram], Expr],
    combined: Callable[[Array], Expr | None],
    inside: AbstractContextManager[None],
) -> None:
    """PARAMS, RESULTS and main_local.

    `combined` is what becomes of a result that is partial; what runs the program is written `inside`.
    """
    _table(writer, "PARAMS", program, program.params)
    _table(writer, "RESULTS", program, program.results)
    writer.blank(2)
    params = records.parameters(program.interface)
    with writer.definition("main_local", params):
        writer.docstring(
            "The whole program, on what each process holds; the results are arrays of all processes.",
            "Along each dimension of an argument a process gives the blocks of its devices, in order and\n"
            "without gaps, or all of it, as jax.make_array_from_process_local_data has it. Blocks have the\n"
            "ceiling size.",
        )
        main_lines.accept(writer, program.interface)
        writer.statement("placed = ", call("place_local", *map(name, params)))
        writer.statement("run = ", call("jax.jit", shard_map(writer, program)))
        results = [(result.name, combined(result)) for result in program.results]
        with inside:
            main_lines.finish(writer, program.interface, results, raw("run(*placed)"))
    writer.blank(2)
    writer.lines(below_mark("shardc.backend.jax", "process_data.py"))  # what it calls


def _table(writer: Writer, title: str, program: PerDeviceProgram, arrays: tuple[Array, ...]) -> None:
    """PARAMS = { "x": ((32, 64), jnp.float32, P("data", None)), … }"""
    with writer.indented(f"{title} = {{"):
        for array in arrays:
            words = TARGET.dtype(array.type.dtype), spec(program.mesh, array.sharding)
            fields = integers(array.type.shape), *map(raw, words)
            writer.statement(f"{records.table_key(array.name)}: ", Expr("(", fields, "),"))
    writer.line("}")
