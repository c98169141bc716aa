"""Writes a local module as a NumPy program: device_main, and main that runs it on emulated devices.

emit(graph) -> the text of a Python file that needs numpy and shardc.runtime.
peak(graph) -> the most that a device holds while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from shardc.analysis.per_device import Array, Peak, PerDeviceProgram
from shardc.backend.numpy.allocation.peak import peak as peak_of
from shardc.backend.numpy.custom_calls import refuse_unknown
from shardc.backend.numpy.target import TARGET
from shardc.backend.python import demo, interface, main_lines, records
from shardc.backend.python.emission import Emission
from shardc.backend.python.expressions import Expr, call, integers, list_of, name, raw, tuple_of
from shardc.backend.python.functions import (
    define_callees,
    define_device_main,
    describe_main,
    name_callees,
    title,
    write_body,
)
from shardc.backend.python.mesh_text import axis_names, spec
from shardc.backend.python.names import quoted
from shardc.backend.python.specs import specs
from shardc.backend.python.trace import Trace
from shardc.backend.python.writer import Writer
from shardc.graph import Graph

_QUIET = '@np.errstate(all="ignore")  # infinities and NaN are values, as on an accelerator'


def emit(graph: Graph, comments: str = "brief") -> str:
    """The NumPy program of a local module; `comments` are those of shardc.Options.

    ShardcError where it calls what NumPy has nothing for.
    """
    refuse_unknown(graph)
    return _write(graph, comments)[0]


def peak(graph: Graph, alive: bool = False) -> Peak:
    """The most that the NumPy program of a local module holds; with `alive`, in which variables."""
    return peak_of(graph, _write(graph)[1], alive)


def _write(graph: Graph, comments: str = "brief") -> tuple[str, Trace]:
    program = interface.read(graph)
    writer = Writer()
    records.define_classes(writer, program.interface, "np.ndarray")
    leading = ("comm",) if program.mesh is not None else ()
    full = comments == "full"
    emission = Emission(graph, TARGET, writer, program.mesh, leading=leading, full=full)
    callees = name_callees(emission, program)
    writer.line(_QUIET)
    if program.mesh is None:
        _single_device_main(emission, program)
    else:
        define_device_main(emission, program)
    writer.blank(2)
    define_callees(emission, callees)
    if program.mesh is not None:
        _main(writer, program)
        writer.blank(2)
        _mesh(writer, program)
    _demonstration(writer, program)
    text = writer.text()
    return _header(program, text) + text, emission.trace


def _header(program: PerDeviceProgram, text: str) -> str:
    """Docstring and the imports that `text` needs."""
    writer = Writer()
    writer.docstring(*title(program, "emulated devices"))
    writer.blank()
    own = ["import base64"] * ("base64." in text) + [records.IMPORT] * ("(NamedTuple):" in text)
    for line in own:
        writer.line(line)
    if own:
        writer.blank()
    if "ml_dtypes." in text:
        writer.line("import ml_dtypes")
    writer.line("import numpy as np")
    dims = [kind for kind in ("ConvDims", "DotDims", "GatherDims", "ScatterDims") if f"{kind}(" in text]
    if dims or "ops." in text or program.mesh is not None:
        writer.blank()
    if dims:
        writer.line(f"from shardc.graph import {', '.join(dims)}")
    if program.mesh is not None:
        writer.line("from shardc.runtime import Mesh, P, emulate")
    if "ops." in text:
        writer.line("from shardc.semantics import ops")
    return writer.text() + "\n\n"


def _mesh(writer: Writer, program: PerDeviceProgram) -> None:
    assert program.mesh is not None
    mesh = program.mesh.mesh
    sizes = raw("{" + ", ".join(f"{quoted(axis)}: {size}" for axis, size in program.mesh.axes) + "}")
    order = None if mesh.device_ids is None else list_of([raw(str(d)) for d in mesh.device_ids])
    processes = raw(str(mesh.processes)) if mesh.processes > 1 else None
    with writer.indented("def mesh():"):
        writer.docstring(f"The device mesh {mesh.name}.")
        writer.statement("return ", call("Mesh", sizes, devices=order, processes=processes))
    writer.blank(2)


def _main(writer: Writer, program: PerDeviceProgram) -> None:
    params = records.parameters(program.interface)
    with writer.definition("main", params):
        describe_main(writer, program)
        main_lines.accept(writer, program.interface)
        writer.statement("run = ", _emulate(writer, program))
        writer.statement("return ", call("run", *map(name, params)))


def _emulate(writer: Writer, program: PerDeviceProgram) -> Expr:
    """emulate(device_main, …), told what is uneven or partial."""
    assert program.mesh is not None
    taken, given = _specs(program, program.params), _specs(program, program.results)
    in_specs, out_specs = specs(writer, program.interface, taken, given)
    return call(
        "emulate",
        "device_main",
        "mesh()",
        in_specs=tuple_of(in_specs),
        out_specs=tuple_of(out_specs),
        partial_out=_partials(program, program.results),
        out_shapes=_shapes(program.results),
    )


def _specs(program: PerDeviceProgram, arrays: tuple[Array, ...]) -> Iterator[Expr]:
    return (raw(spec(program.mesh, array.sharding)) for array in arrays)


def _partials(program: PerDeviceProgram, arrays: tuple[Array, ...]) -> Expr | None:
    """{0: ("model", "sum")}: over which axes an array is partial, and of what kind."""
    entries = [
        f'{i}: ({axis_names(program.mesh, array.sharding.unreduced)}, "{array.sharding.kind}")'
        for i, array in enumerate(arrays)
        if program.mesh is not None and array.sharding is not None and array.sharding.unreduced
    ]
    return raw("{" + ", ".join(entries) + "}") if entries else None


def _shapes(arrays: tuple[Array, ...]) -> Expr | None:
    """{0: (13, 4)}: the shapes of uneven results."""
    entries = [f"{i}: {integers(array.type.shape)}" for i, array in enumerate(arrays) if any(array.padding)]
    return raw("{" + ", ".join(entries) + "}") if entries else None


def _single_device_main(emission: Emission, program: PerDeviceProgram) -> None:
    names, taken = [param.name for param in program.params], program.interface
    with emission.writer.definition("main", records.parameters(taken)):
        describe_main(emission.writer, program)
        main_lines.accept(emission.writer, taken)
        write_body(emission, program.body, names, interface=taken)


def _demonstration(writer: Writer, program: PerDeviceProgram) -> None:
    with writer.indented('if __name__ == "__main__":'):
        demo.inputs(writer, program, TARGET)
        with writer.indented(f"for result in {demo.results(writer, program)}:"):
            writer.line('print(f"{result.dtype}{list(result.shape)}")')
