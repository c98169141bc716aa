"""Which mesh axis belongs on which link of a machine: the program is priced under each assignment.

A machine's links connect consecutive devices, so the order in which the axes number the devices says which
axes are inside a node: the last ones. All orders are tried that differ in what is on which link.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.shardings import mesh_attr
from shardc.dialects.snapshot import snapshot
from shardc.dialects.verify import module_meshes
from shardc.layout import Mesh
from shardc.ops import sdy
from shardc.passes.pipeline import Options as ByPass
from shardc.passes.pipeline import run_to
from shardc.planning.machines import Machine, Stages
from shardc.report.times import estimate
from shardc.report.traffic import collectives


class Placement(Struct, frozen=True):
    """The order of mesh axes, major to minor, in which the program is quickest, and the one in which it is
    slowest; nanoseconds of both, with nothing overlapped. `tried` counts the orders that differ.

    links: for each axis, how many of its positions are within each link, the innermost first.
    """

    machine: str
    best: tuple[str, ...]
    best_ns: int
    worst: tuple[str, ...]
    worst_ns: int
    tried: int
    links: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    @property
    def factor(self) -> float:
        """How much longer the worst takes."""
        return self.worst_ns / self.best_ns if self.best_ns else 1.0

    @property
    def text(self) -> str:
        """In one line."""
        where = ", ".join(_where(axis, parts) for axis, parts in self.links)
        if self.tried == 1:
            return f"{where}: all orders of axes are the same on {self.machine}"
        last = " x ".join(self.worst)
        return f"{where}; as {last} it takes {self.factor:.2f} times as long ({self.tried} orders tried)"


def _where(axis: str, parts: tuple[tuple[str, int], ...]) -> str:
    """`data on NVLink`, `data on NVLink (2), InfiniBand`."""
    named = [link if count == parts[-1][1] else f"{link} ({count})" for link, count in parts]
    return f"{axis} on {', '.join(named)}"


def place(module: ModuleOp, machine: Machine, by_pass: Callable[[ModuleOp], ByPass]) -> Placement:
    """Number the devices of the module's mesh so that the program is quickest on the machine.

    `by_pass` gives the options of passes for a module. ShardcError if there is no mesh to number, or its
    devices are numbered already.
    """
    mesh = _mesh(module)
    orders = list(_orders(machine, mesh).values())
    took: list[int] = []
    for order in orders:
        changed = module.clone()
        _write(changed, _ordered(mesh, order))
        took.append(_seconds(changed, machine, by_pass))
    best, worst = took.index(min(took)), took.index(max(took))
    chosen = _ordered(mesh, orders[best])
    _write(module, chosen)
    return Placement(
        machine.name,
        orders[best],
        took[best],
        orders[worst],
        took[worst],
        len(orders),
        tuple((name, _links(machine, chosen, name)) for name, size in mesh.axes if size > 1),
    )


def _mesh(module: ModuleOp) -> Mesh:
    """The one mesh of a module."""
    meshes = {replace(mesh, name="") for mesh in module_meshes(module).values() if mesh.size > 1}
    if len(meshes) != 1:
        many = "several meshes" if meshes else "no mesh"
        raise ShardcError(f"links are found for the axes of one mesh, and the program has {many}")
    (mesh,) = meshes
    if mesh.device_ids is not None:
        raise ShardcError(
            f"the mesh {', '.join(mesh.sizes)} says which device stands where, so no order is left to find",
            hint="leave out the device numbers, or the search for links",
        )
    return mesh


def _orders(machine: Machine, mesh: Mesh) -> dict[object, tuple[str, ...]]:
    """The orders of axes that differ in what is on which link, that of the mesh first."""
    found: dict[object, tuple[str, ...]] = {}
    for order in permutations(mesh.sizes):
        ordered = _ordered(mesh, order)
        found.setdefault(tuple(_links(machine, ordered, name) for name in mesh.sizes), order)
    return found


def _ordered(mesh: Mesh, order: tuple[str, ...]) -> Mesh:
    """The mesh with devices numbered along its axes in an order, major to minor."""
    names = list(mesh.sizes)
    numbers = np.arange(mesh.size).reshape([mesh.sizes[name] for name in order])
    ids = numbers.transpose([order.index(name) for name in names]).reshape(-1)
    return replace(mesh, device_ids=tuple(ids.tolist()))


def _links(machine: Machine, mesh: Mesh, name: str) -> tuple[tuple[str, int], ...]:
    """How many positions of an axis are within each link, up to the one that reaches all."""
    stages, found = Stages(machine, mesh), list[tuple[str, int]]()
    for level, link in enumerate(machine.links):
        size = stages.inside(mesh.axis(name), level).size
        if size > prod(count for _, count in found[-1:]):
            found.append((link.name, size))
    return tuple(found)


def _write(module: ModuleOp, mesh: Mesh) -> None:
    for op in module.body.block.ops:
        if op.name == sdy.mesh.name:
            known = module_meshes(module)[str(op.properties["sym_name"]).strip('"')]
            if known.axes == mesh.axes:
                op.properties["mesh"] = mesh_attr(mesh)


def _seconds(module: ModuleOp, machine: Machine, by_pass: Callable[[ModuleOp], ByPass]) -> int:
    """Nanoseconds of a program, one operation after the other."""
    with collecting():
        run_to(make_context(), module, "local", options=by_pass(module))
        program = per_device.read(snapshot(module).graph)
    return estimate(machine, program, collectives(program), 0).total_ns
