"""How each notation is given on the command line of `shardc-layout`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import NOTATIONS, mindspore, onnx
from shardc.layout.notations.mindspore_layout import Layout
from shardc.layout.notations.mindspore_shard import strategy_layout
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.notations.onnx_text import read_spec
from shardc.layout.notations.ranks import count_of
from shardc.layout.notations.values import Name, Value, parse_code


class Given(Struct, frozen=True):
    """What a command line says: `text` as its notation writes it, and the sharding, or why there is none.

    `layout` is MindSpore's, whose derivation is shown, `strategy` that of `.shard` from which it is made;
    `spec` is ONNX's, which may be no sharding.
    """

    text: str
    sharding: Sharding | LayoutError
    layout: Layout | None = None
    spec: ShardingSpec | None = None
    strategy: tuple[int, ...] | None = None


class Input(Struct, frozen=True):
    """The options of a notation, and what they mean for a tensor of some rank."""

    add_options: Callable[[argparse.ArgumentParser], None]
    read: Callable[[argparse.Namespace, int], Given]


def sizes(text: str) -> tuple[int, ...]:
    """`8,8` or `(8, 8)`, or `()` for a scalar."""
    inner = text.strip().removeprefix("(").removesuffix(")").strip().rstrip(",")
    parts = [part.strip() for part in inner.split(",")] if inner else []
    if not all(re.fullmatch(r"-?\d{1,19}", part) and abs(int(part)) < 1 << 62 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers such as 8,8")
    return tuple(map(int, parts))


def positive(text: str) -> int:
    """A number from 1."""
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def entries(text: str) -> tuple[Value, ...]:
    """`b,None,(sp,dp)`, also as Python writes it: the entries of a tensor map, or the tuple of all."""
    return tuple(map(_plain, _listed(text)))


def names(text: str) -> tuple[str, ...]:
    """`a,b,c` or `("a", "b", "c")`."""
    value = _listed(text)
    flat = value[0] if len(value) == 1 and isinstance(value[0], tuple) else value
    return tuple(str(_plain(item)) for item in flat)


def strategy(text: str) -> tuple[int, ...]:
    """`2,1,1,2,1`, `((2, 1, 1, 2, 1),)` or `relu.shard(((2, 1, 1, 2, 1),))`: the strategy of one input."""
    code = "=" in text or ".shard(" in text
    value = mindspore.strategy_of(_parsed(text, text if code else f"({text},)"))
    while isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], tuple):
        value = value[0]
    items = value if isinstance(value, tuple) else (value,)
    if any(isinstance(item, tuple) for item in items):
        raise argparse.ArgumentTypeError(f"'{text}' is of several inputs: give the strategy of one of them")
    cuts = [item for item in items if isinstance(item, int)]
    if len(cuts) != len(items):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers such as 2,1,1,2,1")
    return tuple(cuts)


def _listed(text: str) -> tuple[Value, ...]:
    value = _parsed(text, f"({text},)")
    if not isinstance(value, tuple):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list such as a,b")
    return value


def _parsed(text: str, wrapped: str) -> Value:
    try:
        return parse_code(wrapped)
    except LayoutError as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None


def _plain(value: Value) -> Value:
    """Aliases without quotes as strings."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.text if isinstance(value, Name) else value


