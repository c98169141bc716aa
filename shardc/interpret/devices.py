"""Executes a Graph on all devices of a mesh in lockstep; one device is the single-device program.

A value is the list of its blocks, one per position of the mesh. Where the blocks of all operands are the
same objects at several positions, the operation is done once and its result shared.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.analysis.summed_copies import summed_copies
from shardc.diagnostics import ShardcError
from shardc.graph.program import Graph, Node, Op, Region, captured, walk
from shardc.interpret.collectives import EXCHANGES, Blocks, Place
from shardc.interpret.hooks import Env, Hooks
from shardc.interpret.liveness import deaths
from shardc.interpret.manual import axes_in, manual_part, manual_place
from shardc.layout import Axis, LayoutError, Mesh, Sharding, size_of
from shardc.layout.groups import position_over
from shardc.ops import Trait, func, has, hlo, op_of, sdy
from shardc.semantics.arrays import Array, Body, quiet
from shardc.semantics.blocks import BlockError, BrokenPromise, assemble, cut
from shardc.semantics.lapack import is_known, options_of

ONE_DEVICE = Place(Mesh("one device", ()), (0,))


class Lockstep:
    """Runs regions of `graph` on the devices of `place`, as `hooks` say."""

    def __init__(self, graph: Graph, place: Place = ONE_DEVICE, hooks: Hooks[Lockstep] | None = None) -> None:
        self.graph = graph
        self.place = place
        self.hooks = Hooks[Lockstep]() if hooks is None else hooks
        self._awake: list[bool] | None = None  # which positions are in the branch or loop; all, if None
        self._copies: dict[int, tuple[Axis, ...]] | None = None
        self._ops: dict[int, Op] = {}
        self._deaths: dict[int, list[list[int]]] = {}

    def run(self, region: Region, args: Sequence[Blocks], env: Env) -> list[Blocks]:
        """The values the region returns; `env` holds those around it, and its own while they live."""
        if id(region) not in self._deaths:
            self._deaths[id(region)] = deaths(region)
        env.update(zip(region.args, args, strict=True))
        for node, dying in zip(region.nodes[:-1], self._deaths[id(region)], strict=False):
            values = self.node(node, [env[operand] for operand in node.operands], env)
            env.update(zip(node.results, values, strict=True))
            if self.hooks.trace is not None:
                self.hooks.trace(node, values)
            for value in dying:
                del env[value]
        return [env[result] for result in region.results]

    @quiet
    def node(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """The results of one operation; ShardcError at its source line if they cannot be had."""
        try:
            if node.name in _CONTROL:
                return _CONTROL[node.name](self, node, values, env)
            if has(node.name, Trait.SHOWS) and self.hooks.show is not None:
                self.hooks.show(node, values[0], self.place.devices, self._is_awake)
            if node.name in EXCHANGES:
                bodies = self._bodies(node, env, 0)
                return EXCHANGES[node.name](self._op(node), values, replace(self.place, bodies=bodies))
            if self.hooks.meanings(node.name) is not None and _is_known(node):
                return self._everywhere(node, values, env)
        except BrokenPromise as error:
            raise ShardcError(str(error), node.loc) from error
        except (BlockError, LayoutError) as error:
            raise ShardcError(f"{node.name}: {error}", node.loc) from error
        except MemoryError as error:
            types = " and ".join(str(self.graph.type(value)) for value in node.results)
            raise ShardcError(f"{node.name} makes {types}, for which there is no memory", node.loc) from error
        target = node.attrs.get("call_target_name")
        name = f"{node.name} @{target}" if target else node.name
        raise ShardcError(f"{name} cannot be run here: what it computes is not known", node.loc)

    def _is_awake(self, position: int) -> bool:
        return self._awake is None or self._awake[position]

    @contextmanager
    def _only(self, there: Sequence[bool]) -> Generator[None]:
        """What runs inside is for these positions, as far as they have come here."""
        before = self._awake
        self._awake = [now and self._is_awake(position) for position, now in enumerate(there)]
        yield
        self._awake = before

    def _op(self, node: Node) -> Op:
        if node.id not in self._ops:
            self._ops[node.id] = op_of(self.graph, node)
        return self._ops[node.id]

    def _everywhere(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """The operation on every device; once for devices whose operands are the same objects."""
        op, computes = self._op(node), self.hooks.meanings(node.name)
        assert computes is not None
        around = [env[value] for value in captured(node)] if node.regions else []
        keys = [
            tuple(id(blocks[position]) for blocks in (*values, *around))
            for position in range(self.place.mesh.size)
        ]
        done = {} if around else self._at_once(op, values, keys)
        results: list[Blocks] = [[] for _ in op.results]
        for position, key in enumerate(keys):
            if key not in done:
                arrays = [blocks[position] for blocks in values]
                found = computes(op, arrays, *self._bodies(node, env, position))
                done[key] = [np.asarray(array) for array in found]
            for blocks, array in zip(results, done[key], strict=True):
                blocks.append(array)
        return results

    def _at_once(
        self, op: Op, values: list[Blocks], keys: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], list[Array]]:
        """Results by the operands' identities, where `together` computes them for several devices."""
        places = {key: position for position, key in enumerate(keys)}
        together = self.hooks.together
        if len(places) < 2 or together is None:
            return {}
        found = together(op, [[blocks[position] for blocks in values] for position in places.values()])
        return {} if found is None else dict(zip(places, map(list, found), strict=True))

    def _bodies(self, node: Node, env: Env, position: int) -> tuple[Body, ...]:
        """The regions, which are over scalars, as functions of whole arrays on one device."""

        def applied(region: Region) -> Body:
            outer = {value: env[value][position] for value in captured(node)}
            return lambda *arrays: self._lanes(
                region, {**outer, **dict(zip(region.args, arrays, strict=True))}
            )

        return tuple(map(applied, node.regions))

    def _lanes(self, region: Region, lanes: dict[int, Array]) -> list[Array]:
        for node in region.nodes[:-1]:
            arrays = [lanes[operand] for operand in node.operands]
            if node.name == func.call.name:
                callee = self.graph.functions[str(node.attrs["callee"])].body
                results = self._lanes(callee, dict(zip(callee.args, arrays, strict=True)))
            elif has(node.name, Trait.VIEW):
                results = arrays
            elif not node.regions and (computes := self.hooks.meanings(node.name)) is not None:
                results = computes(self._op(node), arrays)
            else:
                raise ShardcError(f"{node.name} cannot be run inside the region of a reduction", node.loc)
            lanes.update(zip(node.results, results, strict=True))
        return [lanes[result] for result in region.results]

    def call(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """func.call, and stablehlo.composite by its decomposition."""
        name = str(node.attrs["callee" if node.name == func.call.name else "decomposition"])
        callee = self.graph.functions.get(name)
        if callee is None:
            raise ShardcError(f"call of {name}, which is no function", node.loc)
        otherwise = None if self.hooks.loop is None else self.hooks.loop(self, node, values, env)
        return self.run(callee.body, values, {}) if otherwise is None else otherwise

    def inline(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """sdy.named_computation."""
        return self.run(node.regions[0], values, env)

    def reduction(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """sdy.all_reduce, sdy.reduce_scatter: a change of layout, but where they sum copies."""
        if self._copies is None:
            self._copies = summed_copies(self.graph)
        copies = size_of(self._copies.get(node.id, ()))
        return [[block * block.dtype.type(copies) for block in values[0]]] if copies > 1 else values

    def while_(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """stablehlo.while. Devices that are done keep their values while others go on."""
        condition, body = node.regions
        otherwise = None if self.hooks.loop is None else self.hooks.loop(self, node, values, env)
        while otherwise is None:
            if self.hooks.turn is not None:
                self.hooks.turn(node)
            (goes_on,) = self.run(condition, values, env)
            predicates = [bool(block) for block in goes_on]
            if not any(predicates):
                return values
            if not all(predicates):
                _check_no_communication(node, "go on in this loop")
            with self._only(predicates):
                new = self.run(body, values, env)
            values = [_choose(predicates, after, before) for after, before in zip(new, values, strict=True)]
        return otherwise

    def case(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """stablehlo.case: an index outside the branches takes the last."""
        last = len(node.regions) - 1
        chosen = [int(block) for block in values[0]]
        return self._branch(node, [index if 0 <= index <= last else last for index in chosen], env)

    def if_(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """stablehlo.if."""
        return self._branch(node, [0 if block else 1 for block in values[0]], env)

    def _branch(self, node: Node, chosen: list[int], env: Env) -> list[Blocks]:
        if len(set(chosen)) > 1:
            _check_no_communication(node, "take this branch")
        taken: dict[int, list[Blocks]] = {}
        for index in sorted(set(chosen)):
            with self._only([other == index for other in chosen]):
                taken[index] = self.run(node.regions[index], [], env)
        return [
            [taken[index][result][position] for position, index in enumerate(chosen)]
            for result in range(len(node.results))
        ]

    def manual_computation(self, node: Node, values: list[Blocks], env: Env) -> list[Blocks]:
        """sdy.manual_computation: operands are cut over its manual axes, results assembled.

        In other per-device code that runs for every position of the axes of that code, and its own.
        """
        place, own = manual_place(node, self.graph, self.place.mesh)
        outer = position_over(place.mesh, axes_in(self.place.mesh, place.mesh)).tolist()
        inner = position_over(place.mesh, axes_in(own, place.mesh)).tolist()
        ins = cast("tuple[Sharding, ...]", node.attrs["in_shardings"])
        blocks: list[Blocks] = []
        ends = self.hooks.ends if self.place.mesh.size == 1 and inner == list(range(own.size)) else None
        for arrays, sharding in zip(values, ins, strict=True):
            known = ends.cut(arrays, manual_part(sharding, own)) if ends else None
            if known:
                blocks.append(known)
                continue
            ids = list(map(id, arrays))
            parts = {
                key: cut(array, manual_part(sharding, own)) for key, array in zip(ids, arrays, strict=True)
            }
            blocks.append([parts[ids[o]][i] for o, i in zip(outer, inner, strict=True)])
        runner = Lockstep(self.graph, place, replace(self.hooks, ends=None))
        results = runner.run(node.regions[0], blocks, {})
        order = [[p for p, at in enumerate(outer) if at == o] for o in range(self.place.mesh.size)]
        order = [sorted(positions, key=lambda p: inner[p]) for positions in order]
        outs = cast("tuple[Sharding, ...]", node.attrs["out_shardings"])
        shapes = (type.shape for type in self.graph.types(node.results))
        known = [
            ends.join(found, manual_part(sharding, own), shape) if ends else None
            for found, sharding, shape in zip(results, outs, shapes, strict=True)
        ]
        return [
            known[index] or self._whole(node, index, found, order, own) for index, found in enumerate(results)
        ]

    def _whole(self, node: Node, index: int, blocks: Blocks, order: list[list[int]], own: Mesh) -> Blocks:
        """A result put together for every position around the computation, once for equal blocks."""
        sharding = cast("tuple[Sharding, ...]", node.attrs["out_shardings"])[index]
        shape = self.graph.type(node.results[index]).shape
        done: dict[tuple[int, ...], Array] = {}
        wholes: Blocks = []
        for positions in order:
            parts = [blocks[position] for position in positions]
            key = tuple(map(id, parts))
            if key not in done:
                done[key] = assemble(parts, manual_part(sharding, own), shape, self.hooks.check)
            wholes.append(done[key])
        return wholes


def _choose(predicates: list[bool], after: Blocks, before: Blocks) -> Blocks:
    return [new if goes_on else old for goes_on, new, old in zip(predicates, after, before, strict=True)]


def _is_known(node: Node) -> bool:
    target = node.attrs.get("call_target_name")
    return target is None or is_known(str(target), options_of(node.attrs))


def _check_no_communication(node: Node, what: str) -> None:
    """Devices may only part ways where they don't wait for each other."""
    inside = next((inner for region in node.regions for inner in walk(region) if _communicates(inner)), None)
    if inside is not None:
        raise ShardcError(
            f"only some devices {what}, and {inside.name} in it waits for all",
            node.loc,
            hint="make the condition equal on all devices, for example by reducing it over the mesh axes",
        )


def _communicates(node: Node) -> bool:
    return has(node.name, Trait.COLLECTIVE, Trait.GROUPED)


_CONTROL: dict[str, Callable[[Lockstep, Node, list[Blocks], Env], list[Blocks]]] = {
    func.call.name: Lockstep.call,
    sdy.named_computation.name: Lockstep.inline,
    hlo.composite.name: Lockstep.call,
    hlo.while_.name: Lockstep.while_,
    hlo.case.name: Lockstep.case,
    hlo.if_.name: Lockstep.if_,
    sdy.manual_computation.name: Lockstep.manual_computation,
    sdy.all_reduce.name: Lockstep.reduction,
    sdy.reduce_scatter.name: Lockstep.reduction,
}
