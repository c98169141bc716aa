"""What single reshards come out as."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from shardc.graph import TensorType
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding, replicated
from shardc.planning.reshard import plan, planner
from shardc.planning.reshard.atoms import atoms_of
from shardc.planning.reshard.moves import SearchState, moves
from shardc.planning.reshard.next_moves import next_moves
from shardc.planning.reshard.search import _search, search
from shardc.planning.reshard.space import AtomLayout, Space

MESH = Mesh("m", (("x", 4), ("y", 2)))


def on(mesh, *dims, partial="", kind="sum"):
    """A sharding from letters: on(MESH, "xy", "") is [(x, y), -]."""
    axes = [tuple(map(mesh.axis, letters)) for letters in dims]
    return Sharding(mesh, tuple(map(Dim, axes)), unreduced=tuple(map(mesh.axis, partial)), kind=kind)


def steps(shape, source, target, **options):
    """The plan as text: each step's kind and what it leads to."""
    found = plan(TensorType(shape, "f32"), source, target, **options)
    return [f"{step.kind} {step.result}" for step in found.steps]


def test_nothing_to_do():
    found = plan(TensorType((8, 8), "f32"), on(MESH, "x", "y"), on(MESH, "x", "y"))
    assert (found.steps, found.cost.bytes, found.cost.steps, found.exact) == ((), 0, 0, True)


def test_what_holds_no_data_does_not_matter():
    """Open dimensions, priorities and `replicated` say nothing about who holds what."""
    source = Sharding(MESH, (Dim((MESH.axis("x"),), open=True, priority=2), Dim()), (MESH.axis("y"),))
    assert steps((8, 8), source, on(MESH, "x", "")) == []


def test_gather():
    assert steps((8,), on(MESH, "xy"), on(MESH, "")) == ["all_gather [-]"]
    assert steps((8,), on(MESH, "xy"), on(MESH, "x")) == ["all_gather [x]"]


def test_slices_are_one_step():
    assert steps((8, 8), on(MESH, "", ""), on(MESH, "x", "y")) == ["all_slice [x, y]"]


def test_xla_replicates_this_one():
    """jax#21562: 16^3, x=4, y=2: one exchange over both axes; Shardy's two move 2,560 bytes."""
    found = plan(TensorType((16, 16, 16), "f32"), on(MESH, "y", "", "x"), on(MESH, "", "xy", ""))
    (step,) = found.steps
    assert step.kind == "all_to_all"
    assert found.cost == (1792, 1, 4096)
    assert step.attributes(on(MESH, "y", "", "x")) == {
        "params": (((MESH.axis("y"),), 0, 1), ((MESH.axis("x"),), 2, 1))
    }


def test_an_axis_never_takes_the_place_of_an_unused_one():
    """A permute would leave the result varying over x, so x is gathered; the bytes are the same."""
    mesh = Mesh("m", (("x", 4), ("y", 4)))
    assert steps((16,), on(mesh, "x"), on(mesh, "y")) == [
        "all_slice [(x, y)]",
        "collective_permute [(y, x)]",
        "all_gather [y]",
    ]
    assert plan(TensorType((16,), "f32"), on(mesh, "x"), on(mesh, "y")).cost.bytes == 16


def test_axes_are_split_where_sizes_differ():
    assert steps((16, 16), on(MESH, "x", "y"), on(MESH, "y", "x")) == [
        "collective_permute [(y, x:(2)2), x:(1)2]",
        "all_to_all [y, x]",
    ]


def test_reduce_scatter_rather_than_all_reduce_and_slice():
    mesh = Mesh("m", (("x", 4),))
    assert steps((8, 8), on(mesh, "", "", partial="x"), on(mesh, "", "x")) == ["reduce_scatter [-, x]"]
    assert steps((8, 8), on(mesh, "", "", partial="x"), on(mesh, "", "")) == ["all_reduce [-, -]"]


def test_all_axes_are_reduced_at_once():
    assert steps((8,), on(MESH, "", partial="xy"), on(MESH, "")) == ["all_reduce [-]"]


def test_idle_devices_share_the_work_where_it_saves_bytes():
    source, target = on(MESH, "", partial="x"), on(MESH, "")
    assert steps((8,), source, target) == [
        "all_slice [y] partial(sum: x)",
        "all_reduce [y]",
        "all_gather [-]",
    ]
    assert steps((8,), source, target, idle_axes=False) == ["all_reduce [-]"]


def test_partial_results_are_free():
    assert steps((8,), on(MESH, "x"), on(MESH, "", partial="x")) == [
        "sharded_to_unreduced [-] partial(sum: x)"
    ]
    assert steps((8,), on(MESH, ""), on(MESH, "", partial="xy", kind="max")) == [
        "replicated_to_unreduced [-] partial(max: x, y)"
    ]


def test_another_kind_of_partial_result():
    """A sum over y is finished before the value becomes one of a maximum."""
    source, target = on(MESH, "", partial="y"), on(MESH, "", partial="y", kind="max")
    assert steps((8,), source, target, idle_axes=False) == [
        "reduce_scatter [y]",
        "sharded_to_unreduced [-] partial(max: y)",
    ]


