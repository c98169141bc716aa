"""Which slice each device holds."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding
from shardc.layout.slices import replicas, slices

MESH = Mesh("m", (("a", 2), ("b", 4)))
A, B = MESH.axis("a"), MESH.axis("b")


def lay(*dims: tuple[Axis, ...], mesh: Mesh = MESH, partial: tuple[Axis, ...] = ()) -> Sharding:
    return Sharding(mesh, tuple(map(Dim, dims)), unreduced=partial)


def test_even_blocks():
    assert slices(lay((A,), (B,)), (4, 8)).tolist() == [
        [[row, row + 2], [col, col + 2]] for row in (0, 2) for col in (0, 2, 4, 6)
    ]


def test_several_axes_are_major_to_minor():
    starts = slices(lay((B, A)), (8,))[:, 0, 0]
    assert starts.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_sub_axes():
    major, minor = Axis("b", 2), Axis("b", 2, 2)
    assert slices(lay((major,)), (4,))[:4, 0, 0].tolist() == [0, 0, 2, 2]
    assert slices(lay((minor, major)), (4,))[:4, 0, 0].tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (9, [[0, 3], [3, 6], [6, 9], [9, 9]]),
        (5, [[0, 2], [2, 4], [4, 5], [5, 5]]),
        (1, [[0, 1], [1, 1], [1, 1], [1, 1]]),
        (0, [[0, 0]] * 4),
    ],
)
def test_uneven_blocks_have_the_ceiling_size(size: int, expected: list[list[int]]):
    assert slices(lay((B,)), (size,))[:4, 0].tolist() == expected


def test_rows_are_device_numbers():
    mesh = Mesh("m", (("a", 4),), (2, 0, 3, 1))
    layout = lay((mesh.axis("a"),), mesh=mesh)
    assert slices(layout, (4,))[:, 0, 0].tolist() == [1, 3, 0, 2]
    assert replicas(layout).tolist() == [1, 3, 0, 2]


def test_a_mesh_of_one_given_device():
    assert slices(lay((), mesh=Mesh("m", (), (5,))), (4,)).tolist() == [[[0, 4]]]


def test_replicas():
    assert replicas(lay((B,))).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert replicas(lay(())).tolist() == [0] * 8


def test_partial_results_are_no_replicas():
    assert replicas(lay((B,), partial=(A,))).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_the_rank_must_fit():
    with pytest.raises(LayoutError) as error:
        slices(lay((A,)), (4, 4))
    assert str(error.value) == "[a] is a sharding of 1 dimensions, [4, 4] has 2"


def test_many_devices_and_absurd_sizes():
    mesh = Mesh("m", (("a", 256), ("b", 256)))
    layout = lay((mesh.axis("b"),), (mesh.axis("a"),), mesh=mesh)
    bounds = slices(layout, (10**18, 256))
    assert bounds.shape == (65_536, 2, 2)
    assert bounds[-1].tolist() == [[10**18 // 256 * 255, 10**18], [255, 256]]
    assert len(np.unique(replicas(layout))) == 65_536
