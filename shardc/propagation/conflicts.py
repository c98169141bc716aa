"""Annotations that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from shardc.diagnostics import Diagnostic
from shardc.layout import Mesh
from shardc.propagation.flow import Flow
from shardc.propagation.step import alike
from shardc.propagation.sweep import SweepState


def mesh_conflicts(flow: Flow, state: SweepState) -> Iterator[Diagnostic]:
    """The operations that nothing can be propagated through because their tensors lie on different meshes."""
    for link in flow.links:
        shardings = [state[place] for place in link.tensors]
        meshes = [s.mesh for s in shardings if s is not None and (s.mesh.axes or s.mesh.device_ids)]
        other = _unlike(meshes)
        if other is not None:
            yield Diagnostic(
                "warning",
                f"{link.node.name} has tensors on the meshes {meshes[0]} and {other}; "
                "no sharding is propagated through it",
                link.node.loc,
                "meshes must have the same axes and the same order of devices",
            )


def _unlike(meshes: list[Mesh]) -> Mesh | None:
    """The first mesh that differs from the first of all."""
    return next((mesh for mesh in meshes[1:] if not alike(mesh, meshes[0])), None)
