"""Compiling a program, printing it with --emit shard, compiling that; and what makes both the same.

`Canonical(graph).whole()` describes what a local module computes, independent of names, of the order of
operations that do not depend on each other, of functions, of repeated and unused operations, and of these
spellings:

    broadcast_in_dim that adds dimensions      =  reshape, then broadcast
    a broadcast or reshaped splat              =  a splat
    values that a loop passes on unchanged     =  the values outside
    parts of axes                              =  the axes of the emitted mesh
    a case over a converted bool               =  an if
    where(0 < 0, a, b)                         =  b
    the region of a reduction                  =  what it picks: argmax, of integers too, which are never NaN
    a + b, a * b                               =  b + a, b * a
    an empty backend_config of a call          =  none
    a & (b & c), broadcast                     =  (a & b) & c of broadcast values
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np

from shardc.analysis import per_device
from shardc.analysis.loops import Constants, counted
from shardc.backend.python.modulo import floored
from shardc.backend.shard import emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read as read_mlir
from shardc.frontend.text import read
from shardc.graph import Dense, DotDims, Graph, Node, Region, TensorType, walk
from shardc.graph.program import own_attrs
from shardc.interpret.arguments import random_inputs
from shardc.interpret.distance import distance
from shardc.interpret.run import run
from shardc.ops import hlo, op_of, spmd
from shardc.passes.pipeline import run_to


class Canonical:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.program = per_device.read(graph)
        self.constants = Constants(graph)
        self.interned: dict[tuple[object, ...], int] = TABLE
        self.depth = 0
        bodies = [function.body for function in graph.functions.values()]
        self.made = {v: node for body in bodies for node in walk(body) for v in node.results}

    def intern(self, *key: object) -> int:
        return self.interned.setdefault(key, len(self.interned))

    def whole(self) -> object:
        """Interface and results."""
        program = self.program
        mesh = None
        if program.mesh is not None and program.mesh.axes:
            mesh = program.mesh.axes, program.mesh.mesh.device_ids, program.mesh.mesh.processes
        arrays = [self.array(array) for array in (*program.params, *program.results)]
        env = {v: self.intern("param", i, self.graph.type(v)) for i, v in enumerate(program.body.args)}
        return mesh, arrays, self.region(program.body, env)

    def array(self, array: per_device.Array) -> object:
        if array.sharding is None or self.program.mesh is None:
            return array.type
        names = self.program.mesh.names
        sharding = array.sharding
        return array.type, [names(d.axes) for d in sharding.dims], names(sharding.unreduced), sharding.kind

    def region(self, region: Region, env: dict[int, int]) -> list[int]:
        env = dict(env)
        for node in region.nodes[:-1]:
            env.update(zip(node.results, self.node(node, env), strict=True))
        return [env[v] for v in region.results]

    def node(self, node: Node, env: dict[int, int]) -> list[int]:
        operands = [env[v] for v in node.operands]
        special = SPECIAL.get(node.name)
        if special is not None:
            return special(self, node, operands, env)
        named = op_of(self.graph, node).combiner if node.name == "stablehlo.reduce" else None
        bodies = named or [self.scalar_region(region, env) for region in node.regions]
        if node.name in (hlo.add.name, hlo.multiply.name):
            operands.sort()
        return self.results(node, node.name, operands, self.attrs(node), bodies)

    def results(self, node: Node, *key: object) -> list[int]:
        types = self.graph.types(node.results)
        made = repr((*key, types))
        return [self.intern(made, i) for i in range(len(types))]

    def scalar_region(self, region: Region, env: dict[int, int]) -> list[int]:
        self.depth += 1
        inner = {v: self.intern("arg", self.depth, i, self.graph.type(v)) for i, v in enumerate(region.args)}
        results = self.region(region, {**env, **inner})
        self.depth -= 1
        return results

    def attrs(self, node: Node) -> list[tuple[str, object]]:
        attrs: dict[str, Any] = {k: v for k, v in own_attrs(node).items() if not k.startswith("mhlo.")}
        if "axes" in attrs and self.program.mesh is not None:
            if node.name == spmd.collective_permute.name:
                self.count_in_mesh_order(attrs)
            attrs["axes"] = self.program.mesh.names(attrs["axes"])
        if attrs.get("compare_type") != "TOTALORDER":
            attrs.pop("compare_type", None)
        if set(attrs.get("precision_config", ())) <= {"DEFAULT"}:
            attrs.pop("precision_config", None)
        if not attrs.get("backend_config"):
            attrs.pop("backend_config", None)
        dims = attrs.get("dot_dimension_numbers")
        if isinstance(dims, DotDims):
            pairs = sorted(zip(dims.lhs_contracting, dims.rhs_contracting, strict=True))
            attrs["dot_dimension_numbers"] = (dims.lhs_batching, dims.rhs_batching, pairs)
        if node.name == "stablehlo.slice":
            ranges = zip(attrs["start_indices"], attrs["limit_indices"], attrs["strides"], strict=True)
            attrs = {"ranges": [tuple(range(*r)) for r in ranges]}
        return sorted((k, v) for k, v in attrs.items())

    # ---- spellings

    def count_in_mesh_order(self, attrs: dict[str, Any]) -> None:
        """A permute's positions may be counted along its axes in any order; text has that of the mesh."""
        axes, mesh = attrs["axes"], self.program.mesh
        assert mesh is not None
        ordered = sorted(axes, key=mesh.mesh.order)
        grid = np.arange(prod(axis.size for axis in axes)).reshape([axis.size for axis in ordered])
        places = grid.transpose([ordered.index(axis) for axis in axes]).ravel().tolist()
        attrs["axes"] = tuple(ordered)
        attrs["pairs"] = tuple(sorted((places[source], places[target]) for source, target in attrs["pairs"]))

    def constant(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        value, type = cast(Dense, node.attrs["value"]), self.graph.type(node.results[0])
        if value.is_splat or value.data.size == 1:
            return [self.splat(value.data.reshape(-1)[:1].tobytes().hex(), type)]
        return [self.intern("dense", value.data.tobytes().hex(), type)]

    def splat(self, bits: str, type: TensorType) -> int:
        made = self.intern("splat", bits, type)
        SPLATS[made] = bits
        return made

    def reshape(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        return [
            self.reshaped(operands[0], self.graph.type(node.operands[0]), self.graph.type(node.results[0]))
        ]

    def reshaped(self, value: int, before: TensorType, after: TensorType) -> int:
        if value in SPLATS:
            return self.splat(SPLATS[value], after)
        if value in CHAINS and before != after:
            name, links = CHAINS[value]
            return self.linked(name, [self.reshaped(link, before, after) for link in links], after)
        value, before = RESHAPED.get(value, (value, before))
        if before == after:
            return value
        made = self.intern("reshape", value, after)
        RESHAPED[made] = value, before
        return made

    def broadcast(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        (value,), places = operands, cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])
        before, after = self.graph.type(node.operands[0]), self.graph.type(node.results[0])
        if value in SPLATS:
            return [self.splat(SPLATS[value], after)]
        if list(places) != sorted(places):
            return self.results(node, node.name, value, places)
        sizes = dict(zip(places, before.shape, strict=True))
        thin = before.with_shape(tuple(sizes.get(d, 1) for d in range(after.rank)))
        return [self.stretched(self.reshaped(value, before, thin), thin, after)]

    def stretched(self, value: int, thin: TensorType, after: TensorType) -> int:
        if thin == after:
            return value
        if value in CHAINS:
            name, links = CHAINS[value]
            return self.linked(name, [self.stretched(link, thin, after) for link in links], after)
        return self.intern("broadcast", value, after)

    def compare(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        """A number is not less than itself."""
        if (
            node.attrs["comparison_direction"] == "LT"
            and operands[0] == operands[1]
            and operands[0] in SPLATS
        ):
            return [self.splat("00", self.graph.type(node.results[0]))]
        return self.results(node, node.name, operands, self.attrs(node))

    def select(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        """A scalar condition, broadcast; one that is known; a quotient rounded down, here or in JAX."""
        divided = floored(node, self.made, self.element)
        if divided is not None:
            return self.results(node, "floored", [env[value] for value in divided.operands])
        if operands[0] in SPLATS:
            return [operands[1] if int(SPLATS[operands[0]], 16) else operands[2]]
        condition, type = self.graph.type(node.operands[0]), self.graph.type(node.results[0])
        if condition.shape != type.shape:
            thin = condition.with_shape((1,) * type.rank)
            wide = condition.with_shape(type.shape)
            operands[0] = self.stretched(self.reshaped(operands[0], condition, thin), thin, wide)
        return self.results(node, node.name, operands)

    def element(self, value: int) -> object:
        """The one element of a constant; None for other values."""
        node = self.made.get(value)
        if node is not None and node.name == "stablehlo.broadcast_in_dim":
            return self.element(node.operands[0])
        held = None if node is None else node.attrs.get("value")
        return held.data[()] if isinstance(held, Dense) and held.is_splat else None

    def chain(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        """a & (b & c) is (a & b) & c."""
        links: list[int] = []
        for value in operands:
            name, inner = CHAINS.get(value, ("", ()))
            links += inner if name == node.name else (value,)
        return [self.linked(node.name, links, self.graph.type(node.results[0]))]

    def linked(self, name: str, links: list[int], type: TensorType) -> int:
        made = self.intern(name, tuple(links), type)
        CHAINS[made] = name, tuple(links)
        return made

    def loop(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        cond, body = node.regions
        found = counted(node, self.constants)
        self.depth += 1
        args: list[int] = []
        moving: list[int] = []
        for i, (arg, result) in enumerate(zip(body.args, body.results, strict=True)):
            if arg == result:
                args.append(operands[i])
            elif found is not None and i == found.index:
                args.append(self.intern("counter", self.depth, self.graph.type(arg)))
            else:
                args.append(self.intern("carried", self.depth, len(moving), self.graph.type(arg)))
                moving.append(i)
        test = None if found else self.region(cond, {**env, **dict(zip(cond.args, args, strict=True))})
        step = self.region(body, {**env, **dict(zip(body.args, args, strict=True))})
        self.depth -= 1
        trips = (found.start, found.stop) if found else None
        key = repr(("while", trips, [operands[i] for i in moving], test, [step[i] for i in moving]))
        results: list[int] = []
        for i in range(len(operands)):
            if i in moving:
                results.append(self.intern(key, moving.index(i)))
            elif found is not None and i == found.index:
                data = np.array(max(found.start, found.stop), self.graph.type(node.results[i]).numpy)
                results.append(self.splat(data.tobytes().hex(), self.graph.type(node.results[i])))
            else:
                results.append(operands[i])
        return results

    def choice(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        regions, which = list(node.regions), operands[0]
        if node.name == "stablehlo.case" and which in CONVERTED and len(regions) == 2:
            which, regions = CONVERTED[which], regions[::-1]
        bodies = [self.region(region, env) for region in regions]
        return self.results(node, "choice", which, bodies)

    def convert(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        results = self.results(node, node.name, operands)
        if self.graph.type(node.operands[0]).dtype == "bool":
            CONVERTED[results[0]] = operands[0]
        return results

    def call(self, node: Node, operands: list[int], env: dict[int, int]) -> list[int]:
        body = self.graph.functions[str(node.attrs["callee"])].body
        return self.region(body, dict(zip(body.args, operands, strict=True)))


TABLE: dict[tuple[object, ...], int] = {}
SPLATS: dict[int, str] = {}
RESHAPED: dict[int, tuple[int, TensorType]] = {}
CHAINS: dict[int, tuple[str, tuple[int, ...]]] = {}
CONVERTED: dict[int, int] = {}

SPECIAL: dict[str, Callable[..., list[int]]] = {
    **dict.fromkeys(("stablehlo.and", "stablehlo.or", "stablehlo.xor"), Canonical.chain),
    "stablehlo.constant": Canonical.constant,
    "stablehlo.reshape": Canonical.reshape,
    "stablehlo.broadcast_in_dim": Canonical.broadcast,
    "stablehlo.compare": Canonical.compare,
    "stablehlo.select": Canonical.select,
    "stablehlo.while": Canonical.loop,
    "stablehlo.case": Canonical.choice,
    "stablehlo.if": Canonical.choice,
    "stablehlo.convert": Canonical.convert,
    "func.call": Canonical.call,
}


def compiled(source: str, file: str = "prog.shard") -> tuple[Graph, Graph]:
    """The single-device program and the local module."""
    with collecting():
        module = read_mlir(source, file) if file.endswith(".mlir") else read(source, file)
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
    return whole, snapshot(module).graph


def assert_round_trip(source: str, file: str = "prog.shard", runs: bool = True) -> str:
    """What --emit shard prints compiles to the same per-device program, and gives the same results."""
    whole, first = compiled(source, file)
    text = emit(first)
    again, second = compiled(text, "emitted.shard")
    assert Canonical(first).whole() == Canonical(second).whole(), text
    if runs:
        arrays = random_inputs(whole.types(whole.main.body.args))
        for want, have, source_of in zip(
            run(first, arrays), run(second, arrays), run(again, arrays), strict=True
        ):
            assert distance(np.asarray(want), np.asarray(have)) == 0, text
            assert distance(np.asarray(want), np.asarray(source_of)) <= 1e-5, text
    return text
