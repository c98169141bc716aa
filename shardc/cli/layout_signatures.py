"""`shardc-layout signatures`: the SBP signatures of an operation, with what each device computes.

shardc-layout signatures expand --shape 4,3,1,2 --sizes 2,4,3,4,2
shardc-layout signatures sum --shape 4,8 --set axis=0
shardc-layout signatures 'relu(x @ y)' --shape 4,8 --shape 8,6
shardc-layout signatures stablehlo.transpose --shape 4,8 --set 'permutation=(1, 0)'
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from msgspec import Struct

from shardc.cli.layout_inputs import positive, sizes
from shardc.cli.layout_operation import NAMES, program_of
from shardc.cli.layout_text import Table, show
from shardc.graph import Graph
from shardc.layout import KINDS, Mesh
from shardc.layout.expand import local_expand, repeat_as_expand, strides
from shardc.layout.notations.per_axis import Component, Partial, Split, to_sharding
from shardc.layout.slices import local_shapes
from shardc.ops import hlo
from shardc.rules.signatures import Signature, program_signatures

Shape = tuple[int, ...]


class Local(Struct, frozen=True):
    """What some devices compute: the shapes of their operands and results.

    `read_by` are the strides by which an expand reads its operand; () for other operations.
    """

    devices: tuple[int, ...]
    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    read_by: Shape = ()


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument(
        "operation", help="a function of the language, an expression over x, y, z, w, or toy.operation"
    )
    command.add_argument(
        "--shape", required=True, type=sizes, action="append", metavar="4,8", help="of x, then of y, …"
    )
    command.add_argument("--dtype", default="f32", help="of all of them (default: f32)")
    command.add_argument("--sizes", type=sizes, metavar="2,4", help="the argument after the tensors")
    command.add_argument(
        "--set", action="append", default=[], metavar="axis=0", help="another argument, in the language"
    )
    command.add_argument("--devices", type=positive, default=2, metavar="N", help="how many (default: 2)")
    command.add_argument(
        "--kinds", default="sum", metavar="sum,max,min", help="which partial results there are (default: sum)"
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def run(options: argparse.Namespace) -> None:
    """Print the signatures."""
    kinds = options.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        options.misused(f"{unknown[0]} is no kind of partial result; they are {', '.join(KINDS)}")
    if len(options.shape) > len(NAMES):
        options.misused(f"at most {len(NAMES)} operands")
    call, graph = program_of(options)
    found = program_signatures(graph, kinds)
    if options.format == "json":
        print(json.dumps(_as_json(call, graph, found, options.devices), indent=1))
    else:
        show(*_as_text(call, graph, found, options.devices), *_steps(options))


def _steps(options: argparse.Namespace) -> list[str | Table]:
    """repeat as the operations that it is made of; nothing for others."""
    if options.operation != "repeat" or options.sizes is None:
        return []
    steps = repeat_as_expand(options.shape[0], options.sizes)
    return [
        f"repeat is a reshape to {list(steps.reshape_in)}, an expand to {list(steps.expand_size)} and "
        f"a reshape to {list(steps.reshape_out)}"
    ]


def text_of(component: Component) -> str:
    """S(0), B, P; P(max) where it is not the sum."""
    if isinstance(component, Split):
        return f"S({component.dim})"
    if isinstance(component, Partial):
        return "P" if component.kind == "sum" else f"P({component.kind})"
    return "B"


def locals_of(graph: Graph, signature: Signature, devices: int) -> list[Local]:
    """What the devices compute, those that compute the same together; balanced splits, as OneFlow's.

    Nothing where the number of devices doesn't fit the signature.
    """
    if signature.divides and signature.divides % devices:
        return []
    mesh = Mesh("mesh", (("x", devices),))
    body = graph.main.body
    tables = [
        local_shapes(
            to_sharding([component], mesh, graph.type(v).rank), graph.type(v).shape, "balanced"
        ).tolist()
        for v, component in zip(
            (*body.args, *body.results), (*signature.operands, *signature.results), strict=True
        )
    ]
    groups: dict[tuple[Shape, ...], list[int]] = {}
    for device in range(devices):
        groups.setdefault(tuple(tuple(table[device]) for table in tables), []).append(device)
    count = len(body.args)
    return [
        Local(tuple(members), shapes[:count], shapes[count:], _read_by(graph, signature, mesh, members[0]))
        for shapes, members in groups.items()
    ]


def _read_by(graph: Graph, signature: Signature, mesh: Mesh, device: int) -> Shape:
    """The strides by which a device's expand reads its operand; () if the program is no expand."""
    body = graph.main.body
    node = body.nodes[0]
    if node.name != hlo.broadcast_in_dim.name or body.results != node.results or node.operands != body.args:
        return ()
    shape, out = graph.type(body.args[0]).shape, graph.type(body.results[0]).shape
    if node.attrs.get("broadcast_dimensions") != tuple(range(len(out) - len(shape), len(out))):
        return ()
    sharding = to_sharding(signature.operands, mesh, len(shape))
    return local_expand(sharding, shape, out, device).output_stride


def _as_text(call: str, graph: Graph, found: Sequence[Signature], devices: int) -> list[str | Table]:
    body = graph.main.body
    names = [*NAMES[: len(body.args)], *(f"result {i}" for i in range(len(body.results)))]
    names = ["result" if name == "result 0" and len(body.results) == 1 else name for name in names]
    locals_by_signature = [locals_of(graph, signature, devices) for signature in found]
    strided = any(local.read_by for group in locals_by_signature for local in group)
    header = [*names, "device", *(f"local {name}" for name in names), "stride", *["read by stride"] * strided]
    table = Table(header)
    for number, (signature, group) in enumerate(zip(found, locals_by_signature, strict=True)):
        row = [text_of(c) for c in (*signature.operands, *signature.results)]
        if not group:
            blank = [""] * (len(header) - len(row) - 1)
            table.add(*row, f"none: {devices} do not divide {signature.divides}", *blank, block=number)
        for local in group:
            shapes = [str(list(shape)) for shape in (*local.operands, *local.results)]
            stride = ", ".join(str(list(strides(shape))) for shape in local.operands)
            read = [list(local.read_by)] * strided
            table.add(*row, _numbers(local.devices), *shapes, stride, *read, block=number)
    types = ", ".join(str(graph.type(v)) for v in body.args)
    results = ", ".join(str(graph.type(v)) for v in body.results)
    return [f"{call}: ({types}) -> {results}, on {devices} devices", table]


def _as_json(call: str, graph: Graph, found: Sequence[Signature], devices: int) -> dict[str, object]:
    return {
        "operation": call,
        "operands": [graph.type(v).shape for v in graph.main.body.args],
        "results": [graph.type(v).shape for v in graph.main.body.results],
        "signatures": [
            {
                "operands": [text_of(c) for c in signature.operands],
                "results": [text_of(c) for c in signature.results],
                "divides": signature.divides or None,
                "locals": [
                    {
                        "devices": local.devices,
                        "operands": local.operands,
                        "strides": [strides(shape) for shape in local.operands],
                        "results": local.results,
                        "read_by": local.read_by or None,
                    }
                    for local in locals_of(graph, signature, devices)
                ],
            }
            for signature in found
        ],
    }


def _numbers(devices: Sequence[int]) -> str:
    if len(devices) > 2 and devices[-1] - devices[0] == len(devices) - 1:
        return f"{devices[0]} to {devices[-1]}"
    return ", ".join(map(str, devices))
