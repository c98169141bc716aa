"""In which layouts values may be given, and in which their users may need them; the prices between these."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.costs.prices import Pairs, Table
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.network import Columns, Network, Produced
from shardc.planning.program.problem.variables import Variable

PLACES = 600  # of one value; more have more copies between them than a program may have columns
ONE = 0
"""The column that is always 1."""


class Going(Struct, frozen=True):
    """A value of which copies may be made: the columns of the layouts in which it may be given and of those
    that each user may need, and all `places` where it may be, of which the first `middle` may be on the way
    to others."""

    made: Produced
    given: Columns
    needs: list[Columns]
    places: tuple[Sharding, ...]
    middle: int

    @staticmethod
    def of(made: Produced, given: Columns, needs: list[Columns]) -> Going:
        wanted = dict.fromkeys(layout for need in needs for layout in need)
        if len(needs) > 1:
            return Going(made, given, needs, tuple(dict.fromkeys([*wanted, *given])), len(wanted))
        places = tuple(dict.fromkeys([*given, *wanted]))
        return Going(made, given, needs, places, len(places))

    @property
    def one_end(self) -> bool:
        """Whether it has one user, and one layout before or after: it goes there at once."""
        return len(self.needs) == 1 and (len(self.given) == 1 or len(self.needs[0]) == 1)

    @property
    def ways(self) -> Pairs:
        """The copies that may be made then."""
        return [(source, target) for source in self.given for target in self.needs[0] if source != target]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for values of one type in one context between whose places the same copies may be made."""
        return self.middle, self.made.fused, *self.places


def going(net: Network, value: int) -> Going | None:
    """How a value may go; None if every user has it as it is given."""
    problem = net.problem
    given = _given(net, value)
    uses: dict[int, list[list[tuple[Sharding, list[int]]]]] = {}
    needs: list[Columns] = []
    for variable, index in problem.consumers.get(value, []):
        if not problem.free.issuperset(variable.node.results) or not variable.node.results:
            need = _options(net, variable, index, operand=True)
            if len(given) > 1 or not need.keys() <= given.keys():
                columns = list(need.items())
                same = uses.setdefault(columns[0][1][0], [])
                if columns not in same:
                    same.append(columns)
                    needs.append(need)
    context, fused = problem.context(value), value in problem.fused
    made = Produced(problem.graph.type(value), problem.trips(value), context, fused)
    return Going.of(made, given, needs) if needs else None


def look_up(net: Network, values: Iterable[Going]) -> None:
    """Look up together what copies of some values take. TooMany where that are more pairs of layouts than may
    be priced, or a value may be in more than PLACES."""
    tables, ways, seen = list[Table](), list[tuple[Table, Pairs]](), set[object]()
    for each in values:
        of, size = (each.made.type, each.made.context), len(each.places)
        if each.one_end:
            ways.append(((*of, each.places), each.ways))
        elif each.key not in net.prices.direct.get(of, ()) and (of, each.key) not in seen:
            if size > PLACES:
                raise TooMany
            seen.add((of, each.key))
            net.priced(size)
            tables.append((*of, each.places))
    net.prices.look_up(tables, ways)


def _given(net: Network, value: int) -> Columns:
    if value in net.carried:
        return net.carried[value]
    if value in net.problem.arguments:
        return {net.problem.arguments[value][0]: [ONE]}
    variable, index = net.problem.producer[value]
    return _options(net, variable, index, operand=False)


def _options(net: Network, variable: Variable, index: int, operand: bool) -> Columns:
    """The layouts that a variable's choices give an operand or result."""
    if (variable, index) in net.tied:
        return net.tied[variable, index]
    if variable not in net.options:
        choices = net.outside.get(variable, [variable.choice])
        return _any(net, [_layouts(choice, operand)[index] for choice in choices])
    first = net.chosen[variable][0]
    groups = net.prices.groups(net.options[variable], index, operand)
    return {layout: [first + place for place in places] for layout, places in groups.items()}


def _layouts(choice: Choice, operand: bool) -> tuple[Sharding, ...]:
    return choice.operands if operand else choice.results


def _any(net: Network, layouts: Iterable[Sharding]) -> Columns:
    """Any one of some layouts, for whoever asks."""
    distinct = list(dict.fromkeys(layouts))
    if len(distinct) == 1:
        return {distinct[0]: [ONE]}
    found: Columns = {layout: [net.column()] for layout in distinct}
    net.row([column for (column,) in found.values()], [], 1, 1)
    return found
