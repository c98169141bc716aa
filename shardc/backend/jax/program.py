"""Writes a local module as a JAX program: device_main, main that runs it under shard_map, a demonstration.

emit(graph) -> the text of a Python file that needs jax and numpy only.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.jax import draws
from shardc.backend.jax.factors import with_factors
from shardc.backend.jax.host_calls import one_device
from shardc.backend.jax.local_main import define_main_local
from shardc.backend.jax.target import TARGET
from shardc.backend.jax.varying import varying
from shardc.backend.python import demo, interface, main_lines, records
from shardc.backend.python.draws import draws_whole, with_draws
from shardc.backend.python.emission import Emission
from shardc.backend.python.expressions import Expr, call, index, integers, method, name, raw, tuple_of
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
from shardc.backend.python.writer import Writer
from shardc.graph import Graph
from shardc.graph.trees import leaf_count

_WIDE = {"f64", "i64", "u64", "c128"}


def emit(graph: Graph, process_data: bool = False, comments: str = "brief") -> str:
    """The JAX program of a local module; ShardcError where JAX cannot say something.

    With `process_data` it has `main_local` too, which takes what each process holds. `comments` are those of
    shardc.Options.
    """
    program = interface.read(graph)
    if process_data and program.mesh is not None:
        program = interface.read(graph, processes=True)
    program = with_factors(with_draws(program, draws.is_own))
    writer = Writer()
    records.define_classes(writer, program.interface, "jax.Array")
    integer = "i64" if program.dtypes & _WIDE else "i32"
    emission = Emission(
        program.graph,
        TARGET,
        writer,
        program.mesh,
        default_integer=integer,
        varying=varying(program),
        full=comments == "full",
    )
    callees = name_callees(emission, program)
    if program.mesh is None:
        _single_device_main(emission, program)
    else:
        define_device_main(emission, program, _stacked(program))
    writer.blank(2)
    define_callees(emission, callees)
    if program.mesh is not None:
        _main(writer, program)
        writer.blank(2)
        if process_data:
            define_main_local(writer, program, _shard_map, _combined, _settings(writer, program))
            writer.blank(2)
        _mesh(writer, program)
    if "one_device(" in writer.text():
        writer.lines(one_device())
        writer.blank(2)
    for text in draws.functions(writer.text()):
        writer.lines(text)
        writer.blank(2)
    _demonstration(writer, program)
    text = writer.text()
    return _header(program, text) + text


def _header(program: PerDeviceProgram, text: str) -> str:
    """Docstring and the imports that `text` needs."""
    writer = Writer()
    writer.docstring(*title(program, "devices"))
    writer.blank()
    own = ["import base64"] * ("base64." in text) + [records.IMPORT] * ("(NamedTuple):" in text)
    for line in own:
        writer.line(line)
    if own:
        writer.blank()
    writer.line("import jax")
    if "jnp." in text:
        writer.line("import jax.numpy as jnp")
    writer.line("import numpy as np")
    if "lax." in text:
        writer.line("from jax import lax")
    if "io_callback(" in text:
        writer.line("from jax.experimental import io_callback")
    if "threefry2x32_p." in text:
        writer.line("from jax.extend.random import threefry2x32_p")
    if "multihost_utils." in text:
        writer.line("from jax.experimental import multihost_utils")
    if program.mesh is not None:
        named = "NamedSharding, " if "NamedSharding(" in text else ""
        writer.line(f"from jax.sharding import Mesh, {named}PartitionSpec as P")
    if _wide_borders(program):
        writer.blank()
        writer.line('jax.config.update("jax_enable_x64", True)')
    if "host_functions[" in text:
        writer.blank()
        writer.line("host_functions = {}")
        writer.docstring("Name -> function of arrays on the host; who runs this file puts them here.")
    return writer.text() + "\n\n"


def _wide_borders(program: PerDeviceProgram) -> bool:
    """Whether main takes or returns 64-bit arrays."""
    return any(array.type.dtype in _WIDE for array in (*program.params, *program.results))


@contextmanager
def _settings(writer: Writer, program: PerDeviceProgram) -> Generator[None]:
    """What is written runs in a JAX with 64-bit values, where only the inside of main has such, and with the
    settings that random numbers follow from.
    """
    with ExitStack() as around:
        if program.dtypes & _WIDE and not _wide_borders(program):
            around.enter_context(writer.indented("with jax.enable_x64(True):"))
        if draws_whole(program):
            around.enter_context(writer.indented(draws.SETTINGS))
        yield


def _mesh(writer: Writer, program: PerDeviceProgram) -> None:
    assert program.mesh is not None
    mesh, axes = program.mesh.mesh, program.mesh.axes
    described = " x ".join(f"{axis}={size}" for axis, size in axes)
    chosen = f"devices[:{mesh.size}]"
    with writer.indented("def mesh():"):
        writer.docstring(f"The device mesh {mesh.name}: {described}.")
        writer.line("devices = jax.devices()")
        with writer.indented(f"if len(devices) < {mesh.size}:"):
            writer.line(
                f'raise RuntimeError(f"{mesh.size} devices are needed and there are {{len(devices)}}")'
            )
        ordered = call("np.array", raw(chosen))
        if mesh.device_ids is not None:
            ordered = index(ordered, [f"[{', '.join(map(str, mesh.device_ids))}]"])
        sizes = [str(size) for _, size in axes] or ["()"]
        shaped = method(ordered, "reshape", *sizes)
        names = tuple_of([raw(quoted(axis)) for axis, _ in axes])
        writer.statement("return ", call("Mesh", shaped, names))
    writer.blank(2)


def _main(writer: Writer, program: PerDeviceProgram) -> None:
    """def main: pads what is uneven, runs device_main on the mesh, slices and combines the results."""
    writer.line("@jax.jit")
    params = records.parameters(program.interface)
    with writer.definition("main", params):
        describe_main(writer, program)
        main_lines.accept(writer, program.interface)
        _pad(writer, program)
        writer.statement("run = ", _shard_map(writer, program))
        done = call("run", *map(name, params))
        with _settings(writer, program):
            _return(writer, program, done)


def _stacked(program: PerDeviceProgram) -> set[int]:
    """The numbers of the results that are partial."""
    return {i for i, r in enumerate(program.results) if r.sharding is not None and r.sharding.unreduced}


def _shard_map(writer: Writer, program: PerDeviceProgram) -> Expr:
    taken = (raw(spec(program.mesh, param.sharding)) for param in program.params)
    given = (raw(_stacked_spec(program, result)) for result in program.results)
    in_specs, out_specs = specs(writer, program.interface, taken, given, prefixes=True)
    return call(
        "jax.shard_map",
        "device_main",
        mesh="mesh()",
        in_specs=tuple_of(in_specs),
        out_specs=tuple_of(out_specs) if records.is_several(program.interface) else out_specs[0],
        check_vma="False" if program.promises else None,
    )


def _stacked_spec(program: PerDeviceProgram, array: Array) -> str:
    """A partial result is stacked along a new first dimension."""
    if array.sharding is None or program.mesh is None or not array.sharding.unreduced:
        return spec(program.mesh, array.sharding)
    stacked = (array.sharding.unreduced, *(dim.axes for dim in array.sharding.dims))
    entries = [axis_names(program.mesh, axes).text if axes else "None" for axes in stacked]
    return f"P({', '.join(entries)})"


def _pad(writer: Writer, program: PerDeviceProgram) -> None:
    """Lines that make uneven parameters longer."""
    arrays = iter(program.params)
    for variable, tree in program.interface.parameters:
        own = [next(arrays) for _ in range(leaf_count(tree))]
        notes = [
            f"{array} is uneven: equal blocks need {_padded(array)}" for array in own if any(array.padding)
        ]
        if notes:
            writer.statement(f"{variable} = ", records.built(tree, map(_longer, own)), "; ".join(notes))


def _longer(array: Array) -> Expr:
    if not any(array.padding):
        return name(array.name)
    widths = tuple_of([integers((0, extra)) for extra in array.padding])
    return call("jnp.pad", name(array.name), widths)


def _padded(array: Array) -> str:
    sizes = zip(array.type.shape, array.padding, strict=True)
    return str(array.type.with_shape(tuple(size + extra for size, extra in sizes)))


def _return(writer: Writer, program: PerDeviceProgram, done: Expr) -> None:
    """Return the results, without padding and with partial ones combined."""
    main_lines.finish(writer, program.interface, [(r.name, _finished(r)) for r in program.results], done)


def _finished(result: Array) -> Expr | None:
    """What main does to a result; None for nothing."""
    expr = _combined(result) or name(result.name)
    if any(result.padding):
        sizes = zip(result.type.shape, result.padding, strict=True)
        expr = index(expr, [f":{size}" if extra else ":" for size, extra in sizes])
    return None if expr.text == result.name else expr


def _combined(result: Array) -> Expr | None:
    """A partial result combined; None for others."""
    if result.sharding is None or not result.sharding.unreduced:
        return None
    return call(f"jnp.{result.sharding.kind}", name(result.name), axis="0")


def _single_device_main(emission: Emission, program: PerDeviceProgram) -> None:
    names, taken = [param.name for param in program.params], program.interface
    emission.writer.line("@jax.jit")
    with emission.writer.definition("main", records.parameters(taken)):
        describe_main(emission.writer, program)
        main_lines.accept(emission.writer, taken)
        with _settings(emission.writer, program):
            write_body(emission, program.body, names, interface=taken)


def _demonstration(writer: Writer, program: PerDeviceProgram) -> None:
    size = program.mesh.mesh.size if program.mesh is not None else 1
    if size > 1:
        _emulate_devices(writer, size)
    with writer.indented('if __name__ == "__main__":'):
        if size > 1:
            writer.line("emulate_devices()")
        demo.inputs(writer, program, TARGET)
        with writer.indented("for result in jax.tree.leaves(main(*inputs)):"):
            writer.line('print(f"{result.dtype}{list(result.shape)} on {result.sharding}")')


def _emulate_devices(writer: Writer, size: int) -> None:
    with writer.indented("def emulate_devices():"):
        writer.docstring(f"Emulate {size} devices on the CPU if this machine has fewer. Call it first.")
        writer.line(f'jax.config.update("jax_num_cpu_devices", {size})')
        with writer.indented(f"if len(jax.devices()) < {size}:"):
            writer.line("from jax.extend.backend import clear_backends")
            writer.blank()
            writer.line("clear_backends()")
            writer.line('jax.config.update("jax_platforms", "cpu")')
    writer.blank(2)
