"""Emulated devices: cutting and joining, and what happens when devices do different things."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.layout import LayoutError
from shardc.runtime import Comm, DivergenceError, Mesh, P, ReplicationError, emulate
from shardc.runtime.trees import like

MESH = Mesh({"i": 4, "j": 2})
HERE = Path(__file__)


def line_of(text: str) -> str:
    """file:line of the only line of this file that ends with `# text`."""
    (line,) = [n for n, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith(f"# {text}")]
    return f"{HERE}:{line}"


def test_a_matmul():
    a = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    b = np.arange(16 * 32, dtype=np.float32).reshape(16, 32) % 7

    def device_main(comm: Comm, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert a.shape == (2, 8) and b.shape == (8, 32)
        return comm.psum(a @ b, "j")

    c = emulate(device_main, MESH, (P("i", "j"), P("j")), (P("i"),))(a, b)
    np.testing.assert_array_equal(c, a @ b)


def test_several_results_come_as_a_tuple():
    main = emulate(lambda c, x: (x, c.psum(x, "i")), Mesh({"i": 2}), (P("i"),), (P("i"), P()))
    x, total = main(np.arange(4))
    assert x.tolist() == [0, 1, 2, 3]
    assert total.tolist() == [2, 4]
    assert emulate(lambda c: (), Mesh({"i": 2}), (), ())() == ()


def test_device_order_says_who_is_where():
    mesh = Mesh({"i": 4}, devices=[2, 0, 3, 1])
    with pytest.raises(ZeroDivisionError) as error:
        emulate(lambda c, x: 1 // (2 - int(c.axis_index("i"))), mesh, (P("i"),), (P("i"),))(np.arange(4))
    assert error.value.__notes__ == ["on device 3 (i=2) of mesh[i=4]"]


@pytest.mark.parametrize("size", [0, 1, 5, 7, 8, 9])
def test_uneven_blocks_are_filled_up_with_zeros(size: int):
    mesh = Mesh({"i": 4})
    block = -(-size // 4)

    def device_main(comm: Comm, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x, np.array([x.shape[0], int(x.sum())])[None]

    x = np.arange(1, size + 1)
    same, seen = emulate(device_main, mesh, (P("i"),), (P("i"), P("i")), out_shapes={0: (size,)})(x)
    assert same.tolist() == x.tolist()
    assert seen[:, 0].tolist() == [block] * 4
    assert seen[:, 1].sum() == x.sum()


def test_partial_results_are_combined():
    main = emulate(
        lambda c, x: (x, c.position + x),
        Mesh({"i": 2, "j": 3}),
        (P("i"),),
        (P("i"), P()),
        partial_out={0: ("j", "sum"), 1: (("i", "j"), "max")},
    )
    total, most = main(np.arange(4))
    assert total.tolist() == [0, 3, 6, 9]
    assert most.tolist() == [7, 8]


def test_a_thousand_devices():
    x = np.arange(1000)
    mesh = Mesh({"i": 1000})
    before = threading.active_count()
    main = emulate(lambda c, x: c.all_gather(c.ppermute(x, "i", RING), "i"), mesh, (P("i"),), (P(),))
    np.testing.assert_array_equal(main(x), np.roll(x, 1))
    assert threading.active_count() == before


RING = [(i, (i + 1) % 1000) for i in range(1000)]


def test_the_order_is_the_same_every_time():
    def run() -> list[int]:
        order: list[int] = []

        def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
            order.append(comm.position)
            x = comm.psum(x, "j")
            order.append(comm.position)
            x = comm.psum(x, "i")
            order.append(comm.position)
            return x

        emulate(device_main, MESH, (P(("i", "j")),), (P(),))(np.arange(8))
        return order

    first = run()
    assert len(first) == 24
    assert all(run() == first for _ in range(20))


def test_numpy_settings_of_the_caller_hold_on_devices():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        return 1 / comm.psum(x, "i")

    main = emulate(device_main, Mesh({"i": 2}), (P("i"),), (P(),))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        main(np.zeros(2))
    with np.errstate(divide="ignore"):
        assert main(np.zeros(2)).tolist() == [np.inf]


def test_numpy_settings_of_one_device_stay_there():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        if comm.position == 0:
            with np.errstate(divide="raise"):
                return comm.psum(x, "i")
        assert np.geterr()["divide"] == "warn"
        return comm.psum(x, "i")

    assert emulate(device_main, Mesh({"i": 2}), (P("i"),), (P(),))(np.ones(2)).tolist() == [2]


# devices that do different things


def test_another_collective():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        if comm.axis_index("i") == 3:
            return comm.pmax(x, "i")  # the other one
        return comm.psum(x, "i")  # what most do

    with pytest.raises(DivergenceError) as error:
        emulate(device_main, MESH, (P("i"),), (P(),))(np.arange(4.0))
    assert str(error.value) == (
        "devices that differ only along i call different collectives:\n"
        f"    device 0 (i=0, j=0): psum(f64[1], 'i') at {line_of('what most do')}\n"
        f"    device 6 (i=3, j=0): pmax(f64[1], 'i') at {line_of('the other one')}"
    )


@pytest.mark.parametrize(
    "other",
    [
        lambda c, x: c.psum(x[:1], "i"),
        lambda c, x: c.psum(x.astype(np.float32), "i"),
        lambda c, x: c.psum(x, ("i", "j")),
        lambda c, x: c.psum(x, "j"),
        lambda c, x: c.all_gather(x, "i"),
        lambda c, x: c.psum_scatter(x, "i"),
    ],
)
def test_another_shape_dtype_axis_or_kind(other: Any):
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        return other(comm, x) if comm.position == 5 else comm.psum(x, "i")

    with pytest.raises(DivergenceError, match=r"device 5 \(i=2, j=1\)"):
        emulate(device_main, MESH, (P(),), (P(),))(np.arange(4.0))


def test_other_parameters():
    with pytest.raises(DivergenceError) as error:
        emulate(lambda c, x: c.all_gather(x, "i", axis=c.position), Mesh({"i": 2}), (P(),), (P(),))(np.eye(2))
    assert "all_gather(f64[2, 2], 'i', axis=0, tiled=True)" in str(error.value)
    assert "all_gather(f64[2, 2], 'i', axis=1, tiled=True)" in str(error.value)


def test_a_device_that_leaves_early():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        if comm.axis_index("i") == 3:
            return x
        return comm.psum(x, ("i", "j"))  # where they wait

    with pytest.raises(DivergenceError) as error:
        emulate(device_main, MESH, (P("i"),), (P(),))(np.arange(4.0))
    assert str(error.value) == (
        "no device can go on:\n"
        "    device 0 (i=0, j=0), device 1 (i=0, j=1), device 2 (i=1, j=0), device 3 (i=1, j=1) and 2 more "
        f"wait in psum(f64[1], ('i', 'j')) at {line_of('where they wait')}\n"
        "    device 6 (i=3, j=0), device 7 (i=3, j=1) left device_main"
    )


def test_collectives_in_another_order():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        first, second = ("i", "j") if comm.position in (0, 3) else ("j", "i")
        return comm.psum(comm.psum(x, first), second)

    mesh = Mesh({"i": 2, "j": 2})
    with pytest.raises(DivergenceError, match="no device can go on"):
        emulate(device_main, mesh, (P(),), (P(),))(np.arange(4.0))


def test_groups_may_do_different_things():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        return comm.psum(x, "j") if comm.axis_index("i") else comm.pmax(x, "j")

    got = emulate(device_main, MESH, (P(("i", "j")),), (P("i"),))(np.arange(8))
    assert got.tolist() == [1, 5, 9, 13]


def test_an_exception_stops_all_and_comes_through():
    left: list[int] = []

    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        if comm.position == 3:
            raise KeyError("here")
        try:
            return comm.psum(x, "i")
        finally:
            left.append(comm.position)

    before = threading.active_count()
    with pytest.raises(KeyError, match="here") as error:
        emulate(device_main, MESH, (P(),), (P(),))(np.arange(4))
    assert error.value.__notes__ == ["on device 3 (i=1, j=1) of mesh[i=4, j=2]"]
    assert sorted(left) == [0, 1, 2]
    assert threading.active_count() == before


def test_a_result_that_is_not_the_same():
    with pytest.raises(ReplicationError) as error:
        emulate(lambda c, x: x + 2 * (c.position == 5), MESH, (P(),), (P("i"),))(np.arange(4.0))
    assert str(error.value) == (
        "result 0 is not split over j, so devices along j must hold the same, but device 4 (i=2, j=0) and "
        "device 5 (i=2, j=1) differ: at [0] of the block, 0.0 and 2.0"
    )


def test_not_a_number_is_the_same_as_itself():
    got = emulate(lambda c, x: x * 1, MESH, (P(),), (P(),))(np.array([np.nan, 1.0]))
    assert np.isnan(got[0])


@pytest.mark.parametrize(
    ("in_spec", "out_spec", "message"),
    [
        (P("k"), P(), "argument 0: mesh mesh has no axis k; it has i, j"),
        (P("i", "i"), P(), "argument 0: axis i is used twice"),
        (
            P(None, None, "i"),
            P(),
            "argument 0: P(None, None, 'i') has 3 entries, but the array has 2 dimensions",
        ),
        (P(), P("i", ("j", "i")), "result 0: axis i is used twice"),
    ],
)
def test_specs_that_cannot_be(in_spec: P, out_spec: P, message: str):
    with pytest.raises(LayoutError) as error:
        emulate(lambda c, x: x, MESH, (in_spec,), (out_spec,))(np.eye(8))
    assert str(error.value) == message


def test_numbers_of_arrays_and_results():
    main = emulate(lambda c, x: (x, x), MESH, (P(),), (P(),))
    with pytest.raises(TypeError, match="there are 1 in_specs, but 2 arrays"):
        main(1, 2)
    with pytest.raises(ValueError, match=r"device 0 \(i=0, j=0\) returns 2 results; there are 1 out_specs"):
        main(1)


def test_a_block_of_another_shape():
    with pytest.raises(ValueError) as error:
        emulate(lambda c, x: x[: 1 + c.position], Mesh({"i": 2}), (P(),), (P("i"),))(np.arange(4))
    assert str(error.value) == "result 0: device 1 (i=1) returns i64[2] where i64[1] is expected"


def test_one_device():
    assert emulate(lambda c, x: c.psum(x, "i"), Mesh({"i": 1}), (P(),), (P(),))(np.arange(2)).tolist() == [
        0,
        1,
    ]
    assert emulate(lambda c, x: x + 1, Mesh({}), (P(),), (P(),))(np.arange(2)).tolist() == [1, 2]


def test_leaves_of_a_tree_are_gone_once_nobody_has_them():
    blocks = [np.zeros(4), np.ones(4)]
    held = [weakref.ref(block) for block in blocks]
    made = like(({"b": 0}, 1), blocks)
    assert made[1] is blocks[1]
    del made, blocks
    assert [block() for block in held] == [None, None]  # not only when the collector runs
