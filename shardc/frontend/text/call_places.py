"""Where functions may be called: what per-device code allows, and what its axes are."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.manual import device_scope
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.signature import Signature


def check_callable(scope: Scope, name: str, callee: Signature, pos: s.Pos) -> None:
    """An error if this place is no place to call the function."""
    if scope.manual is not None:
        check_shardings(scope, scope.manual, name, callee, pos)
    scope.program.shared.named.update(callee.axes)


def check_shardings(scope: Scope, manual: DeviceScope, name: str, callee: Signature, pos: s.Pos) -> None:
    """An error if the shardings in a callee name axes that this per-device code is manual over already."""
    mesh, axes = manual
    free = [axis for axis in mesh.sizes if axis not in axes]
    taken = [axis for axis in axes if axis in callee.axes]
    if not taken and (free or not callee.annotated):
        return
    if callee.mapped:
        own = f"@per_device above {name} makes it a function of blocks, its types those of blocks"
        leaves = f"@shard_map(axes=({', '.join(free)}{',' * (len(free) == 1)})) above {name} leaves "
        raise scope.e.error(
            f"{name} is written per device of {', '.join(taken or axes)}, and so is this place already",
            f"{leaves}{', '.join(taken)} to its callers" if free else own,
            pos,
        )
    raise scope.e.error(
        f"{name} is called from per-device code, and its types carry shardings"
        if callee.annotated
        else f"{name} is called from per-device code, and shardings in it are over {', '.join(taken)}",
        "a function for both kinds of code has plain types",
        pos,
    )


def check_per_device(scope: Scope, function: s.Function, pos: s.Pos) -> None:
    """An error if a function is @per_device, and this place no per-device code over all axes it may use."""
    if function.decorator is None or function.decorator.name != "per_device":
        return
    logical = scope.program.owner(function.name).types.logical
    name, callee = function.name, device_scope(scope.e, function, scope.program.meshes, logical)
    if scope.manual is None:
        raise scope.e.error(
            f"{name} is per-device code, and this function is not", "call it in a @shard_map function", pos
        )
    mesh, axes = scope.manual
    missing = [axis for axis in callee[1] if mesh != callee[0] or axis not in axes]
    if missing:
        raise scope.e.error(
            f"{name} is per-device code over {', '.join(callee[1])}, and this place over {', '.join(axes)}",
            f"@per_device(axes=…) above {name} names fewer axes" if mesh == callee[0] else None,
            pos,
        )
