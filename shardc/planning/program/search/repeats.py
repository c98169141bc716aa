"""Planning what a program repeats once: equal operations in equal surroundings run alike.

A network of 32 layers is 32 times the same problem. Operations are put into classes: two are in one class if
they are equal (constants also if they are two numbers), start from equal choices, and their neighbours are
equal too, up to STEPS steps away. The problem of the classes has one variable per class and one value per way
that values pass between classes, each counted as often as it occurs. So its cost is exactly that of the
program in which the members of each class do the same; only plans in which they don't are not considered. A
layer near the first or last one has other surroundings, so it is planned by itself. Equal layers that are
told (Problem.alike) are one whatever their surroundings.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec.structs import replace

from shardc.ops import Trait, has
from shardc.planning.program.problem.canonical import likeness
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable

STEPS = 3  # how far apart differences may be without being noticed
MANY = 1_300  # operations that are few enough to be planned one by one


def repeats_of(problem: Problem) -> Repeats | None:
    """The classes of a program's operations, if some run alike, or it has many and half of them are
    repeats."""
    alike = problem.alike
    repeats = Repeats(problem, alike, None) if alike else None
    known = problem if repeats is None else repeats.problem
    if len(known.variables) <= MANY:
        return repeats
    more = Repeats(problem, alike)
    return more if 2 * len(more.problem.variables) <= len(problem.variables) else repeats


class Repeats:
    """The classes of a problem's operations, and the `problem` of choosing for whole classes: of those that
    are equal so many `steps` around, of none for None, and of those that run `alike` whatever is around
    them."""

    def __init__(self, full: Problem, alike: Mapping[int, Hashable], steps: int | None = STEPS) -> None:
        self.full = full
        numbers = _Numbers(full)
        if steps is None:
            numbers.tell_apart()
        for _ in range(steps or 0):
            numbers.look_around()
        if alike:
            numbers.join(alike)
        classes: dict[int, list[Variable]] = {}
        for variable in full.variables:
            classes.setdefault(numbers.of_variable[variable], []).append(variable)
        self.values = _value_classes(full, numbers)
        self.variables = {members[0]: self._variable(members) for members in classes.values()}
        self.class_of = {m: self.variables[members[0]] for members in classes.values() for m in members}
        self.problem = self._problem()

    def _variable(self, members: Sequence[Variable]) -> Variable:
        """All members as one, which stands where the middle one does."""
        middle = members[len(members) // 2]
        touched = (value for member in members for value in member.touched)
        return replace(
            middle,
            node=replace(
                middle.node,
                operands=tuple(self.values[v] for v in middle.node.operands),
                results=tuple(self.values[v] for v in middle.node.results),
            ),
            trips=sum(member.trips for member in members),
            touched=tuple(dict.fromkeys(self.values[value] for value in touched)),
            told=(),
        )

    def _problem(self) -> Problem:
        full, class_of = self.full, self.class_of
        trips: dict[int, int] = {}
        for value, kept in self.values.items():
            trips[kept] = trips.get(kept, 0) + full.trips(value)
        made = {v: full.producer[v] for v in trips if v in full.producer}
        used = {v: full.consumers[v] for v in trips if v in full.consumers}
        return full.changed(
            variables=sorted(self.variables.values(), key=lambda variable: variable.node.id),
            producer={v: (class_of[variable], index) for v, (variable, index) in made.items()},
            consumers={
                v: list(dict.fromkeys((class_of[u], i) for u, i in pairs)) for v, pairs in used.items()
            },
            slots=[*{(class_of[slot.loop], slot.index): self._slot(slot) for slot in full.slots}.values()],
            free=full.free & trips.keys(),
            fused=full.fused & trips.keys(),
            arguments={v: (full.arguments[v][0], trips[v]) for v in trips if v in full.arguments},
            made={v: trips[v] for v in made},
            priced=full.priced,
            lacked=full.lacked,
        )

    def _slot(self, slot: Slot) -> Slot:
        """What the loops of a class carry."""
        args = tuple(self.values[value] for value in slot.args)
        return replace(slot, loop=self.class_of[slot.loop], args=args, end=self.class_of[slot.end])

    def write_back(self) -> None:
        """Give every operation the choice of its class."""
        for member, variable in self.class_of.items():
            member.choice = variable.choice
        for slot in self.full.slots:
            for value in slot.args:
                self.full.arguments[value] = (slot.layout(), self.full.arguments[value][1])
        if not self.problem.free:
            self.full.free.clear()


class _Numbers:
    """A number for every operation and value; equal ones have equal numbers as far as has been looked."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.known: dict[Hashable, int] = {}
        self.of_variable = {variable: self._number(self._alone(variable)) for variable in problem.variables}
        self.given = {
            value: (variable, number, index)
            for variable in problem.variables
            for number, region in enumerate(variable.node.regions)
            for index, value in enumerate(region.args)
        }
        self.of_value: dict[int, int] = {}
        self._number_values()

    def tell_apart(self) -> None:
        """Give every operation its own number."""
        self.of_variable = {v: self._number(("operation", v.node.id)) for v in self.of_variable}
        self._number_values()

    def look_around(self) -> None:
        """Tell apart the operations whose operands or results have been told apart."""
        of_value = self.of_value
        self.of_variable = {
            variable: self._number((number, *(of_value[v] for v in (*node.operands, *node.results))))
            for variable, number in self.of_variable.items()
            for node in (variable.node,)
        }
        self._number_values()

    def join(self, alike: Mapping[int, Hashable]) -> None:
        """Give one number to operations that are equal without their neighbours and run alike, and to all
        that have the numbers of these."""
        first, joined = dict[Hashable, int](), dict[int, int]()

        def of(number: int) -> int:
            while number in joined:
                number = joined[number]
            return number

        for variable, own in self.of_variable.items():
            if variable.node.id in alike:
                number = of(own)
                key = alike[variable.node.id], self._by_itself(variable)
                known = of(first.setdefault(key, number))
                if number != known:
                    joined[number] = known
        self.of_variable = {variable: of(number) for variable, number in self.of_variable.items()}
        self._number_values()

    def _number_values(self) -> None:
        problem, number = self.problem, self.of_variable
        for value in problem.values:
            maker = problem.producer.get(value)
            made = (number[maker[0]], maker[1]) if maker else self._argument(value)
            users = problem.consumers.get(value, [])
            used = sorted((number[user], self._place(user, index)) for user, index in users)
            self.of_value[value] = self._number((made, tuple(used), problem.context(value)))

    def _place(self, user: Variable, index: int) -> int:
        """Which operand it is; for the function's results, which layout it has, since they may be many."""
        if user.node is self.problem.graph.main.body.nodes[-1]:
            return self._number(user.choice.operands[index])
        return index

    def _argument(self, value: int) -> Hashable:
        """Equal for equal arguments of the function; those of loops are equal where their loops are."""
        problem = self.problem
        if value in problem.graph.main.body.args:
            return (problem.graph.type(value), problem.arguments[value][0])
        if value not in self.given:
            return ("argument", value)
        loop, *place = self.given[value]
        return ("argument", self.of_variable[loop], *place)

    def _alone(self, variable: Variable) -> Hashable:
        """Equal for operations that are equal without their neighbours; what loops hold has no equal."""
        body, node = self.problem.graph.main.body, variable.node
        if variable.region is not body or has(node.name, Trait.REGION) or node is body.nodes[-1]:
            return ("operation", node.id)
        return self._by_itself(variable)

    def _by_itself(self, variable: Variable) -> Hashable:
        node = variable.node
        free = self.problem.free.issuperset(node.results)
        layouts = tuple(map(self.problem.layout, node.results))
        return (likeness(variable.op), variable.choice, variable.fixed, variable.least_parts, free, layouts)

    def _number(self, key: Hashable) -> int:
        return self.known.setdefault(key, len(self.known))


def _value_classes(problem: Problem, numbers: _Numbers) -> dict[int, int]:
    """For every value the one that stands for its class: the middle one."""
    classes: dict[int, list[int]] = {}
    for value in problem.values:
        classes.setdefault(numbers.of_value[value], []).append(value)
    return {value: members[len(members) // 2] for members in classes.values() for value in members}
