"""Writes a local module as a program of NumPy and mpi4py, of which one process is one device.

emit(graph) -> the text of a Python file that needs numpy, ml_dtypes and mpi4py, and scipy for LAPACK. The
array functions that NumPy has not, and the collectives, stand below the program in the same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shardc.analysis.collectives import axes_of, sends
from shardc.analysis.emitted_mesh import EmittedMesh, splitting
from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.mpi.bundle import Bundle, bundle
from shardc.backend.mpi.target import TARGET
from shardc.backend.python import demo, interface, main_lines, records
from shardc.backend.python.carried import below_mark, defined
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
from shardc.backend.python.mesh_text import axis_names
from shardc.backend.python.names import quoted
from shardc.backend.python.writer import Writer
from shardc.graph import Graph, Node, Region, walk

_RECORDS = ("ConvDims", "DotDims", "GatherDims", "ScatterDims")
_KERNELS = "shardc.semantics.ops"
PRELUDE = "\n\n".join(below_mark("shardc.backend.mpi", file) for file in ("prelude.py", "prelude_main.py"))
"""How devices talk, and what is around the program of each."""
KEYS = below_mark("shardc.backend.mpi", "prelude_keys.py")
"""What programs that take dicts have besides."""
PRELUDE_OF_DICTS = f"{PRELUDE}\n\n{KEYS}"
"""Both."""


def emit(graph: Graph, comments: str = "brief") -> str:
    """The MPI program of a local module; `comments` are those of shardc.Options."""
    program = interface.read(graph, processes=True)
    writer = Writer()
    leading = ("comm",) if program.mesh is not None else ()
    full = comments == "full"
    emission = Emission(graph, TARGET, writer, program.mesh, leading=leading, full=full)
    for number, function in enumerate(defined(PRELUDE_OF_DICTS)):
        emission.functions[f"prelude {number}"] = function
    records.define_classes(writer, program.interface, "np.ndarray")
    _tables(writer, program)
    callees = name_callees(emission, program)
    if program.mesh is None:
        _on_one_device(emission, program)
    else:
        define_device_main(emission, program)
    writer.blank(2)
    define_callees(emission, callees)
    if program.mesh is not None:
        _mains(writer, program)
    body = writer.text()
    carried = _carried(body)
    prelude = PRELUDE_OF_DICTS if records.takes_dicts(program.interface) else PRELUDE
    talk = "" if program.mesh is None else f"# How devices talk.\n\n\n{prelude}"
    end = Writer()
    _demonstration(end, program)
    parts = [part.rstrip("\n") for part in (body, talk, _kernels(carried), end.text()) if part]
    text = "\n\n\n".join(parts) + "\n"
    return _header(program, text, carried) + text


def _header(program: PerDeviceProgram, text: str, carried: Bundle) -> str:
    writer = Writer()
    *first, rest = title(program, "processes of MPI, one a device")
    count = program.mesh.mesh.size if program.mesh is not None else 1
    start = f"Start it with `mpiexec -n {count} python FILE`." if count > 1 else "It runs in one process."
    writer.docstring(*first, f"{rest}\n`main_local` takes and returns the blocks of one device.\n{start}")
    writer.blank()
    imports = dict.fromkeys(line for line in carried.imports if not line.startswith("from __future__"))
    imports |= {"import numpy as np": None}
    if "base64." in text:
        imports |= {"import base64": None}
    if "ast.literal_eval" in text:
        imports |= dict.fromkeys(("import ast", "import re"))
    if "ml_dtypes." in text:
        imports |= {"import ml_dtypes": None}
    if "(NamedTuple):" in text:
        imports |= {records.IMPORT: None}
    if program.mesh is not None:
        imports |= dict.fromkeys(("import functools", "import sys", "import traceback"))
        imports |= {"from mpi4py import MPI": None}
    if carried.definitions:
        imports |= {"from types import SimpleNamespace": None}
    for line in sorted(imports):
        writer.line(line)
    return writer.text() + "\n\n"


def _tables(writer: Writer, program: PerDeviceProgram) -> None:
    """AXES, GROUPS, DEVICES, PARAMS and RESULTS: what `prelude` and whoever starts the program read."""
    mesh = program.mesh
    axes = () if mesh is None else mesh.axes
    sizes = ", ".join(f"{quoted(axis)}: {size}" for axis, size in axes)
    writer.line(f"AXES = {{{sizes}}}  # the mesh, major to minor")
    groups = list(dict.fromkeys(_groups(program)))
    writer.statement("GROUPS = ", list_of([raw(group) for group in groups]), "the axes of collectives")
    ids = None if mesh is None or mesh.mesh.device_ids is None else mesh.mesh.device_ids
    order = raw("None") if ids is None else list_of([raw(str(device)) for device in ids])
    writer.statement("DEVICES = ", order, "the rank at each position of the mesh, if not 0, 1, 2, …")
    _table(writer, "PARAMS", [(param, _fields(mesh, param)) for param in program.params])
    _table(writer, "RESULTS", [(r, [*_fields(mesh, r), _partial(mesh, r)]) for r in program.results])
    writer.blank(2)


def _table(writer: Writer, title: str, arrays: list[tuple[Array, list[Expr]]]) -> None:
    """PARAMS = { "x": ((32, 64), np.float32, ("data", None)), … }"""
    with writer.indented(f"{title} = {{"):
        for array, fields in arrays:
            writer.statement(f"{records.table_key(array.name)}: ", Expr("(", tuple(fields), "),"))
    writer.line("}")


def _fields(mesh: EmittedMesh | None, array: Array) -> list[Expr]:
    """Shape, dtype and spec."""
    entries: list[Expr] = []
    for dim in array.sharding.dims if array.sharding is not None and mesh is not None else ():
        axes = splitting(dim)
        assert mesh is not None
        entries.append(axis_names(mesh, axes) if axes else raw("None"))
    return [integers(array.type.shape), raw(TARGET.dtype(array.type.dtype)), tuple_of(entries)]


def _partial(mesh: EmittedMesh | None, array: Array) -> Expr:
    """("model", "sum"), or None."""
    if array.sharding is None or mesh is None or not array.sharding.unreduced:
        return raw("None")
    return tuple_of([axis_names(mesh, array.sharding.unreduced), raw(quoted(array.sharding.kind))])


def _groups(program: PerDeviceProgram) -> Iterator[str]:
    """The axes that collectives go over, as text, in the order of the program."""
    mesh = program.mesh
    if mesh is None:
        return
    for node in _nodes(program):
        if sends(node):
            yield axis_names(mesh, axes_of(node)).text
    for result in program.results:
        if result.sharding is not None and result.sharding.unreduced:
            yield axis_names(mesh, result.sharding.unreduced).text


def _nodes(program: PerDeviceProgram) -> Iterator[Node]:
    bodies: list[Region] = [program.body]
    bodies += [
        function.body for function in program.graph.functions.values() if function is not program.function
    ]
    for body in bodies:
        yield from walk(body)


def _mains(writer: Writer, program: PerDeviceProgram) -> None:
    params = records.parameters(program.interface)
    with writer.definition("main", params):
        describe_main(writer, program)
        _accept(writer, program)
        writer.statement("return ", call("run_on_whole", *map(name, params)))
    writer.blank(2)
    with writer.definition("main_local", params):
        writer.docstring("The program on the blocks of this process's device, which are device_main's.")
        _accept(writer, program)
        writer.statement("return ", call("run_on_blocks", *map(name, params)))


def _accept(writer: Writer, program: PerDeviceProgram) -> None:
    """Dicts are asked for their keys on all processes before one of them is read."""
    if records.takes_dicts(program.interface):
        writer.statement("", call("check_keys", *map(name, records.parameters(program.interface))))
    main_lines.accept(writer, program.interface)


def _on_one_device(emission: Emission, program: PerDeviceProgram) -> None:
    writer, taken = emission.writer, program.interface
    writer.line('@np.errstate(all="ignore")  # infinities and NaN are values, as on an accelerator')
    with writer.definition("main", records.parameters(taken)):
        describe_main(writer, program)
        main_lines.accept(writer, taken)
        write_body(emission, program.body, [param.name for param in program.params], interface=taken)
    writer.blank(2)
    writer.line("main_local = main")


def _carried(text: str) -> Bundle:
    """The array functions that the program calls, and the records it makes."""
    functions = sorted(set(re.findall(r"\bops\.(\w+)\(", text)))
    made = bundle(_KERNELS, functions)
    dims = bundle("shardc.graph.attrs", [record for record in _RECORDS if f"{record}(" in text])
    return Bundle(made.imports | dims.imports, dims.definitions | made.definitions)


def carried_with(body: str) -> tuple[str, list[str]]:
    """The array functions that stand below a program's own text, and the lines that import what they use."""
    carried = _carried(body)
    return _kernels(carried), list(carried.imports)