def test_uneven_blocks_that_do_not_tile_are_gathered_whole():
    """5 rows: blocks of 2 on x=4 and of 3 on y=2."""
    assert steps((5,), on(MESH, "x"), on(MESH, "y")) == ["all_gather [-]", "all_slice [y]"]
    assert steps((9,), on(MESH, "xy"), on(MESH, "x")) == ["all_gather [-]", "all_slice [x]"]


def test_uneven_blocks_that_tile_are_not():
    """7 rows on 8 devices: blocks of 1, which in pairs are the blocks of 2 on x=4."""
    assert steps((7,), on(MESH, "xy"), on(MESH, "x")) == ["all_gather [x]"]


def test_no_elements():
    found = plan(TensorType((0, 4), "f32"), on(MESH, "x", ""), on(MESH, "", "y"))
    assert found.cost.bytes == 0


def test_absurd_sizes_cost_nothing_to_plan():
    found = plan(TensorType((10**18, 8), "f32"), on(MESH, "x", ""), on(MESH, "", "x"))
    assert found.cost.bytes == 3 * (10**18 // 4) * 2 * 4


def test_memory_limit():
    """[x] -> [y] on two and two: a gather and a slice; with less memory, three steps of the same bytes."""
    mesh = Mesh("m", (("x", 2), ("y", 2)))
    type, source, target = TensorType((8,), "f32"), on(mesh, "x"), on(mesh, "y")
    cheap = plan(type, source, target)
    assert [step.kind for step in cheap.steps] == ["all_gather", "all_slice"]
    assert plan(type, source, target, memory_limit=cheap.cost.peak) == cheap
    lean = plan(type, source, target, memory_limit=cheap.cost.peak - 1)
    assert [step.kind for step in lean.steps] == ["all_slice", "collective_permute", "all_gather"]
    assert (lean.cost.bytes, lean.cost.peak) == (cheap.cost.bytes, 24)
    with pytest.raises(LayoutError, match="stays within 20 bytes"):
        plan(type, source, target, memory_limit=20)


def test_slices_come_before_exchanges():
    """Even where y is then exchanged as well: three quarters of a quarter, not half of a half."""
    mesh = Mesh("m", (("x", 2), ("y", 2)))
    assert steps((8, 8), on(mesh, "x", ""), on(mesh, "", "xy")) == [
        "all_slice [(x, y), -]",
        "all_to_all [-, (x, y)]",
    ]


def test_parts_of_axes():
    mesh = Mesh("m", (("x", 4),))
    major, minor = Axis("x", 2), Axis("x", 2, 2)
    source = Sharding(mesh, (Dim((major,)), Dim((minor,))))
    assert steps((8, 8), source, on(mesh, "x", "")) == ["all_to_all [x, -]"]
    swapped = Sharding(mesh, (Dim((minor,)), Dim((major,))))
    assert [step.split()[0] for step in steps((8, 8), source, swapped)] == ["collective_permute"]


def test_axes_of_size_one():
    """JAX needs to be told that a value does not vary over them either."""
    mesh = Mesh("m", (("x", 1), ("y", 2)))
    assert steps((8,), on(mesh, "yx"), on(mesh, "y")) == ["all_gather [y]"]
    assert plan(TensorType((8,), "f32"), on(mesh, "yx"), on(mesh, "y")).cost == (0, 1, 32)


def test_six_axes():
    mesh = Mesh("m", tuple((name, 2) for name in "abcdef"))
    source, target = on(mesh, "", "cdfe", "", "a"), on(mesh, "d", "f", "e", "ba")
    found = plan(TensorType((64,) * 4, "f32"), source, target)
    assert found.exact
    assert found.cost.bytes == found.bound == 2_883_584
    assert all(replicated(mesh, 4) != step.result for step in found.steps)


def test_pieces_are_cut_for_one_pair_that_changes_places_then_for_all():
    mesh = Mesh("m", (("x", 4), ("y", 8), ("z", 2)))
    sets = atoms_of(on(mesh, "xy", ""), on(mesh, "z", "x"), (64, 64))
    assert [[f"{atom.name}{atom.size}" for atom in atoms] for atoms in (*sets.some, sets.every)] == [
        ["x4", "y8", "z2"],
        ["x2", "x2", "y8", "z2"],
        ["x4", "y2", "y2", "y2", "z2"],
        ["x2", "x2", "y2", "y2", "y2", "z2"],
    ]
    assert sets.joined


def test_pieces_are_also_cut_where_they_no_longer_divide():
    mesh = Mesh("m", (("x", 6), ("y", 4), ("z", 2)))
    sets = atoms_of(on(mesh, "yz", "x"), on(mesh, "x", "z"), (512, 4096))
    assert len(sets.some) > 1
    assert not sets.joined


@pytest.mark.parametrize(
    ("source", "target", "pieces"),
    [
        (("xy", "z"), ("xz", "y"), [3, 5]),
        (("xy", ""), ("", "z"), [3, 5, 5]),  # each pair alone gains nothing
        (("xy", ""), ("z", "yx"), [3, 5, 5, 7]),  # two do
    ],
)
def test_all_cuts_are_tried_only_where_two_pairs_gain(monkeypatch, source, target, pieces):
    mesh = Mesh("m", (("x", 128), ("y", 16), ("z", 8)))
    counts, search = [], planner.search

    def counted(space, *args, **options):
        counts.append(len(space.sizes))
        return search(space, *args, **options)

    monkeypatch.setattr(planner, "search", counted)
    found = plan.__wrapped__(TensorType((8192, 16384), "f32"), on(mesh, *source), on(mesh, *target))
    assert counts == pieces
    assert found.bound <= found.cost.bytes


def test_an_axis_is_not_cut_for_a_gain_of_less_than_a_64th():
    """With data in pieces of 8, 2 and 8 a 2,000th less is sent, in one collective more."""
    mesh = Mesh("m", (("x", 128), ("y", 16), ("z", 8)))
    type = TensorType((8192, 16384), "f32")
    found = plan(type, on(mesh, "z", "", partial="xy"), on(mesh, "xy", ""))
    assert all(axis.size == mesh.sizes[axis.name] for step in found.steps for axis in step.result.axes())
    assert found.bound <= found.cost.bytes <= 64 * found.bound / 63


@pytest.mark.parametrize("below", [None, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize(("shape", "itemsize"), [((16, 48), 4), ((32, 16, 16), 2)])
def test_ways_of_even_tensors_are_those_of_the_smallest(shape, itemsize, below):
    """Also where ways of fewer bytes alone are asked for: then as a part of the tensor."""
    none = ((),) * (len(shape) - 2)
    layouts = [
        AtomLayout(((0, 1), (), *none)),
        AtomLayout(((1,), (0,), *none)),
        AtomLayout(((), (1,), *none), (0, 2)),
        AtomLayout(((2,), (), *none), (0,)),
        AtomLayout(((), (), *none)),
    ]
    for start, goal in product(layouts, repeat=2):
        space = Space(shape, itemsize, (2, 4, 2), start, goal)
        less = None if below is None else int(below * itemsize * prod(shape))
        assert search(space, None, 10_000, below=less) == _search(space, None, 10_000, 0, less)


def test_moves_are_those_of_the_space():
    """What is remembered of spaces with other starts and goals is what each has."""
    sizes, shape = (2, 2, 3), (12, 8)
    ends = [
        AtomLayout(((0,), (1,))),
        AtomLayout(((1, 2), ())),
        AtomLayout(((2,), ()), (0,)),
        AtomLayout(((), ()), (0, 1)),
    ]
    for start, goal in product(ends, ends):
        space = Space(shape, 4, sizes, start, goal)
        for layout in ends:
            state, here = SearchState(layout), next_moves(space)
            after = here.after(here.place(state))
            assert [move for move, _ in after] == [*moves(space, state)]
            assert all(place is here.place(move.state) for move, place in after)


def test_many_devices_whose_numbers_do_not_divide_each_other():
    """With all pieces of the axes there is more than is tried; with those of one pair, there is not."""
    mesh = Mesh("m", (("p", 16), ("d", 128), ("m", 8)))
    type, target = TensorType((4096, 16, 8, 64), "f32"), on(mesh, "mp", "", "", "")
    assert plan(type, on(mesh, "pd", "m", "", ""), target).cost.bytes == 1 << 20


HARD = [
    (("", "fd", "", "", "", "b", "", "e"), ("", "", "c", "e", "", "a", "", "f")),
    (("a", "", "c", "", "f", "b", "", ""), ("fc", "", "", "b", "de", "", "", "")),
    (("cb", "", "", "a", "", "f", "", ""), ("", "b", "", "d", "c", "", "", "fe")),
    (("e", "a", "b", "", "c", "", "", ""), ("af", "", "c", "b", "", "", "d", "")),
]


@pytest.mark.parametrize(("source", "target"), HARD)
def test_more_than_can_be_searched_to_the_end(source, target):
    """Six axes, eight dimensions: the plan says how much better another might be, which is not much."""
    mesh = Mesh("m", tuple((name, 2) for name in "abcdef"))
    found = plan(TensorType((64,) * 8, "f32"), on(mesh, *source), on(mesh, *target))
    assert found.exact == (found.bound == found.cost.bytes)
    assert found.bound <= found.cost.bytes <= 3 * found.bound
    assert all(replicated(mesh, 8) != step.result for step in found.steps)


def test_parts_without_a_common_refinement():
    mesh = Mesh("m", (("x", 6),))
    source, target = Sharding(mesh, (Dim((Axis("x", 2),)),)), Sharding(mesh, (Dim((Axis("x", 3),)),))
    with pytest.raises(LayoutError, match=r"x:\(1\)2 and x:\(1\)3 of axis x have no common refinement"):
        plan(TensorType((6,), "f32"), source, target)


def test_other_mesh():
    with pytest.raises(LayoutError, match=r"from mesh m\[x=4, y=2\] to mesh n\[x=8\]"):
        plan(TensorType((8,), "f32"), on(MESH, "x"), on(Mesh("n", (("x", 8),)), "x"))
