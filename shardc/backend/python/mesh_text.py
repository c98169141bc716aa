"""The axes of the emitted mesh as Python text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardc.analysis.emitted_mesh import EmittedMesh, splitting
from shardc.backend.python.expressions import Expr, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.layout import Axis, Dim, Sharding


def axis_names(mesh: EmittedMesh, axes: Iterable[Axis]) -> Expr:
    """What JAX takes as an axis name: "data", or ("data", "model")."""
    names = [raw(quoted(name)) for name in mesh.names(axes)]
    return names[0] if len(names) == 1 else tuple_of(names)


def dims_spec(mesh: EmittedMesh, dims: Sequence[Dim]) -> str:
    """P("data", None); P() for what no axis splits. To JAX a value on an axis of size 1 would vary."""
    split = [splitting(dim) for dim in dims]
    entries = [axis_names(mesh, axes).text if axes else "None" for axes in split]
    return f"P({', '.join(entries)})" if any(e != "None" for e in entries) else "P()"


def spec(mesh: EmittedMesh | None, sharding: Sharding | None) -> str:
    """The PartitionSpec of an array of main; P() for one that lies on one device."""
    return "P()" if sharding is None or mesh is None else dims_spec(mesh, sharding.dims)