def _kernels(carried: Bundle) -> str:
    """def kernels(): …, in which the carried definitions see each other and nothing else does, and `ops`."""
    if not carried.definitions:
        return ""
    writer = Writer()
    writer.comment("Array functions that NumPy has not.")
    writer.blank(2)
    names = [name for _, name in carried.definitions]
    with writer.indented("def kernels():"):
        writer.docstring("What `ops` holds.")
        for definition in carried.definitions.values():
            writer.blank()
            for line in definition.split("\n"):
                writer.line(line)
        writer.blank()
        writer.line("return SimpleNamespace(**locals())")
    writer.blank(2)
    writer.line("ops = kernels()")
    for record in _RECORDS:
        if record in names:
            writer.line(f"{record} = ops.{record}")
    return writer.text()


def _demonstration(writer: Writer, program: PerDeviceProgram) -> None:
    with writer.indented('if __name__ == "__main__":'):
        if program.mesh is not None:
            writer.line("sys.excepthook = abort")
        demo.inputs(writer, program, TARGET)
        with writer.indented(f"for result in {demo.results(writer, program)}:"):
            shown = 'print(f"{result.dtype}{list(result.shape)}")'
            if program.mesh is None:
                writer.line(shown)
            else:
                with writer.indented("if MPI.COMM_WORLD.rank == 0:"):
                    writer.line(shown)
