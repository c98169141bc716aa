"""The whole-program planning problem: what may be chosen, and what a choice costs.

Every operation has one current Choice. A value is laid out as its producer gives it; each consumer names the
layout it needs; the difference is paid in reshards, each distinct copy once, times the trips of the loops
around the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shardc.analysis.phases import PLAIN, Context
from shardc.forms.choice import Choice
from shardc.graph import Graph
from shardc.layout import Axis, Mesh, Sharding, replicated, shared
from shardc.planning.effort import Allowance
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.lacked import Lacked
from shardc.planning.program.problem.menu import Menu
from shardc.planning.program.problem.ties import ties
from shardc.planning.program.problem.variables import End, Proof, Slot, Total, Variable, kept, work_of
from shardc.planning.program.problem.wanted import MANY, Wanted
from shardc.planning.reshard.copies import MadeCopy
from shardc.planning.reshard.runs import AxisAtoms

REMEMBERED = ("own", "owns", "valued", "kinds", "kind_of", "wanted", "priced", "places_of", "lacked")
"""What a problem has found of itself, as it is now."""


class Problem(Struct):
    """A function body with its variables in program order."""

    graph: Graph
    mesh: Mesh
    rates: Rates
    variables: list[Variable] = []
    producer: dict[int, tuple[Variable, int]] = {}
    consumers: dict[int, list[tuple[Variable, int]]] = {}
    menu: Menu = field(default_factory=Menu)
    weighed: dict[object, tuple[Choice, list[Choice]]] = {}
    own: dict[tuple[int, int], tuple[Choice, int, int]] = {}
    owns: dict[tuple[int, int, int], tuple[list[Choice], list[int], list[int]]] = {}
    valued: dict[int, tuple[Sharding, list[Sharding], tuple[int, int, int]]] = {}
    kinds: dict[object, int] = {}
    kind_of: dict[Variable, int] = {}
    ends_of: dict[Variable, list[End]] = {}
    wanted: dict[int, Wanted] = {}
    priced: dict[AxisAtoms, Prices] = {}
    slots: list[Slot] = []
    free: set[int] = set()  # made from constants alone, for one consumer
    fused: set[int] = set()  # in memory only where they are sent
    arguments: dict[int, tuple[Sharding, int]] = {}
    contexts: dict[int, Context] = {}  # of values that have one
    copies_summed: dict[int, tuple[Axis, ...]] = {}
    proof: Proof | None = None
    expected: bool = False  # whether results are left as propagation lays them out, or as partial sums of it
    strict: bool = False  # and then no axis of that layout is one over which it is a partial sum
    toll: int = 0  # ticks that a collective takes beyond its own, while plans with few are looked for
    modest: Total | None = None  # the best such plan, where more collectives than its must pay
    refused: Total | None = None  # the cheapest plan found that was left for its collectives
    allowance: Allowance = field(default_factory=Allowance)
    layouts: dict[int, Sharding] = {}  # not those of propagation
    alike: Mapping[int, Hashable] = {}  # by node what is equal for those that run alike (layers.py)
    made: dict[int, int] = {}  # how often, where not once per its producer
    lacked: Lacked = {}
    places_of: dict[int, dict[Variable, list[int]]] = {}

    def changed(self, **changes: Any) -> Problem:
        """The same but for `changes`, with nothing remembered yet."""
        return replace(self, **{name: {} for name in REMEMBERED} | {"allowance": Allowance()} | changes)

    def prices(self, atoms: AxisAtoms) -> Prices:
        """What reshards cost with axes cut so: what one program has found exactly, the next one knows."""
        if atoms not in self.priced:
            self.priced[atoms] = Prices(atoms, self.rates)
        return self.priced[atoms]

    def layout(self, value: int) -> Sharding:
        """The layout that propagation gave a value; whole where it gave none."""
        known = self.layouts.get(value) if self.layouts else self.graph.values[value].sharding
        return _closed(known) if known else replicated(self.mesh, self.graph.type(value).rank)

    def laid_out(self, value: int) -> Sharding:
        """The layout that a value has whatever is chosen, as a constraint or per-device code gives it, or
        else that which propagation gave it."""
        made = self.producer.get(value)
        return made[0].choice.results[made[1]] if made and made[0].rule is None else self.layout(value)

    def given(self, value: int) -> Sharding:
        """The layout a value is produced in, under the current choices; a free one as it is needed."""
        if value in self.arguments:
            return self.arguments[value][0]
        if value in self.free:
            consumer, place = self.consumers[value][0]
            return consumer.choice.operands[place]
        variable, index = self.producer[value]
        return variable.choice.results[index]

    def carry(self, slot: Slot, layout: Sharding) -> None:
        """Give what a loop carries another layout."""
        index, loop, end = slot.index, slot.loop.choice, slot.end.choice
        slot.loop.choice = replace(
            loop,
            operands=_with(loop.operands, index, layout),
            results=_with(loop.results, index, layout),
        )
        slot.end.choice = replace(end, operands=_with(end.operands, index, layout))
        for value in slot.args:
            self.arguments[value] = (layout, self.arguments[value][1])

    def open(self, variable: Variable) -> bool:
        """Whether how an operation runs is to be found: not where it is given or will follow its consumer."""
        return not variable.fixed and not self.free.issuperset(variable.node.results)

    def needs(self, value: int) -> list[Sharding]:
        """The distinct layouts its consumers need, in program order, without the given one."""
        return self._needs(value, self.given(value))

    def _needs(self, value: int, given: Sharding) -> list[Sharding]:
        consumers = self.consumers.get(value, ())
        if len(consumers) >= MANY:
            return [need for need in self._wanted(value).layouts() if need != given]
        found: list[Sharding] = []
        for variable, index in consumers:
            need = variable.choice.operands[index]
            if need is not given and need != given and need not in found:
                found.append(need)
        return found

    def _wanted(self, value: int) -> Wanted:
        """The layouts that many consumers need."""
        known, consumers = self.wanted.get(value), self.consumers[value]
        if known is None or known.count != len(consumers):
            known = self.wanted[value] = Wanted(consumers)
        return known

    def around(self, variable: Variable) -> Iterator[Variable]:
        """Those that make or use a value whose cost an operation's choice may change, with itself."""
        for value in variable.touched:
            if value in self.producer:
                yield self.producer[value][0]
            for user, _ in self.consumers.get(value, []):
                yield user

    @property
    def values(self) -> list[int]:
        """Every value, in program order."""
        return sorted([*self.arguments, *self.producer])

    def context(self, value: int) -> Context:
        """What is around a value, as prices of its copies ask."""
        return self.contexts.get(value, PLAIN)

    def trips(self, value: int) -> int:
        """How often the value is made."""
        if value in self.arguments:
            return self.arguments[value][1]
        return self.made.get(value) or self.producer[value][0].trips

    def admits(self, variable: Variable) -> Callable[[Choice], bool]:
        """Whether an operation may run so: as divided as it must be, and if asked as people expect it."""
        least, strict = variable.least_parts, self.strict
        if not self.expected:
            return lambda choice: choice.parts >= least
        layouts = tuple(map(self.layout, variable.node.results))

        def admits(choice: Choice) -> bool:
            pairs = zip(layouts, choice.results, strict=True)
            return choice.parts >= least and all([kept(stated, found, strict) for stated, found in pairs])

        return admits

    def own_cost(self, variable: Variable, choice: Choice) -> tuple[int, int]:
        """Ticks and collectives of an operation itself: its repeated work, and what its form sends."""
        return variable.trips * self._own(variable, choice)[1], variable.trips * choice.collectives

    def own_costs(self, variable: Variable, choices: list[Choice]) -> tuple[list[int], list[int]]:
        """The same of each of some choices: their ticks, and their collectives; once for all operations of a
        kind that have them."""
        key = self._kind(variable), variable.trips, id(choices)
        if key not in self.owns:
            each = [self._own_of(key[0], variable, choice)[1] for choice in choices]
            trips = variable.trips
            count = [trips * choice.collectives for choice in choices]
            self.owns[key] = choices, [trips * ticks for ticks in each], count
        return self.owns[key][1:]

    def _own(self, variable: Variable, choice: Choice) -> tuple[Choice, int, int]:
        """The choice, the ticks of one run, and how many of them are no work done twice; once for all
        operations of a kind."""
        return self._own_of(self._kind(variable), variable, choice)

    def _own_of(self, kind: int, variable: Variable, choice: Choice) -> tuple[Choice, int, int]:
        known = self.own.get((kind, id(choice)))
        if known is None or known[0] is not choice:
            ticks, apart = self.rates.form(choice), 0
            if not self.rates.free:
                ticks += ties(self.graph, self.free, variable, choice)
            if variable.work is not None:
                ticks += self.rates.repeated(variable.work, choice)
                apart = self.rates.apart(variable.work, choice)
            known = self.own[kind, id(choice)] = choice, ticks, apart
        return known

    def _kind(self, variable: Variable) -> int:
        """The number of equal operations of equal work, whose operands are alike made for them alone."""
        kind = self.kind_of.get(variable)
        if kind is None:
            made = tuple([value in self.free for value in variable.node.operands])
            alike = (variable.signature, variable.work, made) if variable.signature >= 0 else variable
            kind = self.kind_of[variable] = self.kinds.setdefault(alike, len(self.kinds))
        return kind

    def value_cost(self, value: int) -> tuple[int, int, int]:
        """Ticks, collectives and steps of all reshards of one value."""
        given = self.given(value)
        needs = self._needs(value, given)
        if not needs:
            # what is made from constants counts on one device alone where it is added to partial sums
            return (0, 0, self.trips(value) if value in self.free and given.unreduced else 0)
        known = self.valued.get(value)
        if known is not None and known[0] is given and known[1] == needs:
            return known[2]
        context = self.context(value)
        type, fused = self.graph.type(value), value in self.fused
        ticks, collectives, steps = self.rates.copies(type, given, tuple(needs), context, fused)
        trips = self.trips(value)
        cost = (trips * ticks, trips * collectives, trips * steps)
        self.valued[value] = given, needs, cost
        return cost

    def ends(self, variable: Variable) -> list[End]:
        """The values that an operation's choice may change the cost of, with where it makes or uses each."""
        if variable not in self.ends_of:
            makes = self.producer
            self.ends_of[variable] = [
                (
                    value,
                    self._places(value).get(variable, []),
                    [i for maker, i in [makes[value]] if maker is variable] if value in makes else [],
                )
                for value in variable.touched
            ]
        return self.ends_of[variable]

    def _places(self, value: int) -> dict[Variable, list[int]]:
        """For each operation that uses a value, as which operands."""
        if value not in self.places_of:
            places = self.places_of[value] = dict[Variable, list[int]]()
            for user, index in self.consumers.get(value, []):
                places.setdefault(user, []).append(index)
        return self.places_of[value]

    def copies(self, value: int, needs: list[Sharding]) -> tuple[MadeCopy, ...]:
        """How to make each needed layout of a value."""
        type, fused = self.graph.type(value), value in self.fused
        return self.rates.made(type, self.given(value), tuple(needs), self.context(value), fused)

    def cost(self, variables: list[Variable]) -> Total:
        """The cost of some variables and of all values they touch."""
        ticks = collectives = steps = work = late = apart = 0
        for value in dict.fromkeys(v for variable in variables for v in variable.touched):
            cost = self.value_cost(value)
            ticks, collectives, steps = ticks + cost[0], collectives + cost[1], steps + cost[2]
        for variable in variables:
            choice, trips = variable.choice, variable.trips
            _, own, alone = self._own(variable, choice)
            count = trips * choice.collectives
            ticks, collectives, steps = ticks + trips * own, collectives + count, steps + count
            work += trips * work_of(variable, choice)
            late += sum([len(result.unreduced) for result in choice.results])
            apart += trips * alone
        return (ticks + self.toll * collectives, collectives, steps, work, -late, apart)

    def total(self) -> Total:
        """The cost of the program."""
        return self.cost(self.variables)


@lru_cache(maxsize=65536)
def _closed(sharding: Sharding) -> Sharding:
    return shared(sharding.layout())


def inner_cost(problem: Problem, variable: Variable) -> tuple[int, int, int]:
    """Ticks, collectives and steps of an operation itself."""
    ticks, count = problem.own_cost(variable, variable.choice)
    return ticks, count, count


def _with(layouts: tuple[Sharding, ...], index: int, layout: Sharding) -> tuple[Sharding, ...]:
    return (*layouts[:index], layout, *layouts[index + 1 :])
