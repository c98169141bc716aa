"""From a graph to the flow of its places and links, in the order in which Shardy has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph import Function, Graph, Node, Region
from shardc.layout import Sharding
from shardc.ops import func, sdy
from shardc.propagation.constraints import BESIDE_EDGE
from shardc.propagation.dead import Dead, dead_nodes
from shardc.propagation.edges import Edge, EdgesOf, edges_of, explicit, regions_of
from shardc.propagation.flow import Flow, Instance, Link, Path, identity_rule
from shardc.propagation.function_edges import sources_of_edges
from shardc.propagation.groups import stating
from shardc.propagation.links import Rules, link_of, no_rule, seeds
from shardc.propagation.priorities import EDGE
from shardc.propagation.uses import FlowValue, is_shared, notified, other_users


def build(graph: Graph, rules: Rules, owners: Mapping[int, Sharding | None] | None = None) -> Flow:
    """The flow of a program: its public functions, and every function as often as it is called.

    With `owners`, only these values have data-flow edges, and every function is on its own. ShardcError if a
    function calls itself.
    """
    builder = _Builder(graph, rules, owners)
    for function in graph.functions.values():
        if function.public or function is graph.main or owners is not None:
            builder.entry(function)
    return builder.finish()


class _Scope(Struct):
    """The values of one instance of a function."""

    root: str
    path: Path
    function: Function
    values: dict[int, FlowValue] = {}
    callers: tuple[str, ...] = ()


class _Builder:
    def __init__(self, graph: Graph, rules: Rules, owners: Mapping[int, Sharding | None] | None) -> None:
        self._graph = graph
        self._rules = rules
        self._sources = {} if owners is None else sources_of_edges(graph)
        self._edges: EdgesOf = edges_of if owners is None else explicit(owners)
        self._dead = dead_nodes(graph, self._edges)
        self._seeds = seeds(graph)
        self._start: list[Sharding | None] = []
        self._held: list[list[FlowValue]] = []  # by place; an edge's owner comes first
        self._links: list[Link] = []
        self._scopes: list[_Scope] = []
        self._groups: dict[int, list[FlowValue]] = {}
        self._results: dict[str, list[int]] = {}
        self._returns: list[Link] = []
        self._reads: list[tuple[Link, list[FlowValue], list[FlowValue]]] = []
        self._func_edges: list[tuple[Link, FlowValue]] = []

    def entry(self, function: Function) -> None:
        """A function that the outside calls."""
        scope = self._scope(_Scope(function.name, (), function))
        for arg in function.body.args:
            self._value(arg, scope, self._graph.values[arg].sharding)
        self._region(function.body, scope, {})
        places = [self._place(sharding) for sharding in function.result_shardings]
        self._results[function.name] = places
        alone = "main" not in self._graph.functions and function.public
        if alone or function is self._graph.main:
            end = function.body.nodes[-1]
            for value, place in zip(end.operands, places, strict=True):
                rule = identity_rule(self._graph.type(value))
                self._returns.append(Link(rule, end.name, end, (scope.values[value].place, place)))

    def finish(self) -> Flow:
        """The flow, when all entries are in."""
        self._connect_functions()
        number = {link: i for i, link in enumerate(self._links)}
        instances = [
            Instance(s.root, s.path, s.function.name, {v: made.place for v, made in s.values.items()})
            for s in self._scopes
        ]
        return Flow(
            self._start,
            self._links,
            [tuple(number[link] for link in notified(values)) for values in self._held],
            self._peers(),
            self._results,
            self._returns,
            instances,
            self._sharing(number),
        )

    def _connect_functions(self) -> None:
        """Give the data-flow edges of functions their sources, which stand in other functions."""
        scopes = {scope.function.name: scope for scope in reversed(self._scopes)}
        for link, value in self._func_edges:
            sources: list[int] = []
            for function, user, number in self._sources[link.node.id]:
                source = scopes[function].values[user.operands[number]]
                sources.append(source.place)
                source.uses.append((link, user.id))
            link.tensors = (*sources, value.place)

    def _sharing(self, number: dict[Link, int]) -> Dead:
        """Find out which links share operands, and how the dead ones hang together."""
        dead = Dead({number[link]: set() for link in self._links if link.dead})
        for value in {id(value): value for _, _, wide in self._reads for value in wide}.values():
            value.staying = sum(user is None or not user.dead for user, _ in value.uses)
        for link, operands, wide in self._reads:
            link.shared = any(is_shared(value, link, wide) for value in wide)
            if not link.shared:
                users = [user for value in wide for user, _ in value.uses if user is not link]
                link.shared_until = tuple(number[user] for user in users if user is not None)
            for user in link.shared_until:
                dead.frees.setdefault(user, []).append(number[link])
            if link.dead:
                for value in operands:
                    if value.made_by and value.made_by.dead:
                        dead.users[number[value.made_by]].add(number[link])
                dead.makers[number[link]] = [
                    (number[value.made_by], *other_users(value, link, number))
                    for value in operands
                    if value.made_by
                ]
        return dead

    def _peers(self) -> dict[int, tuple[int, ...]]:
        """The places of each group's members; they start with what those that are annotated agree on."""
        peers: dict[int, tuple[int, ...]] = {}
        for members in self._groups.values():
            places = list(dict.fromkeys(member.place for member in members))
            stated = stating(self._start[place] for place in places)
            if stated and all(sharding == stated[0] for sharding in stated):
                for place in places:
                    self._start[place] = stated[0]
            for place in places:
                peers[place] = tuple(other for other in places if other != place)
        return peers

    def _scope(self, scope: _Scope) -> _Scope:
        self._scopes.append(scope)
        return scope

    def _place(self, start: Sharding | None) -> int:
        self._start.append(start)
        self._held.append([])
        return len(self._start) - 1

    def _value(
        self, value: int, scope: _Scope, start: Sharding | None = None, place: int | None = None
    ) -> FlowValue:
        made = FlowValue(self._place(start) if place is None else place)
        self._held[made.place].append(made)
        scope.values[value] = made
        return made

    def _region(self, region: Region, scope: _Scope, feeds: dict[tuple[int, int], Link]) -> None:
        for node in region.nodes[:-1]:
            if self._edges(node, self._graph) is None:
                self._operation(node, scope)
            else:
                self._with_edges(node, scope)
        self._use(region.nodes[-1], scope, feeds)

    def _use(self, node: Node, scope: _Scope, feeds: dict[tuple[int, int], Link]) -> None:
        """Record what an operation without a link of its own uses, and the edges that its operands feed."""
        for number, operand in enumerate(node.operands):
            scope.values[operand].uses.append((feeds.get((node.id, number)), node.id))

    def _operation(self, node: Node, scope: _Scope) -> None:
        link = self._link(node)
        operands = [scope.values[operand] for operand in node.operands]
        for operand in operands:
            operand.uses.append((link, node.id))
        results = [self._value(result, scope, self._annotation(node, result)) for result in node.results]
        if node.name == sdy.sharding_group.name:
            self._groups.setdefault(cast(int, node.attrs["group_id"]), []).extend(operands)
        if link is not None:
            for result in results:
                result.made_by = link
            if node.id in self._sources:
                self._func_edges.append((link, results[0]))
                self._links.append(link)
                return
            link.tensors = tuple(value.place for value in (*operands, *results))
            self._insert(link, operands)
            types = self._graph.types(node.operands)
            wide = [value for value, type in zip(operands, types, strict=True) if type.rank]
            self._reads.append((link, operands, wide))
        if node.regions and edges_of(node, self._graph) is not None:
            self._bodies(node, scope)

    def _insert(self, link: Link, operands: list[FlowValue]) -> None:
        edge = operands[0].made_by if BESIDE_EDGE in link.node.attrs else None
        place = len(self._links) if edge is None else self._links.index(edge) + 1
        self._links.insert(place, link)

    def _bodies(self, node: Node, scope: _Scope) -> None:
        """The regions of an operation that could have edges and has none: what the edges would tie together
        has one place nevertheless."""
        edges = edges_of(node, self._graph)
        assert edges is not None
        for edge in edges.arguments:
            self._value(edge.owner, scope, edge.start)
        for edge in edges.all:
            for other in edge.others:
                self._value(other, scope, place=scope.values[edge.owner].place)
        for region in node.regions:
            self._region(region, scope, {})

    def _link(self, node: Node) -> Link | None:
        if node.id in self._sources:
            rule = identity_rule(self._graph.type(node.results[0]), len(self._sources[node.id]))
            return Link(rule, EDGE, node)
        link = link_of(node, self._graph, self._rules, self._seeds)
        if node.id in self._dead:
            link = link or Link(no_rule(node), node.name, node)
            link.dead = True
        return link

    def _annotation(self, node: Node, result: int) -> Sharding | None:
        if node.name in (sdy.sharding_constraint.name, sdy.reshard.name):
            return cast(Sharding, node.attrs["sharding"])
        return self._graph.values[result].sharding

    def _with_edges(self, node: Node, scope: _Scope) -> None:
        """A loop, a call, …: its edges, its bodies in between, all in the order in which Shardy has them.

        Shardy does not visit the edges of a body's arguments again when an operand changes. (They get another
        chance in the next round.)
        """
        edges = self._edges(node, self._graph)
        assert edges is not None
        inner = self._enter(node, scope) if node.name == func.call.name else scope
        feeds: dict[tuple[int, int], Link] = {}
        arguments = [self._edge(node, edge, inner, inner, {}) for edge in edges.arguments]
        results = [self._edge(node, edge, scope, inner, feeds) for edge in edges.results]
        self._links.extend(arguments)
        for region in regions_of(node, self._graph):
            self._region(region, inner, feeds)
        self._use(node, scope, feeds)
        self._links.extend(results)
        for edge, link in zip(edges.all, arguments + results, strict=True):
            places = [
                (scope if user is node else inner).values[user.operands[number]].place
                for user, number in edge.sources
            ]
            link.tensors = (*places, link.tensors[-1])

    def _edge(
        self, node: Node, edge: Edge, scope: _Scope, inner: _Scope, feeds: dict[tuple[int, int], Link]
    ) -> Link:
        rule = identity_rule(self._graph.type(edge.owner), len(edge.sources))
        owner = self._value(edge.owner, scope, edge.start)
        link = Link(rule, EDGE, node, (owner.place,), border=edge.border)
        owner.made_by = link
        for other in edge.others:
            self._value(other, inner, place=owner.place)
        feeds.update(((user.id, number), link) for user, number in edge.sources)
        return link

    def _enter(self, node: Node, scope: _Scope) -> _Scope:
        callee = self._graph.functions[str(node.attrs["callee"])]
        callers = (*scope.callers, scope.function.name)
        if callee.name in callers:
            raise ShardcError(f"@{callee.name} calls itself", node.loc, "a compiled program has no recursion")
        return self._scope(_Scope(scope.root, (*scope.path, node.id), callee, callers=callers))