def _mindspore_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--layout", metavar="TEXT", help="""Layout((2, 4), ("x", "y"))("x", "None")""")
    command.add_argument("--device-matrix", type=sizes, metavar="2,4")
    command.add_argument("--alias", type=names, metavar="x,y", help="the names of the matrix's axes")
    command.add_argument("--tensor-map", type=entries, metavar="x,None", help="entries may be (x,y)")
    command.add_argument("--rank-list", type=sizes, metavar="3,2,1,0", help="the ranks of the positions")
    command.add_argument("--strategy", type=strategy, metavar="2,1,1,2,1", help="one of .shard instead")
    command.add_argument("--devices", type=positive, metavar="N", help="with --strategy: of how many")
    command.add_argument(
        "--repeated",
        choices=("right", "left"),
        default="right",
        help="with --strategy: which end of the device matrix the repeated calculation is at",
    )


def _mindspore(options: argparse.Namespace, rank: int) -> Given:
    layout = _layout(options, rank)
    try:
        sharding: Sharding | LayoutError = layout.sharding()
    except LayoutError as error:
        sharding = error
    else:
        mindspore.check_rank(sharding, rank)
    return Given(str(layout), sharding, layout, strategy=options.strategy)


def _layout(options: argparse.Namespace, rank: int) -> Layout:
    parts = [options.device_matrix, options.alias, options.tensor_map]
    ways = [options.layout is not None, any(part is not None for part in parts), options.strategy is not None]
    if sum(ways) != 1 or (ways[1] and None in parts):
        options.misused("give --device-matrix, --alias and --tensor-map, or --strategy, or --layout")
    if ways[0]:
        return mindspore.read_layout(options.layout, rank)
    if ways[2]:
        if len(options.strategy) != rank:
            raise LayoutError(
                f"the strategy has {len(options.strategy)} numbers, the tensor {rank} dimensions"
            )
        devices = options.devices or prod(options.strategy)
        return strategy_layout(options.strategy, devices, options.repeated)
    ranks = None if options.rank_list is None else list(options.rank_list)
    entries = mindspore.entries_of(options.tensor_map, options.alias, rank)
    return Layout(options.device_matrix, options.alias, ranks)(*entries)


def _spec_option(command: argparse.ArgumentParser, example: str) -> None:
    command.add_argument("--spec", required=True, metavar="TEXT", help=f"such as {example}")


def _onnx_options(command: argparse.ArgumentParser) -> None:
    _spec_option(command, "{device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}")


def _onnx(options: argparse.Namespace, rank: int) -> Given:
    spec = read_spec(options.spec).check(rank)
    try:
        sharding: Sharding | LayoutError = onnx.sharding_of(spec, None, rank)
    except LayoutError as error:
        sharding = error
    return Given(options.spec, sharding, None, spec)


def _on_mesh(name: str, example: str, mesh_example: str, needs_mesh: bool = True) -> Input:
    """A notation with a text of its own, and its mesh beside it."""

    def add_options(command: argparse.ArgumentParser) -> None:
        _spec_option(command, example)
        command.add_argument(
            "--mesh",
            metavar="TEXT",
            required=needs_mesh,
            help=f"x=2,y=4 or {mesh_example}".replace("%", "%%"),
        )
        command.add_argument(
            "--device-order", type=sizes, metavar="0,2,1,3", help="the devices of x=2,y=4, if not ascending"
        )

    def read(options: argparse.Namespace, rank: int) -> Given:
        mesh = None if options.mesh is None else _mesh(name, options)
        return Given(options.spec, NOTATIONS[name].read(options.spec, mesh, rank))

    return Input(add_options, read)


def _mesh(name: str, options: argparse.Namespace) -> Mesh:
    """`x=2,y=4`, or what the notation writes."""
    read_mesh = NOTATIONS[name].read_mesh
    if re.fullmatch(r"\s*[\w.]+\s*=\s*\d+\s*(,\s*[\w.]+\s*=\s*\d+\s*)*", options.mesh):
        pairs = [part.split("=") for part in options.mesh.split(",")]
        count_of([int(size) for _, size in pairs])
        reference = re.search(r"@\"?([\w.$-]+)", options.spec)
        mesh = Mesh(reference[1] if reference else "mesh", tuple((k.strip(), int(v)) for k, v in pairs))
    elif read_mesh is None:
        raise LayoutError(f"{options.mesh!r} is no mesh; write x=2,y=4")
    else:
        mesh = read_mesh(options.mesh)
    return mesh if options.device_order is None else replace(mesh, device_ids=options.device_order)


INPUTS = {
    "mindspore": Input(_mindspore_options, _mindspore),
    "jax": _on_mesh("jax", "P('x', None)", "jax.make_mesh((2, 4), ('x', 'y'))", needs_mesh=False),
    "sdy": _on_mesh("sdy", '<@mesh, [{"x"}, {}]>', 'sdy.mesh @mesh = <["x"=2, "y"=4]>', needs_mesh=False),
    "hlo": _on_mesh(
        "hlo",
        "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "nothing: HLO lists devices",
        needs_mesh=False,
    ),
    "sbp": _on_mesh("sbp", "(S(0), B)", 'placement("cpu", ranks=[[0, 1], [2, 3]])'),
    "dtensor": _on_mesh("dtensor", "(Shard(0), Replicate())", 'DeviceMesh("cpu", [[0, 1], [2, 3]])'),
    "onnx": Input(_onnx_options, _onnx),
}
