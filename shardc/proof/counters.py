"""How a loop counts: the integers that it carries, iteration by iteration, and which iterations are alike.

Integers that follow from integers alone (a counter, what is computed of it) are run for all iterations,
without the rest of the body. Iterations are alike if all comparisons of such integers fall alike in them: of
these every index is an affine function of the number of the iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from shardc.graph import Graph, Node, Region, captured
from shardc.graph.types import is_inexact
from shardc.interpret.devices import Blocks, Lockstep
from shardc.ops import Trait, func, has, hlo, sdy
from shardc.proof.values import parts
from shardc.semantics.arrays import Array

MOST_TRIPS = 1 << 14

_AFFINE = {d.name for d in (hlo.add, hlo.subtract, hlo.negate, hlo.multiply, hlo.convert, hlo.select)}
_CHOICES = {d.name for d in (hlo.maximum, hlo.minimum, hlo.clamp, hlo.abs_)}
_STARTS = {hlo.dynamic_slice.name: 1, hlo.dynamic_update_slice.name: 2}
"""Operation -> the first of its operands that say where it begins."""


class Trips(Struct, frozen=True):
    """states: carried number -> value, before each iteration and after the last. alike: by iteration."""

    states: tuple[Mapping[int, Blocks], ...]
    alike: tuple[bytes, ...]

    @property
    def count(self) -> int:
        return len(self.alike)

    def groups(self) -> list[list[int]]:
        """The iterations that are alike, with their numbers in order."""
        found: dict[bytes, list[int]] = {}
        for number, key in enumerate(self.alike):
            found.setdefault(key, []).append(number)
        return list(found.values())


class _Known(Struct):
    """Values that are known, by id, those of them that vary with the iteration, and what was decided."""

    values: dict[int, Blocks]
    varies: set[int]
    decided: list[bytes] = []


def trips(machine: Lockstep, node: Node, values: Sequence[Blocks], env: Mapping[int, Blocks]) -> Trips | None:
    """The loop's iterations; None where they depend on floats, or there are too many."""
    graph, (condition, body) = machine.graph, node.regions
    carried = {n for n, value in enumerate(node.operands) if not is_inexact(graph.type(value).dtype)}
    around = {v: env[v] for v in captured(node) if v in env and not parts(env[v][0])}
    while True:
        state: Mapping[int, Blocks] = {number: values[number] for number in carried}
        found = _step(machine, body, state, around)[0]
        lost = {number for number in carried if found[number] is None}
        if not lost:
            break
        carried -= lost
    states, alike = [state], list[bytes]()
    while len(alike) <= MOST_TRIPS:
        (goes_on,) = _step(machine, condition, state, around)[0]
        if goes_on is None or len({bool(block) for block in goes_on}) > 1:
            return None
        if not bool(goes_on[0]):
            return Trips(tuple(states), tuple(alike))
        results, decided = _step(machine, body, state, around)
        state = {number: found for number in carried if (found := results[number]) is not None}
        states.append(state)
        alike.append(decided)
    return None


def _step(
    machine: Lockstep, region: Region, state: Mapping[int, Blocks], around: Mapping[int, Blocks]
) -> tuple[list[Blocks | None], bytes]:
    """What is known of the region's results, and all that was decided on the way."""
    known = _Known(dict(around), set())
    for number, value in state.items():
        known.values[region.args[number]] = value
        known.varies.add(region.args[number])
    _run(machine, region, known)
    return [known.values.get(result) for result in region.results], b"|".join(known.decided)


def _run(machine: Lockstep, region: Region, known: _Known) -> None:
    for node in region.nodes[:-1]:
        callee = _callee(machine.graph, node)
        if callee is not None:
            _call(machine, node, callee, known)
        else:
            _node(machine, node, known)


def _callee(graph: Graph, node: Node) -> Region | None:
    if node.name == func.call.name:
        return graph.functions[str(node.attrs["callee"])].body
    return node.regions[0] if node.name == sdy.named_computation.name else None


def _call(machine: Lockstep, node: Node, callee: Region, known: _Known) -> None:
    inner = _Known({}, set(), known.decided)
    _pass(zip(node.operands, callee.args, strict=True), known, inner)
    _run(machine, callee, inner)
    _pass(zip(callee.results, node.results, strict=True), inner, known)


def _pass(pairs: zip[tuple[int, int]], source: _Known, target: _Known) -> None:
    for old, new in pairs:
        if old in source.values:
            target.values[new] = source.values[old]
        if old in source.varies:
            target.varies.add(new)


def _node(machine: Lockstep, node: Node, known: _Known) -> None:
    used = (*node.operands, *captured(node))
    varying = [value for value in used if value in known.varies]
    plain = not node.regions and not any(is_inexact(machine.graph.type(v).dtype) for v in node.results)
    if plain and all(value in known.values for value in used):
        operands = [known.values[value] for value in node.operands]
        found = machine.node(node, operands, {})
        known.values.update(zip(node.results, found, strict=True))
        if varying:
            known.varies.update(node.results)
            known.decided += _decisions(machine.graph, node, operands, found, known)
    elif varying:
        known.decided += _uses(machine.graph, node, varying, known)


def _decisions(
    graph: Graph, node: Node, operands: Sequence[Blocks], results: Sequence[Blocks], known: _Known
) -> list[bytes]:
    """What an operation on integers adds to how the iteration went."""
    if graph.type(node.results[0]).dtype == "bool":
        return [_bytes(results[0])]
    if node.name in _CHOICES:
        pairs = (zip(results[0], operand, strict=True) for operand in operands)
        return [_bytes([np.equal(result, given) for result, given in pair]) for pair in pairs]
    several = node.name == hlo.multiply.name and len(known.varies & set(node.operands)) > 1
    if (node.name in _AFFINE and not several) or has(node.name, Trait.MOVES, Trait.IDENTITY):
        return []
    return [_bytes(operand) for operand in operands]


def _uses(graph: Graph, node: Node, varying: Sequence[int], known: _Known) -> list[bytes]:
    """What an operation on other values does with integers that vary: an index is an index."""
    if node.name in _STARTS:
        first, part = _STARTS[node.name], node.operands[1] if _STARTS[node.name] == 2 else node.results[0]
        room = np.subtract(graph.type(node.operands[0]).shape, graph.type(part).shape)
        starts = [known.values[v] for v in node.operands[first:] if v in known.values]
        if len(starts) == len(room) and not set(node.operands[:first]) & set(varying):
            return [
                _bytes([np.stack([start < 0, start > most]) for start in found])
                for found, most in zip(starts, room, strict=True)
            ]
    return [_bytes(known.values[v]) for v in varying if graph.type(v).dtype != "bool" and v in known.values]


def _bytes(blocks: Sequence[Array]) -> bytes:
    """The elements of all devices; equal ones once."""
    return b",".join(dict.fromkeys(np.ascontiguousarray(block).tobytes() for block in blocks))
