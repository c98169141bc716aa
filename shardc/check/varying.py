"""The varying and partial types of per-device code, checked operation by operation.

`check_graph` checks every sdy.manual_computation of a module, `check_body` one. They accept what JAX's
check_vma accepts, and know partial results besides: these exist where an in_sharding says `unreduced`, where
spmd.to_partial makes them, and where the compiler marks an operation with `shardc.partial_over`. They may
pass linear operations only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from shardc.analysis.manual import mesh_of
from shardc.analysis.text import name_of
from shardc.check.boundary import Left, entering, leaving
from shardc.check.communication import COMMUNICATION, said
from shardc.check.flow import not_partial, plain, without_partials
from shardc.check.groups import GROUPED
from shardc.check.numbers import ARITHMETIC, arithmetic, constant, device_number
from shardc.check.site import CheckedOp
from shardc.check.state import REDUCERS, SAME, AxisParts, State
from shardc.diagnostics import collecting
from shardc.graph import Graph, Node, Region, captured, walk
from shardc.layout import Axis, Sharding
from shardc.ops import Trait, func, has, hlo, sdy


class VaryingTypes(Mapping[int, State]):
    """The state of every value of a body, by value id; `text` writes it with the value's tensor type."""

    def __init__(self, graph: Graph, parts: AxisParts, states: dict[int, State]) -> None:
        self._graph, self.parts, self._states = graph, parts, states

    def __getitem__(self, value: int) -> State:
        return self._states[value]

    def __iter__(self) -> Iterator[int]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def text(self, value: int) -> str:
        """`f32[2, 32]{varies: i, j}`."""
        return self.parts.type_text(self._graph.type(value), self._states[value])


def check_graph(graph: Graph) -> dict[int, VaryingTypes]:
    """Check all per-device code of a module: the types of each body, by the id of its node."""
    found: dict[int, VaryingTypes] = {}
    left: dict[int, Left] = {}
    for function in graph.functions.values():
        nested: set[int] = set()
        for node in walk(function.body):
            if node.name == sdy.manual_computation.name and node.id not in nested:
                found[node.id] = check_body(graph, node, left)
                nested |= {inner.id for inner in walk(node.regions[0])}
    return found


def check_body(graph: Graph, node: Node, left: dict[int, Left] | None = None) -> VaryingTypes:
    """The types of the values in a sdy.manual_computation; ShardcError at the first operation that is wrong.

    left: how values left other bodies, to which those of this one are added. Warns where a reduction combines
    copies.
    """
    parts = parts_of(graph, node)
    states: dict[int, State] = {}
    Checker(graph, parts, frozenset(), states, left).manual_computation(node)
    return VaryingTypes(graph, parts, states)


