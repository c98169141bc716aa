"""The layouts that are kept up for a value with many consumers are those that its consumers need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from shardc.layout import Dim, Mesh, Sharding
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable
from shardc.planning.program.problem.wanted import MANY

MESH = Mesh("pod", (("data", 2), ("model", 4)))
DATA, MODEL = MESH.axis("data"), MESH.axis("model")
LAYOUTS = [Sharding(MESH, (Dim(axes),)) for axes in ((), (DATA,), (MODEL,), (DATA, MODEL))]


@dataclass(frozen=True)
class _Choice:
    """All of a choice that is looked at here."""

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...] = ()


layouts = st.sampled_from(range(len(LAYOUTS)))


def _choice(numbers: tuple[int, int]) -> Any:
    return _Choice(tuple(LAYOUTS[number] for number in numbers))


@given(st.data(), st.lists(st.tuples(layouts, layouts), min_size=MANY, max_size=MANY + 8))
def test_layouts_are_those_of_the_consumers(data: st.DataObject, start: list[tuple[int, int]]):
    variables = [
        Variable(node=cast(Any, None), op=cast(Any, None), rule=None, choice=_choice(pair), fixed=False,
                 trips=1, region=cast(Any, None))
        for pair in start
    ]  # fmt: skip
    consumers = [(variable, index) for variable in variables for index in (0, 1)]
    problem = Problem(cast(Any, None), MESH, cast(Any, None), consumers={0: consumers})
    problem.arguments[0] = (LAYOUTS[data.draw(layouts)], 1)
    changes = data.draw(
        st.lists(st.tuples(st.integers(0, len(variables) - 1), layouts, layouts), max_size=60)
    )
    for number, *pair in [(0, *start[0]), *changes]:
        variables[number].choice = _choice((pair[0], pair[1]))
        needed = dict.fromkeys(variable.choice.operands[index] for variable, index in consumers)
        assert problem.needs(0) == [need for need in needed if need != problem.given(0)]


def test_consumers_that_are_added_count():
    variable = Variable(cast(Any, None), cast(Any, None), None, _choice((0, 0)), False, 1, cast(Any, None))
    problem = Problem(cast(Any, None), MESH, cast(Any, None), consumers={0: [(variable, 0)] * MANY})
    problem.arguments[0] = (LAYOUTS[0], 1)
    assert problem.needs(0) == []
    other = Variable(cast(Any, None), cast(Any, None), None, _choice((2, 2)), False, 1, cast(Any, None))
    problem.consumers[0].append((other, 1))
    assert problem.needs(0) == [LAYOUTS[2]]
