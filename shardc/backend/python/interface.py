"""The Python names of what main takes and gives."""

from __future__ import annotations

from msgspec.structs import replace

from shardc.analysis import per_device
from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.python.mesh_text import spec
from shardc.backend.python.names import Names
from shardc.backend.python.records import leaf_places, python_interface
from shardc.graph import Graph
from shardc.graph.trees import flat, of_processes


def read(graph: Graph, records: bool = True, processes: bool = False) -> PerDeviceProgram:
    """The parts of a local module, its parameters and results under Python names.

    Without `records` it takes and gives tensors only; for `processes` too, if an argument has a part without.
    """
    program = per_device.read(graph)
    names = Names()
    said = (of_processes(program.interface) if processes else program.interface) if records else None
    taken = said or flat((p.name for p in program.params), len(program.results))
    interface = python_interface(taken, names)
    places = [place for param, tree in interface.parameters for place in leaf_places(tree, param)]
    params = [replace(param, name=place) for param, place in zip(program.params, places, strict=True)]
    one = len(program.results) == 1
    results = [
        _named(names, result, "result" if one else f"result{i}") for i, result in enumerate(program.results)
    ]
    return replace(program, params=tuple(params), results=tuple(results), interface=interface)


def _named(names: Names, array: Array, wish: str) -> Array:
    return replace(array, name=names.taken(wish))


def argument_specs(graph: Graph) -> list[str]:
    """The PartitionSpec of each argument of main as it may be given; empty where there is no mesh.

    One in uneven blocks is whole: neither JAX nor the runtime has arrays in such.
    """
    program = read(graph)
    if program.mesh is None:
        return []
    return ["P()" if any(p.padding) else spec(program.mesh, p.sharding) for p in program.params]
