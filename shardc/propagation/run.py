"""Propagation of a whole program: every layer, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from shardc.collector import no_garbage_collection
from shardc.diagnostics import Diagnostic, warn
from shardc.graph import Graph, Node
from shardc.layout import Sharding
from shardc.ops.registry import spreading_rule_of
from shardc.propagation.building import build
from shardc.propagation.conflicts import mesh_conflicts
from shardc.propagation.editing import Editor
from shardc.propagation.export import close_all, divide_borders
from shardc.propagation.flow import Flow, Instance
from shardc.propagation.layers import Layer, by_op_priority, by_strategy, by_user_priority
from shardc.propagation.links import Rules
from shardc.propagation.merging import merge_constants
from shardc.propagation.prepare import prepare
from shardc.propagation.step import Strategy
from shardc.propagation.sweep import OnChange, SweepState

STRATEGIES: dict[str, tuple[Strategy, ...]] = {
    "basic": (Strategy.BASIC,),
    "aggressive": (Strategy.AGGRESSIVE,),
    "basic-then-aggressive": (Strategy.BASIC, Strategy.AGGRESSIVE),
}


class Options(Struct, frozen=True):
    """Which layers run. `strategy` is a key of STRATEGIES; `conservative` splits no axis and uses the
    rules of rules/conservative.py.

    The last two are what Shardy's export does (export.py), off by default: `divisible` cuts the shardings of
    arguments and results of public functions back to whole axes that divide the dimension; `closed` closes
    all dimensions and forgets about replicated axes. `merge_copies` makes copies of constants that
    came out alike one again. With `moved_constants`, which Shardy has not, concatenations and the like of
    constants are copied as well (constants.py).
    """

    strategy: str = "aggressive"
    op_priorities: bool = True
    user_priorities: bool = True
    conservative: bool = False
    divisible: bool = False
    closed: bool = False
    merge_copies: bool = True
    moved_constants: bool = False


class PropagatedBody(Struct, frozen=True):
    """What propagation found for one instance of a function: value id -> sharding, None where it found none.

    `path` holds the ids of the calls that lead to it from function `root`; () for the function itself.
    `places` has the value's place in the result's flow.
    """

    root: str
    path: tuple[int, ...]
    function: str
    shardings: dict[int, Sharding | None]
    places: dict[int, int]


class Result(Struct, frozen=True):
    """The outcome. `bodies` has every instance of every function; `results` the shardings of the results of
    the functions that the outside calls.

    `graph` is the program that they are about: the given one after preparation, which keeps all ids. Nodes
    that are copies of another are in `copies`, constraints that preparation added in `added`. `conflicts` are
    annotations that contradict each other so that nothing was propagated; they were reported as warnings.
    `flow` is what was swept over, and `found` what each of its places ended with.
    """

    graph: Graph
    copies: dict[int, int]
    added: list[Node]
    bodies: list[PropagatedBody]
    results: dict[str, list[Sharding | None]]
    conflicts: list[Diagnostic]
    flow: Flow
    found: list[Sharding | None]

    def sharding(self, value: int) -> Sharding | None:
        """A value's sharding, in the first instance of its function."""
        return next((body.shardings[value] for body in self.bodies if value in body.shardings), None)


def propagate(
    graph: Graph,
    options: Options = Options(),
    rules: Rules = spreading_rule_of,
    on_change: OnChange | None = None,
    owners: Mapping[int, Sharding | None] | None = None,
) -> Result:
    """Find a sharding for every value of a program from those that some have. The graph is left alone.

    `on_change` is told every change and the operation that made it. With `owners` the program counts as
    prepared: nothing is copied or added, and the only data-flow edges are those of these values, which start
    with these shardings.
    """
    with no_garbage_collection():
        return _propagate(graph, options, rules, on_change, owners)


def _propagate(
    graph: Graph,
    options: Options,
    rules: Rules,
    on_change: OnChange | None,
    owners: Mapping[int, Sharding | None] | None,
) -> Result:
    editor, conflicts = (
        prepare(graph, options.moved_constants) if owners is None else (Editor.unchanged(graph), [])
    )
    if options.conservative and rules is spreading_rule_of:
        from shardc.rules.conservative import conservative_rule_of

        rules = conservative_rule_of
    flow = build(editor.graph, rules, owners)
    state = SweepState(flow, options.conservative, on_change)
    _layers(options)(state)
    conflicts.extend(mesh_conflicts(flow, state))
    for conflict in conflicts:
        warn(conflict.message, conflict.loc, conflict.hint)
    if options.divisible:
        divide_borders(flow, state, editor.graph)
    if options.closed:
        close_all(state)
    bodies = [_body(instance, state) for instance in flow.instances]
    if editor.copies:
        _merge(editor, bodies, options.merge_copies)
    return Result(
        editor.graph,
        editor.copies,
        editor.added,
        bodies,
        _results(flow, state),
        conflicts,
        flow,
        [state[place] for place in range(len(flow.start))],
    )


def _merge(editor: Editor, bodies: list[PropagatedBody], alike: bool) -> None:
    """Undo what constant splitting did for nothing. Copies must be alike in every instance; with `alike`
    False they all stay, with dense ids."""
    found: dict[int, list[Sharding | None]] = {}
    for body in bodies:
        for value, sharding in body.shardings.items():
            found.setdefault(value, []).append(sharding)
    new = merge_constants(editor, lambda value: tuple(found.get(value, ())) if alike else value)
    for number, body in enumerate(bodies):
        path = tuple(new.nodes.get(call, call) for call in body.path)
        kept = [v for v in body.shardings if v < editor.first_value or v in new.values]
        shardings = {new.values.get(value, value): body.shardings[value] for value in kept}
        places = {new.values.get(value, value): body.places[value] for value in kept}
        bodies[number] = replace(body, path=path, shardings=shardings, places=places)


def _layers(options: Options) -> Layer:
    strategies = STRATEGIES[options.strategy]
    layer: Layer = partial(by_op_priority if options.op_priorities else by_strategy, strategies=strategies)
    return partial(by_user_priority, inner=layer) if options.user_priorities else layer


def _body(instance: Instance, state: SweepState) -> PropagatedBody:
    shardings = {value: state[place] for value, place in instance.places.items()}
    return PropagatedBody(instance.root, instance.path, instance.function, shardings, instance.places)


def _results(flow: Flow, state: SweepState) -> dict[str, list[Sharding | None]]:
    return {name: [state[place] for place in places] for name, places in flow.results.items()}
