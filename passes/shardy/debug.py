"""Shardy's attributes for debugging: where axes came from, and by which step they came to which tensor.

sdy.sharding_origins = [{a = "input: 0", b = "output: 0"}]
sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"a" = operand-0 -> [operand-1, result-0]}]}]>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardc.dialects.sdy import ManualComputationOp, ShardingConstraintOp
from shardc.dialects.sdy_attributes import PropagationEdgesAttr
from shardc.dialects.shardings import axis_ref
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Function, Node, walk
from shardc.layout import Axis, Mesh, Sharding
from shardc.propagation.flow import Link
from shardc.propagation.history import Gain, RecordedVisit, origins
from shardc.propagation.run import Result

ORIGINS = "sdy.sharding_origins"
ORIGIN_NAME = "sdy.sharding_origin_name"
EDGES = "sdy.propagation_edges"

Origins = dict[Axis, str]


class Debugger(Struct, dict=True):
    """Writes what is known about one propagation onto the module. `owners` has the operation of each edge."""

    snap: Snapshot
    result: Result
    visits: list[RecordedVisit]
    owners: Mapping[int, Operation]

    def __post_init__(self) -> None:
        self._places = {v: place for body in self.result.bodies for v, place in body.places.items()}
        for instance in self.result.flow.instances:
            self._places |= instance.places
        self._functions = {
            op.sym_name.data: op for op in self.snap.module.body.block.ops if isinstance(op, FuncOp)
        }

    def write_origins(self) -> None:
        """`sdy.sharding_origins` on everything that has a sharding."""
        by_place: dict[int, Origins] = {}
        for name, function in self.snap.graph.functions.items():
            self._note_borders(name, function, by_place)
        names = self._note_operations(by_place)
        origins(self.result.flow, self.visits, by_place)
        for name, function in self.snap.graph.functions.items():
            self._write_function(self._functions[name], function, by_place)
            for node in walk(function.body):
                self._write_node(node, by_place, names)

    def _note(self, by_place: dict[int, Origins], value: int, sharding: Sharding | None, origin: str) -> None:
        for dim in sharding.dims if sharding else ():
            for axis in dim.axes:
                by_place.setdefault(self._places[value], {}).setdefault(axis, origin)

    def _note_borders(self, name: str, function: Function, by_place: dict[int, Origins]) -> None:
        start = self.result.flow.start
        for number, arg in enumerate(function.body.args):
            self._note(by_place, arg, start[self._places[arg]], f"input: {number}")
        results = zip(function.body.results, self.result.flow.results.get(name, ()), strict=True)
        for number, (value, place) in enumerate(results):
            self._note(by_place, value, start[place], f"output: {number}")

    def _note_operations(self, by_place: dict[int, Origins]) -> dict[int, str]:
        """Number the constraints and manual computations; the name of each."""
        names: dict[int, str] = {}
        counts = {ShardingConstraintOp: 0, ManualComputationOp: 0}
        for function in self.snap.graph.functions.values():
            for node in walk(function.body):
                op = self.snap.ops[node.id]
                if isinstance(op, ShardingConstraintOp):
                    names[node.id] = f"constraint_{counts[ShardingConstraintOp]}"
                    counts[ShardingConstraintOp] += 1
                    self._note(by_place, node.results[0], _sharding(node, "sharding"), names[node.id])
                elif isinstance(op, ManualComputationOp):
                    names[node.id] = f"mc_{counts[ManualComputationOp]}"
                    counts[ManualComputationOp] += 1
                    for side, values in (("in", node.regions[0].args), ("out", node.results)):
                        word = f"{names[node.id]}_{side}put"
                        for number, value in enumerate(values):
                            given = _sharding(node, f"{side}_shardings", number)
                            self._note(by_place, value, given, f"{word}: {number}")
        return names

    def _write_function(self, op: FuncOp, function: Function, by_place: dict[int, Origins]) -> None:
        for key, values, word in (
            ("arg_attrs", function.body.args, "input"),
            ("res_attrs", function.body.results, "output"),
        ):
            for number, value in enumerate(values):
                known = by_place.get(self._places[value])
                if known:
                    own = f"{word}: {number}"
                    _set(op, key, len(values), number, ORIGINS, self._dictionary(value, known, own))

    def _write_node(self, node: Node, by_place: dict[int, Origins], names: dict[int, str]) -> None:
        op = self.snap.ops[node.id]
        name = names.get(node.id)
        if name is not None:
            op.attributes[ORIGIN_NAME] = StringAttr(name)
        for side, values in (
            ("input", node.regions[0].args if node.regions else ()),
            ("output", node.results),
        ):
            for number, value in enumerate(values):
                known = by_place.get(self._places.get(value, -1))
                if value in self.owners and known:
                    own = f"{name}_{side}: {number}"
                    self.owners[value].attributes[ORIGINS] = self._dictionary(value, known, own)
        found = [by_place.get(self._places.get(value, -1), {}) for value in node.results]
        if not any(found) or any(value in self.owners for value in node.results):
            return
        if isinstance(op, ShardingConstraintOp):
            op.attributes[ORIGINS] = self._dictionary(node.results[0], found[0], name)
        else:
            each = zip(node.results, found, strict=True)
            op.attributes[ORIGINS] = ArrayAttr([self._dictionary(value, known) for value, known in each])

    def _dictionary(self, value: int, known: Origins, own: str | None = None) -> DictionaryAttr:
        mesh = self._mesh(
            [self.result.found[self._places[value]], self.result.flow.start[self._places[value]]]
        )
        return DictionaryAttr(
            {
                str(axis_ref(axis, mesh)).replace('"', ""): StringAttr("self" if origin == own else origin)
                for axis, origin in known.items()
            }
        )

    def _mesh(self, shardings: Sequence[Sharding | None]) -> Mesh:
        """The mesh that shardings are over."""
        known = [sharding.mesh for sharding in shardings if sharding is not None]
        return known[0] if known else next(iter(self.snap.graph.meshes.values()))

    # Edges

    def write_edges(self) -> None:
        """`sdy.propagation_edges` on everything that took part."""
        texts: dict[int, list[str]] = {}
        returned: dict[str, list[str]] = {}
        told: set[tuple[str, Axis]] = set()
        for visit in self.visits:
            if visit.link not in self.result.flow.returns:
                texts.setdefault(id(visit.link), []).append(self._step(visit, visit.gains))
                continue
            name = self._function_of(visit)
            new = [gain for gain in visit.gains if (name, gain.axis) not in told]
            told |= {(name, gain.axis) for gain in new}
            returned.setdefault(name, []).append(self._step(visit, new))
        for link in self.result.flow.links:
            steps = list(filter(None, texts.get(id(link), ())))
            if steps:
                self._target(link).attributes[EDGES] = PropagationEdgesAttr(f"[{', '.join(steps)}]")
        for name, found in returned.items():
            steps = list(filter(None, found))
            op = self._functions[name]
            if steps:
                edges = PropagationEdgesAttr(f"[{', '.join(steps)}]")
                _set(op, "res_attrs", len(op.function_type.outputs), 0, EDGES, edges)

    def _target(self, link: Link) -> Operation:
        """The operation of an edge, or of the link's node."""
        places = {self._places[value]: op for value, op in self.owners.items()}
        return places.get(link.tensors[-1], self.snap.ops[link.node.id])

    def _function_of(self, visit: RecordedVisit) -> str:
        for name, function in self.snap.graph.functions.items():
            if function.body.nodes[-1] is visit.link.node:
                return name
        raise AssertionError("a returned value of no function")

    def _step(self, visit: RecordedVisit, gains: Sequence[Gain]) -> str:
        """`{step-1 = [{"a" = operand-0 -> [result-0]}]}`; nothing if nothing was gained."""
        operands = len(visit.link.rule.operands)
        by_axis: dict[Axis, list[Gain]] = {}
        for gain in gains:
            by_axis.setdefault(gain.axis, []).append(gain)
        mesh = self._mesh(visit.old)
        places = {name: place for place, (name, _) in enumerate(mesh.axes)}
        parts: list[str] = []
        for axis in sorted(by_axis, key=lambda axis: (places[axis.name], axis.pre, axis.size)):
            targets = ", ".join(dict.fromkeys(_tensor(gain.tensor, operands) for gain in by_axis[axis]))
            source = _tensor(by_axis[axis][0].source, operands)
            parts.append(f"{{{axis_ref(axis, mesh)} = {source} -> [{targets}]}}")
        return f"{{step-{visit.step} = [{', '.join(parts)}]}}" if parts else ""


def _sharding(node: Node, key: str, number: int | None = None) -> Sharding | None:
    given = node.attrs.get(key)
    if number is not None and isinstance(given, tuple):
        given = cast("tuple[object, ...]", given)[number]
    return given if isinstance(given, Sharding) else None


def _tensor(number: int, operands: int) -> str:
    return f"operand-{number}" if number < operands else f"result-{number - operands}"


def _set(op: FuncOp, key: str, count: int, number: int, name: str, value: Attribute) -> None:
    """Give an argument or a result of a function an attribute."""
    given = op.properties.get(key)
    entries: Sequence[DictionaryAttr] = list(given) if isinstance(given, ArrayAttr) else []  # pyright: ignore
    entries = list(entries) or [DictionaryAttr({})] * count
    entries[number] = DictionaryAttr({**entries[number].data, name: value})
    op.properties[key] = ArrayAttr(entries)
