"""Collectives of emulated devices, against JAX's under vmap with named axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardc.runtime import Comm, Mesh, P, emulate

MESH = Mesh({"i": 4, "j": 2})
SPEC = P("i", "j")
rng = np.random.default_rng(0)
X = rng.integers(-9, 9, (4, 2, 8, 16)).astype(np.float32)
"""One block of [8, 16] for each device."""

BOTH: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("psum i", lambda c, x: c.psum(x, "i")),
    ("psum i, j", lambda c, x: c.psum(x, ("i", "j"))),
    ("pmax", lambda c, x: c.pmax(x, "j")),
    ("pmin", lambda c, x: c.pmin(x, ("j", "i"))),
    ("pmean", lambda c, x: c.pmean(x, "i")),
    ("psum_scatter", lambda c, x: c.psum_scatter(x, "i", scatter_dimension=1, tiled=True)),
    ("psum_scatter untiled", lambda c, x: c.psum_scatter(x[:4], "i", scatter_dimension=0, tiled=False)),
    ("all_gather", lambda c, x: c.all_gather(x, "i", axis=1, tiled=True)),
    ("all_gather untiled", lambda c, x: c.all_gather(x, "j", axis=2, tiled=False)),
    ("all_to_all", lambda c, x: c.all_to_all(x, "i", 0, 1, tiled=True)),
    ("all_to_all back", lambda c, x: c.all_to_all(x, "i", 1, 0, tiled=True)),
    ("all_to_all in place", lambda c, x: c.all_to_all(x, "i", 0, 0, tiled=True)),
    ("all_to_all untiled", lambda c, x: c.all_to_all(x[:4], "i", 0, 1, tiled=False)),
    ("all_to_all untiled back", lambda c, x: c.all_to_all(x[:, :4], "i", 1, 0, tiled=False)),
    ("ppermute", lambda c, x: c.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)])),
    ("axis_index", lambda c, x: c.axis_index("i")),
]


def on_devices(f: Callable[[Comm, np.ndarray], Any]) -> np.ndarray:
    """What each device of MESH computes from its block of X: [4, 2, …]."""

    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        return np.asarray(f(comm, x[0, 0]))[None, None]

    return emulate(device_main, MESH, (SPEC,), (SPEC,))(X)


@pytest.mark.parametrize(("name", "f"), BOTH, ids=[name for name, _ in BOTH])
def test_as_in_jax(name: str, f: Callable[[Any, Any], Any]):
    jax = pytest.importorskip("jax")
    expected = jax.vmap(jax.vmap(lambda x: f(jax.lax, x), axis_name="j"), axis_name="i")(X)
    got = on_devices(f)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["psum", "pmean"])
def test_dtypes_of_sums_are_those_of_jax(name: str, dtype: Any):
    jax = pytest.importorskip("jax")
    x = np.array([0, 1, 1, 1], dtype)
    expected = jax.vmap(lambda v: getattr(jax.lax, name)(v, "i"), axis_name="i")(x)
    got = emulate(lambda c, v: getattr(c, name)(v, "i"), Mesh({"i": 4}), (P("i"),), (P("i"),))(x)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.astype(np.float32), np.asarray(expected, np.float32))


def test_sixteen_bit_floats_are_added_in_f32():
    x = np.array([256, 1, 1, 1], ml_dtypes.bfloat16)
    (total, *_) = emulate(lambda c, v: c.psum(v, "i"), Mesh({"i": 4}), (P("i"),), (P("i"),))(x)
    assert float(total) == 260  # 259 rounded once; 256 + 1 alone rounds back to 256


def test_all_devices_get_the_same_bits():
    x = rng.standard_normal((7, 1000)).astype(np.float32)
    total = emulate(lambda c, v: c.psum(v, "i"), Mesh({"i": 7}), (P("i"),), (P("i"),))(x)
    assert all(row.tobytes() == total[0].tobytes() for row in total)


def test_order_of_axes_is_major_to_minor():
    index = on_devices(lambda c, x: c.axis_index(("j", "i")))
    assert index.tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert index.dtype == np.int32
    assert on_devices(lambda c, x: c.axis_size(("j", "i")))[0, 0] == 8
    gathered = on_devices(lambda c, x: c.all_gather(np.reshape(c.axis_index(("j", "i")), 1), ("j", "i")))
    assert gathered[3, 1].tolist() == list(range(8))


def test_positions_without_a_source_get_zeros():
    got = on_devices(lambda c, x: c.ppermute(x, "i", [(0, 1), (3, 0)]))
    np.testing.assert_array_equal(got[1], X[0])
    np.testing.assert_array_equal(got[0], X[3])
    assert not got[2:].any()


def test_blocks_join_to_the_whole():
    got = on_devices(lambda c, x: c.all_gather(c.block(c.psum(x, "i"), "i", 1), "i", axis=1))
    np.testing.assert_array_equal(got, on_devices(lambda c, x: c.psum(x, "i")))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, ml_dtypes.bfloat16])
def test_partial_means_the_value_itself(kind: str, dtype: Any):
    x = np.array([3, 0, 5, 1], dtype)
    got = emulate(
        lambda c, v: getattr(c, f"p{kind}")(c.partial(v, "i", kind), "i"), Mesh({"i": 4}), (P(),), (P(),)
    )(x)
    assert got.dtype == dtype
    assert got.tolist() == x.tolist()


def test_no_device_can_write_what_another_one_has():
    def device_main(comm: Comm, x: np.ndarray) -> np.ndarray:
        total = comm.psum(x, "i")
        total += 1
        return total

    with pytest.raises(ValueError, match="read-only"):
        emulate(device_main, Mesh({"i": 2}), (P(),), (P(),))(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        emulate(lambda c, x: np.add(x, 1, out=x), Mesh({"i": 2}), (P(),), (P(),))(np.zeros(3))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda c, x: c.psum(x, "k"), "mesh mesh has no axis k; it has i, j"),
        (lambda c, x: c.psum(x, ("i", "i")), "axes i, i: one is used twice"),
        (
            lambda c, x: c.psum_scatter(x[:3], "i"),
            "psum_scatter: dimension 0 of [3, 16] is not divisible by the 4 positions over i",
        ),
        (
            lambda c, x: c.all_to_all(x, ("i", "j"), 1, 0, tiled=False),
            "all_to_all: dimension 1 of [8, 16] must be, untiled, the 8 positions over ('i', 'j')",
        ),
        (lambda c, x: c.all_gather(x, "i", axis=2), "all_gather: there is no dimension 2; the array has 2"),
        (lambda c, x: c.block(x[0], "i", axis=1), "block: there is no dimension 1; the array has 1"),
        (
            lambda c, x: c.ppermute(x, "i", [(0, 4)]),
            "ppermute: destination 4 is not one of the 4 positions over i",
        ),
        (
            lambda c, x: c.ppermute(x, "i", [(0, 1), (0, 2)]),
            "ppermute: source 0 occurs twice",
        ),
        (
            lambda c, x: c.partial(x, "i", "mean"),
            "mean is no kind of partial result; the kinds are sum, max, min",
        ),
    ],
)
def test_wrong_arguments(f: Callable[[Comm, np.ndarray], Any], message: str):
    with pytest.raises(ValueError) as error:
        on_devices(f)
    assert str(error.value) == message
    assert error.value.__notes__ == ["on device 0 (i=0, j=0) of mesh[i=4, j=2]"] or "mean" in message
