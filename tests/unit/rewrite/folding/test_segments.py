"""Which stretches of folded layers go into one function: those of a layer each, wherever they begin in it."""

from __future__ import annotations

import pytest
from xdsl.dialects import test as dialect
from xdsl.ir import Operation

from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.frontend.text import read
from shardc.passes.outline_repeats import LEAST, OutlineRepeats, _of_a_layer
from shardc.passes.pipeline import run_to
from shardc.rewrite.folding.places import Place, note_places

Segment = list[Operation]


def segment(*places: Place) -> Segment:
    """Operations that stand at these places, one each."""
    made: Segment = []
    for place in places:
        made.append(dialect.TestOp())
        (stretch, step), layer = place
        note_places(made[-1], [((0, stretch, step), layer)])
    return made


def within(layer: int) -> Segment:
    """From the second half of what an operation of a layer has become to the first half of the next one's."""
    return segment(((1, 7), layer), ((1, 8), layer), ((1, 6), layer + 1), ((1, 7), layer + 1))


def two(layer: int) -> Segment:
    return segment(((1, 0), layer), ((1, 1), layer), ((1, 0), layer + 1), ((1, 1), layer + 1))


def test_layers_may_begin_within_the_operations_of_a_slot() -> None:
    segments = [within(layer) for layer in range(5)]
    assert list(_of_a_layer(segments)) == segments
    assert list(_of_a_layer(segments[::-1])) == segments[::-1]


def test_what_is_at_the_ends_stays_apart() -> None:
    first, last = segment(((1, 6), 0), ((1, 7), 0)), two(5)
    segments = [first, *(within(layer) for layer in range(5)), last]
    assert list(_of_a_layer(segments)) == segments[:-1]


@pytest.mark.parametrize("step", [0, 2, 3])
def test_two_layers_do_not_go_into_one_function(step: int) -> None:
    assert not list(_of_a_layer([two(step * number) for number in range(4)]))


def test_parts_of_one_layer_may_repeat() -> None:
    segments = [segment(((1, number), 2), ((1, number + 1), 2)) for number in range(0, 8, 2)]
    assert list(_of_a_layer(segments)) == segments


def test_a_layer_and_what_is_beside_all_stay_apart_where_two_layers_would_go_together() -> None:
    alone = dialect.TestOp()
    first, last = [alone, *segment(((1, 0), 0))], [*segment(((1, 0), 3)), alone]
    assert not list(_of_a_layer([first, segment(((1, 0), 1), ((1, 0), 2)), last]))
    assert len(list(_of_a_layer([first, last]))) == 2


def test_over_what_values_vary_is_asked_only_where_a_function_may_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"x{number}" for number in range(LEAST)]
    turn = "".join(f"    {name} = tanh({name}) * {name}\n" for name in names)
    types = [f"f32[8@d, {size}]" for size in range(1, LEAST + 1)]
    given = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    head = f"mesh m[d=2]\n\ndef main({given}) -> ({', '.join(types)}):\n"
    text = f"{head}{turn * 3}    return {', '.join(names)}\n"
    module = read(text, "p.shard")
    run_to(make_context(), module, "local", without=("outline-repeats", "simplify-local"))
    before = str(module)
    monkeypatch.setattr(SharedGraph, "varying", None)
    OutlineRepeats().apply(make_context(), module)
    assert str(module) == before