class Checker:
    """Walks regions in order; `states` fills up."""

    def __init__(
        self,
        graph: Graph,
        parts: AxisParts,
        manual: frozenset[str],
        states: dict[int, State],
        left: dict[int, Left] | None = None,
    ) -> None:
        self.graph, self.parts, self.manual, self.states = graph, parts, manual, states
        self.left: dict[int, Left] = {} if left is None else left
        """How values left the bodies that were checked before."""
        self.makers: dict[int, Node] = {}
        self.called: dict[str, tuple[list[State], list[State]]] = {}
        """What each function was last called with, and what came of it."""
        self.steady: dict[int, tuple[list[State], list[State]]] = {}
        """What each loop last began with and took from around it, and what it carries then."""
        self.around: dict[int, list[int]] = {}
        """The values from around each loop that it uses."""
        self.unheard = 0
        """In how many loops it looks for what they carry. Warnings are not heard there, and that a value is
        the same on all devices is no error yet: it may vary from the second turn on."""

    def region(self, region: Region, args: Sequence[State]) -> list[State]:
        """The states of a region's results, given those of its arguments."""
        self.states.update(zip(region.args, args, strict=True))
        for node in region.nodes[:-1]:
            self.makers.update(dict.fromkeys(node.results, node))
            self.states.update(zip(node.results, self.node(node), strict=True))
        return [self.states.get(v, SAME) for v in region.results]

    def node(self, node: Node) -> list[State]:
        """The states of an operation's results."""
        control = CONTROL.get(node.name)
        if control:
            return control(self, node)
        rule = TYPING_RULES.get(node.name)
        if rule is None:
            return without_partials(node, self.states) or plain(self.site(node))
        return rule(self.site(node))

    def site(self, node: Node) -> CheckedOp:
        settled = not self.unheard
        return CheckedOp(self.graph, node, self.parts, self.manual, self.states, self.makers, settled)

    def manual_computation(self, node: Node) -> list[State]:
        """Enter by the in_shardings, leave by the out_shardings."""
        manual = self.manual | set(cast(tuple[str, ...], node.attrs["manual_axes"]))
        shardings = cast(Sequence[Sharding], node.attrs["in_shardings"])
        (region,) = node.regions
        args = [
            entering(sharding, outside, self.parts, manual, self.left.get(value))
            for sharding, outside, value in zip(shardings, self.site(node).states, node.operands, strict=True)
        ]
        inner = Checker(self.graph, self.parts, manual, self.states, self.left)
        inner.unheard = self.unheard
        results = inner.region(region, args)
        returned = inner.site(region.nodes[-1])
        for index, result in enumerate(node.results):
            self.left[result] = leaving(returned, node, index)
        outer = self.parts.of(self.parts.mesh.axis(name) for name in self.manual)
        return [replace(s, varies=s.varies & outer, partial=s.partial & outer) for s in results]

    def call(self, node: Node) -> list[State]:
        """The callee, with the states of these arguments."""
        name, args = cast(str, node.attrs["callee"]), [*self.site(node).states]
        if name not in self.called or self.called[name][0] != args:
            self.called[name] = args, self.region(self.graph.functions[name].body, args)
        return self.called[name][1]

    def loop(self, node: Node) -> list[State]:
        """A while: what is carried has a state that one more turn does not change.

        A loop in a loop is looked at again only where it begins with, or takes from around it, something
        else than the last time.
        """
        if node.id not in self.around:
            self.around[node.id] = captured(node)
        begun = [self.states.get(value, SAME) for value in (*node.operands, *self.around[node.id])]
        if node.id not in self.steady or self.steady[node.id][0] != begun:
            self.steady[node.id] = begun, self._steady(node, begun[: len(node.operands)])
        carried = self.steady[node.id][1]
        if not self.unheard:
            self.called.clear()  # what it warned of was not heard
            self._iterate(node, carried)
        return carried

    def _steady(self, node: Node, carried: list[State]) -> list[State]:
        """What a loop carries in all turns."""
        site = self.site(node)
        self.unheard += 1
        with collecting():
            while True:
                after = self._iterate(node, carried)
                repeated = [
                    _join(site, f"{_carried(site, i)} is", pair, ("where the loop starts", "after a turn"))
                    for i, pair in enumerate(zip(carried, after, strict=True))
                ]
                if repeated == carried:
                    break
                carried = repeated
        self.unheard -= 1
        return carried

    def _iterate(self, node: Node, carried: list[State]) -> list[State]:
        condition, body = node.regions
        (predicate,) = self.region(condition, carried)
        not_partial(self.site(condition.nodes[-1]), "the condition of a loop must be whole")
        self._no_waiting(predicate, node.regions, "only some devices go on with the loop")
        return [_decided(self.site(node), predicate, state) for state in self.region(body, carried)]

    def branch(self, node: Node) -> list[State]:
        """A case or if: the results of the branches, and what decides between them."""
        site = self.site(node)
        not_partial(site, f"what {site.op_name} decides by must be whole")
        self._no_waiting(site.states[0], node.regions, "only some devices come here")
        branches = [self.region(region, ()) for region in node.regions]
        joined = branches[0]
        for other in branches[1:]:
            joined = [
                _join(site, f"{_branched(site, i)} is", pair, ("in one branch", "in another"))
                for i, pair in enumerate(zip(joined, other, strict=True))
            ]
        return [_decided(site, site.states[0], state) for state in joined]

    def _no_waiting(self, predicate: State, regions: Sequence[Region], which: str) -> None:
        """ShardcError where devices wait for others that went another way."""
        for node in reached(self.graph, regions, set()) if predicate.varies else ():
            apart = self.parts.of(cast(Sequence[Axis], node.attrs.get("axes", ()))) & predicate.varies
            if apart and has(node.name, Trait.COLLECTIVE):
                site, over = self.site(node), self.parts.text(apart)
                raise site.error(
                    f"{said(node)} over {over} waits for all devices along {over}, and {which}: "
                    f"what decides varies over {over}",
                    f"decide by a value that is the same over {over}: pmax it over {over} first",
                )


