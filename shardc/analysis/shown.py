"""What print and breakpoint show: the block of one device, under a line that says what it is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node, Region, walk
from shardc.ops import Trait, has


def heading(graph: Graph, node: Node, devices: Sequence[int], device: int | None = None) -> str:
    """h on device 0, f32[4, 64] of f32[16@data, 64]; `device` is the node's own unless given."""
    type, whole = graph.type(node.operands[0]), node.attrs.get("whole")
    number = device_shown(node) if device is None else device
    place = f" on device {number}" if len(devices) > 1 else ""
    return f"{node.attrs['label']}{place}, {type}" + (f" of {whole}" if whole else "")


def device_shown(node: Node) -> int:
    """The number of the device whose block is shown."""
    return int(str(node.attrs["device"]))


def position_shown(node: Node, devices: Sequence[int], device: int | None = None) -> int:
    """Its position in the mesh, whose devices have these numbers; ShardcError if there is no such device."""
    number = device_shown(node) if device is None else device
    if number not in devices:
        raise ShardcError(f"there is no device {number} here", node.loc)
    return devices.index(number)


def unshown(graph: Graph) -> Graph:
    """The same program without what it shows, which changes no result."""
    used = {node.name for function in graph.functions.values() for node in walk(function.body)}
    if not any(has(name, Trait.SHOWS) for name in used):
        return graph
    functions = {name: replace(f, body=_unshown(f.body)) for name, f in graph.functions.items()}
    return replace(graph, functions=functions)


def _unshown(region: Region) -> Region:
    nodes = [node for node in region.nodes if not has(node.name, Trait.SHOWS)]
    return Region(
        region.args,
        [replace(n, regions=tuple(map(_unshown, n.regions))) if n.regions else n for n in nodes],
    )
