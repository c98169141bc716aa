"""A layer that differs in a part goes with the others, and has its part back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardc.analysis.text import sharded_text, sharding_said
from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.frontend.text import read
from shardc.graph import TensorType
from shardc.interpret.run import run
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.passes.insert_reshards import InsertReshards
from shardc.passes.pipeline import run_to
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.alignment import Alignment
from shardc.rewrite.folding.apart import part_apart
from shardc.rewrite.folding.cut import cuts_of
from shardc.rewrite.folding.kinds import Kinds
from tests.tolerance import assert_right
from tests.unit.rewrite.folding.programs import forward, step
from tests.unit.rewrite.folding.test_folding import arguments, stages
from tests.unit.rewrite.folding.test_kept import folder, text, without_cache
from tests.unit.rewrite.folding.test_stacks import edited, stacks

__all__ = ["folder"]

COUNT, PLACE, WORTH = 16, 7, 20
OUT = "    x = x + {1} @ {0}.down\n"
REST = "    x = x + tanh(x @ {0}.up) @ {0}.down\n    x = x * exp(-abs(x) - sqrt(abs(x) + 2.0))\n"
FORWARD = (forward, "gelu(sin(cos(x * {0}.gain)) @ {0}.up)", REST)
STEP = (step, "gelu(sin(x) @ {0}.up)", "")
"""What is made of layers, what is inside of these, and what comes after that."""

EDITS = {
    "a factor": ("{1}", OUT.replace("\n", " * 0.5\n")),
    "a factor inside": ("({1} * 0.5)", OUT),
    "a function more": ("sin({1})", OUT),
    "operands the other way round": ("{1}", "    x = {1} @ {0}.down - x\n"),
    "nothing beside it": ("{1}", "    x = {1} @ {0}.down\n"),
    "a line more": ("{1}", OUT + "    x = x + tanh(x) * {0}.gain\n"),
    "a maximum over a split dimension": ("({1} - max({1}, axis=1, keepdims=True))", OUT),
    "another product": ("{1}", OUT + "    x = x + sin(x @ {0}.up) @ {0}.down\n"),
    "a cast": ("{1}", "    x = x + astype(astype({1}, bf16) @ astype({0}.down, bf16), f32)\n"),
    "a number of its own, too": ("({1} * 0.5 + sin(x @ {0}.up) * 0.75)", OUT),
}
OTHERS = {
    "another function": ("gelu", "silu"),
    "for several operations": ("gelu", "tanh"),
    "one less": ("sin", ""),
}


def programs(make: Callable[..., str], inner: str, rest: str) -> Iterator[tuple[str, str]]:
    """The program of equal layers, and those in which one is another."""
    layer = OUT.replace("{1}", inner) + rest
    whole = make(COUNT, layer=layer)
    yield "", whole
    for name, (inside, outer) in EDITS.items():
        yield (
            name,
            edited(whole, (PLACE, outer.replace("{1}", inside.replace("{1}", inner)) + rest), layer=layer),
        )
    for name, (old, new) in OTHERS.items():
        yield name, edited(whole, (PLACE, layer.replace(old, new, 1)), layer=layer)


PROGRAMS = {
    f"{name}, {kind}": program
    for kind, said in (("forward", FORWARD), ("step", STEP))
    for name, program in programs(*said)
}


WITHOUT = ("operands the other way round", "nothing beside it", "a line more", "another product")
WITHOUT += ("a maximum over a split dimension", "a number of its own, too")
"""Of the edits of a step those after which the layer is one of another kind: its gradient is added up by
other operations."""
PARTS = [name for name in PROGRAMS if not name.startswith(",")]
PARTS = [name for name in PARTS if not (name.endswith("step") and name.startswith(WITHOUT))]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_is_the_same(name: str) -> None:
    whole, local, _ = stages(PROGRAMS[name], WORTH)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), PROGRAMS[name])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_layer_goes_with_the_others(name: str) -> None:
    """Once: it is put back, and not compiled with all layers after that."""
    parts = [stack.part is not None for stack in stacks(PROGRAMS[name])]
    assert parts == ([True] if name in PARTS else [False] if name.startswith(",") else [])


ON_ONE_LINE = [name for name in PARTS if not name.startswith(("another product", "a line more"))]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", ON_ONE_LINE)
@pytest.mark.usefixtures("folder")
def test_the_part_alone_is_planned_after_an_edit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    anew = without_cache(program)
    text(PROGRAMS[f", {name.rpartition(' ')[2]}"])
    planned: list[int] = []
    plan = InsertReshards.rewrite

    def rewrite(self: InsertReshards, shared: SharedGraph) -> bool:
        planned.append(len(shared.ops()))
        return plan(self, shared)

    monkeypatch.setattr(InsertReshards, "rewrite", rewrite)
    assert text(program) == anew != text(PROGRAMS[f", {name.rpartition(' ')[2]}"])
    assert len(planned) == 1 and planned[0] < 60


def block_of(program: str) -> FuncOp:
    """The function that layers are taken out of."""
    module = read(program, "layers.shard")
    run_to(make_context(), module, "sharded", without=("propagate", "unmerge-dimensions", "check"))
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str) -> None:
    """Whatever stands for a part meanwhile."""
    function = block_of(PROGRAMS[name])
    before = [(op, [*op.operands]) for op in function.body.block.ops]
    with part_apart(function, Kinds()) as part:
        changed = [(op, [*op.operands]) for op in function.body.block.ops]
        assert (part is None) == (changed == before)
    assert [(op, [*op.operands]) for op in function.body.block.ops] == before


@pytest.mark.parametrize("name", PARTS)
def test_with_a_part_apart_nothing_is_between_layers(name: str) -> None:
    function = block_of(PROGRAMS[name])
    assert Alignment([*function.body.block.ops][:-1], Kinds()).gaps
    with part_apart(function, Kinds()) as part:
        assert part is not None
        assert not Alignment([*function.body.block.ops][:-1], Kinds()).gaps


@pytest.mark.parametrize(("count", "place", "goes"), [(16, 1, False), (16, 4, True), (16, 15, False)])
def test_a_layer_that_stays_has_no_part(count: int, place: int, goes: bool) -> None:
    layer = OUT.replace("{1}", FORWARD[1]) + REST
    found = stacks(edited(forward(count, layer), (place, layer.replace("sin", "")), layer=layer))
    assert [stack.part is not None for stack in found[:1]] == [goes]


def test_one_layer_of_four_may_have_one() -> None:
    layer = OUT.replace("{1}", FORWARD[1]) + REST
    other = layer.replace("sin", "")
    few, many = ([(place, other) for place in places] for places in ((4, 8, 12), (4, 6, 8, 10, 12)))
    (stack,) = stacks(edited(forward(COUNT, layer), *few, layer=layer))
    assert stack.part is not None
    assert not any(stack.part for stack in stacks(edited(forward(COUNT, layer), *many, layer=layer)))


def test_equal_values_of_a_layer_of_which_one_gives_way() -> None:
    """They may become one on the way, so the layer is of another kind."""
    layer = "    h = tanh(x @ {0}.up)\n    h = h + max(tanh(x @ {0}.up), axis=1, keepdims=True)\n"
    layer += "    x = x + sin(h) @ {0}.down\n"
    program = edited(forward(COUNT, layer), (PLACE, layer.replace("h = tanh", "h = abs")), layer=layer)
    assert not any(stack.part for stack in stacks(program))
    whole, local, _ = stages(program, WORTH)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), program)


@pytest.mark.parametrize("option", ["combine-collectives", "overlap", "regather"])
def test_passes_that_look_across_layers_see_the_part(option: str) -> None:
    program = PROGRAMS["another product, forward"]
    whole, local, removed = stages(program, WORTH, **{option: {}})
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), program)


MESH = Mesh("pod", (("x", 8), ("y", 2), ("z", 4)))
AXES = [MESH.axis("y"), MESH.axis("z"), Axis("x", 2, 1), Axis("x", 4, 2), Axis("x", 2, 2), Axis("x", 2, 4)]


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=4, max_size=4), st.sampled_from("smx"))
def test_a_layout_is_read_as_it_is_said(order: list[int], places: list[int], kind: str) -> None:
    axes = [*AXES[:2], *(AXES[2:4] if order[0] % 2 else AXES[4:])]
    dims = tuple(Dim(tuple(axes[n] for n in order if places[n] == dim)) for dim in range(3))
    partial = tuple(axes[n] for n in order if places[n] == 3)
    sharding = Sharding(MESH, dims, (), partial, {"s": "sum", "m": "min", "x": "max"}[kind])
    assert sharding_said(sharded_text(TensorType((64, 64, 64), "f32"), sharding), MESH) == sharding


@pytest.mark.parametrize("text", ["f32[8@w]", "f32[8@x, 8@x]", "f32[8@x:(3)2]"])
def test_a_layout_that_the_mesh_has_not(text: str) -> None:
    with pytest.raises(LayoutError):
        sharding_said(text, MESH)


def test_what_kind_an_operation_is_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program, asked, kind = PROGRAMS["a factor, step"], Counter[Operation](), Alike.kind

    def counted(self: Alike, op: Operation) -> Hashable:
        asked[op] += 1
        return kind(self, op)

    function, kinds = block_of(program), Kinds()
    monkeypatch.setattr(Alike, "kind", counted)
    with part_apart(function, kinds) as part:
        assert part is not None
        assert cuts_of(function, WORTH, kinds, True)
    assert len(asked) > 200 and set(asked.values()) == {1}