def _carried(site: CheckedOp, index: int) -> str:
    """What the source calls a value that a loop carries."""
    named = (site.node.results[index], site.node.regions[1].args[index], site.node.operands[index])
    names = (name_of(site.graph.values[value].loc) for value in named)
    return next((name for name in names if name), f"carried value {index + 1}")


def _branched(site: CheckedOp, index: int) -> str:
    """What to call a result of a branch."""
    name = name_of(site.graph.values[site.node.results[index]].loc)
    which = "the result" if len(site.node.results) == 1 else f"result {index}"
    return name or f"{which} of {site.op_name}"


def _join(site: CheckedOp, what: str, pair: tuple[State, State], ways: tuple[str, str]) -> State:
    """What holds of a value that is one or the other, depending on the way taken."""
    a, b = pair
    partial = a.partial | b.partial
    kind = a.kind if a.partial else b.kind
    one_kind = not (a.partial and b.partial) or a.kind == b.kind
    if not one_kind or not all(state.is_term(axis, kind) for state in pair for axis in partial):
        texts = [f"{{{site.parts.state_text(s)}}} {way}" for s, way in zip(pair, ways, strict=True)]
        which = next(way for s, way in zip(pair, ways, strict=True) if s.partial)
        over = site.parts.text(partial)
        raise site.error(f"{what} {' and '.join(texts)}", f"{REDUCERS[kind]} over {over} what it is {which}")
    numbers = a.numbers if a.numbers == b.numbers else None
    return State((a.varies | b.varies) - partial, partial, kind, a.zero and b.zero, numbers)


def _decided(site: CheckedOp, predicate: State, state: State) -> State:
    """A result whose making depended on a predicate."""
    if predicate.varies & state.partial:
        over = site.parts.text(predicate.varies & state.partial)
        raise site.error(
            f"{site.op_name} depends on a value that varies over {over}, and its result is partial over it"
        )
    return replace(state, varies=state.varies | predicate.varies)


def each(site: CheckedOp) -> list[State]:
    """Result i is operand i."""
    return list(site.states)


def _shardings(node: Node) -> list[Sharding]:
    return [
        *cast(Sequence[Sharding], node.attrs["in_shardings"]),
        *cast(Sequence[Sharding], node.attrs["out_shardings"]),
    ]


def parts_of(graph: Graph, node: Node) -> AxisParts:
    """The axes cut as the shardings and the operations of the body need it."""
    nodes = list(reached(graph, node.regions, set()))
    named = [axis for inner in nodes for axis in cast(Sequence[Axis], inner.attrs.get("axes", ()))]
    shardings = [
        sharding
        for manual in (node, *(inner for inner in nodes if inner.name == node.name))
        for sharding in _shardings(manual)
    ]
    mesh = shardings[0].mesh if shardings else mesh_of(node, graph.meshes.values())
    return AxisParts(mesh, [*named, *(axis for sharding in shardings for axis in sharding.axes())], node.loc)


def reached(graph: Graph, regions: Sequence[Region], called: set[str]) -> Iterator[Node]:
    """The operations of regions and of the functions called from them."""
    for node in (node for region in regions for node in walk(region)):
        yield node
        callee = cast(str, node.attrs.get("callee", "")) if node.name == func.call.name else ""
        if callee and callee not in called:
            called.add(callee)
            yield from reached(graph, [graph.functions[callee].body], called)


TYPING_RULES: dict[str, Callable[[CheckedOp], list[State]]] = {
    **COMMUNICATION,
    **GROUPED,
    **dict.fromkeys(ARITHMETIC, arithmetic),
    sdy.propagation_barrier.name: each,
    sdy.reshard.name: each,
    sdy.sharding_constraint.name: each,
    hlo.constant.name: constant,
    hlo.optimization_barrier.name: each,
    hlo.partition_id.name: device_number,
}

CONTROL: dict[str, Callable[[Checker, Node], list[State]]] = {
    func.call.name: Checker.call,
    sdy.manual_computation.name: Checker.manual_computation,
    hlo.case.name: Checker.branch,
    hlo.if_.name: Checker.branch,
    hlo.while_.name: Checker.loop,
}
