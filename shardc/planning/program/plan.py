"""The plan of a program: the layout of every value, the form of every operation, the reshards between them.

    plan = plan_program(graph)
    plan.layouts[value]       # Sharding that the value is produced in
    plan.forms[node]          # local form, where it is not the plain one
    plan.copies()             # every other layout that some use needs

`plan_program` is the one way in: it sets up the planning problem of a function (setup.py) and improves the
choices that propagation suggests (improve.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.phases import BETWEEN
from shardc.graph import Function, Graph, Node
from shardc.layout import Mesh, Sharding
from shardc.planning.machines import Combined, Machine, load
from shardc.planning.meshes import mesh_of
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.gap import proof
from shardc.planning.program.problem.begun import Begun
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.problem.variables import Proof
from shardc.planning.program.reasons import reason, warn_of_lost_splits, warn_of_padding
from shardc.planning.program.remembered.known import improved
from shardc.planning.program.repeated import (
    LessDivided,
    PlanTime,
    less_divided,
    time_of,
    warn_of_repeated_work,
    without_latency,
)
from shardc.planning.program.search.data_first import data_before_state
from shardc.planning.program.search.descent import follow
from shardc.planning.program.search.gathered import gather
from shardc.planning.program.search.open_results import open_results, split_as_arguments, split_like_arguments
from shardc.planning.reshard.copies import MadeCopy, cost_of

DEFAULT = "balanced"
"""The machine that programs are planned for where none is named."""


class Counted(Struct, frozen=True):
    """What a plan counts on to be combined later, and whether it is looked for. Where it is not, it is
    propagation's, or with `data_first` that of propagation with data before state; with tensors whole over
    the mesh axes that are `gathered`."""

    shares: tuple[Combined, ...] = ()
    search: bool = True
    gathered: tuple[str, ...] = ()
    data_first: bool = False

    @property
    def begun(self) -> bool:
        """Whether it is another than every search begins at."""
        return self.search or bool(self.gathered) or self.data_first


Use = tuple[Node, int]
"""An operation and the number of one of its operands."""


class PlannedCopy(Struct, frozen=True):
    """A reshard of `value` from the layout `source`, in which it or an earlier copy is, to `target`.

    `uses` are the operands that take this copy; there may be none, where it is only the source of another.
    `reason` is one line for comments and reports. `at_once`: the one collective that makes it, where it is to
    be that.
    """

    value: int
    source: Sharding
    target: Sharding
    uses: tuple[Use, ...]
    reason: str
    at_once: str | None = None


class Plan(Struct, frozen=True, eq=False):
    """The choices made for one function. `problem` is the planning problem behind it."""

    problem: Problem
    counted: Counted = Counted()

    @property
    def graph(self) -> Graph:
        return self.problem.graph

    @property
    def bytes(self) -> int:
        """What a device sends in one run of the function."""
        return _sent(self.problem)

    @property
    def collectives(self) -> int:
        """How many collectives run."""
        return self.problem.total()[1]

    @property
    def time(self) -> PlanTime | None:
        """What it takes on its machine; None if work is free there."""
        return time_of(self.problem)

    @property
    def without_latency(self) -> int:
        """About the femtoseconds that are left of it, on a machine with latency, if many collectives become
        one."""
        return without_latency(self.problem)

    @property
    def refused(self) -> tuple[int, int] | None:
        """Ticks and collectives of the cheapest plan found, if that has too many collectives for its gain."""
        other, own = self.problem.refused, self.problem.total()
        return other[:2] if other is not None and other[0] < own[0] else None

    @property
    def shares(self) -> tuple[Combined, ...]:
        """Which collectives were counted on to be combined."""
        return self.problem.rates.combined

    def less_divided(self) -> LessDivided | None:
        """The work that annotations divide and the plan does not; None if there is none."""
        return less_divided(self.problem)

    @property
    def decided(self) -> Hashable:
        """What tells it from other plans of the same program."""
        choices = tuple(variable.choice for variable in self.problem.variables)
        return choices, tuple(self.problem.arguments.items())

    @property
    def layouts(self) -> dict[int, Sharding]:
        """Value -> the layout it is produced in."""
        return {value: self.problem.given(value) for value in self.problem.values}

    @property
    def forms(self) -> dict[int, str]:
        """Node id -> its local form, for operations that do not run in the plain one."""
        choices = ((variable.node.id, variable.choice) for variable in self.problem.variables)
        return {node: choice.form for node, choice in choices if choice.form != "plain"}

    @property
    def results(self) -> tuple[Sharding, ...]:
        """The layouts in which results leave main."""
        end = self.graph.main.body.nodes[-1]
        return next(v for v in self.problem.variables if v.node is end).choice.operands

    def copies(self) -> Iterator[list[PlannedCopy]]:
        """The reshards of each value that needs any, values in program order, a copy after its source."""
        for value in self.problem.values:
            needs = self.problem.needs(value)
            if needs:
                yield [self._copy(value, copy) for copy in self.problem.copies(value, needs)]

    def proof(self) -> Proof | None:
        """A lower bound on communication and repeated work of any plan; None if none is found soon."""
        return proof(self.problem)

    def split_results(self) -> Iterator[tuple[int, int, Sharding]]:
        """Results that leave main split further than propagation found: result, argument, its layout."""
        partners = open_results(self.problem)
        for index, layout in split_like_arguments(self.problem).items():
            yield index, partners[index], layout

    def warn(self) -> None:
        """Report operands that are gathered for lack of a local form, blocks with padding, repeated work."""
        warn_of_lost_splits(self.problem)
        warn_of_padding(self.problem)
        warn_of_repeated_work(self.problem)

    def _copy(self, value: int, copy: MadeCopy) -> PlannedCopy:
        source, target, way = copy
        uses = tuple(
            (variable.node, index)
            for variable, index in self.problem.consumers[value]
            if variable.choice.operands[index] == target
        )
        once = way.steps[0].kind if way.at_once else None
        return PlannedCopy(value, source, target, uses, reason(self.problem, value, source, target), once)


def _sent(problem: Problem) -> int:
    """Bytes that a device sends."""
    moved = sum(v.trips * v.choice.moved for v in problem.variables)
    for value in problem.values:
        needs = problem.needs(value)
        if needs:
            moved += problem.trips(value) * cost_of(problem.copies(value, needs))[0]
    return moved


def plan_program(
    graph: Graph,
    function: Function | None = None,
    mesh: Mesh | None = None,
    machine: Machine | None = None,
    split_results: bool = False,
    counted: tuple[Counted, ...] = (Counted(),),
    alike: Mapping[int, Hashable] | None = None,
) -> Plan:
    """The plan of `function` (main), which has no calls, on `mesh` (the one that the program uses).

    It is the quickest on `machine` (DEFAULT) that was found. The graph's values have the shardings that
    propagation found. With `split_results` results that it left open are split as arguments are at any
    price. `counted` says what is combined afterwards, and so shares latency, and how the plan is found: if
    it names several, each of them begins at the plan of the one before it. `alike`: by ids of operations of
    equal layers what is equal for those that are to run alike. ShardcError if the program uses two meshes.
    """
    return Planner(graph, function, mesh, machine, split_results, alike).plan(counted)


class Planner:
    """Plans of a function, one after the other, as plan_program makes one: what they have in common is found
    once, so nothing is asked of a plan once the next one is made. `lean`: no change of layout passes through
    another layout in memory to save time."""

    def __init__(
        self,
        graph: Graph,
        function: Function | None = None,
        mesh: Mesh | None = None,
        machine: Machine | None = None,
        split_results: bool = False,
        alike: Mapping[int, Hashable] | None = None,
        lean: bool = False,
    ) -> None:
        self.alike = alike
        self.graph, self.function, self.split_results = graph, function or graph.main, split_results
        self._rates = Rates(machine or load(DEFAULT), mesh or mesh_of(graph), lean=lean)
        self._said = f"{function and function.name} {mesh} {split_results} {lean}"
        self._begun: Begun | None = None

    def plan(self, counted: tuple[Counted, ...]) -> Plan:
        """The plan for what is counted on."""
        *after, last = counted
        rates = self._rates.sharing(last.shares)
        if self._begun is None:
            problem = setup(self.graph, self.function, rates, self.alike)
            self._begun = Begun.of(self.function, problem)
        else:
            problem = self._begun.anew(rates)
        if self.split_results:
            split_as_arguments(problem)
        _look(problem, self._said, last, tuple(after))
        return Plan(problem, last)


def _look(problem: Problem, said: str, counted: Counted, after: tuple[Counted, ...]) -> None:
    """Take the best plan found where one is to be looked for, from the last plan before it on. said: what is
    planned beside the problem."""
    if not counted.search:
        with data_before_state(problem) if counted.data_first else nullcontext():
            if counted.gathered:
                gather(problem, counted.gathered)
        follow(problem)
        return
    begin = partial(_begin, said, after) if after else None
    improved(problem, said, *map(repr, after), begin=begin)


def _begin(said: str, after: tuple[Counted, ...], problem: Problem) -> None:
    """Take the last of some plans."""
    *before, last = after
    _look(other := _again(problem, problem.rates.sharing(last.shares)), said, last, tuple(before))
    problem.arguments, problem.lacked = other.arguments, other.lacked
    _know(problem, other)


def _know(problem: Problem, other: Problem) -> None:
    """Price here, in each phase, what was priced exactly there: the ways are known, no search is made."""
    phases = dict.fromkeys([BETWEEN, *(context.phase for context in problem.contexts.values())])
    for atoms, prices in other.priced.items():
        known = problem.prices(atoms)
        for change, _ in prices.found():
            type, source, target, context = change
            for phase in phases:
                here = replace(context, phase=phase)
                if (type, source, target, here) not in known.exact:
                    ticks, collectives, _ = problem.rates.copies(type, source, (target,), here)
                    known.take((type, source, target, here), (float(ticks), collectives))


def _again(problem: Problem, rates: Rates) -> Problem:
    """The same problem for a search of its own: operations are shared, and with them what is chosen."""
    return problem.changed(rates=rates, free={*problem.free}, arguments={**problem.arguments})
