"""What is read across the order in which it lies: transposes, and factors whose neighbours are not summed."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest
from msgspec.structs import replace

from shardc.analysis import per_device
from shardc.compilation import lower
from shardc.diagnostics import ShardcError, collecting
from shardc.frontend.read import read as read_program
from shardc.options import Options
from shardc.planning.machines import Machine, load, read
from shardc.report.times import worked
from tests.unit.planning.test_strided_collectives import MACHINE

FREE = replace(load("balanced"), bandwidth=inf, flops={"other": inf}, turned=1.0)
"""A second is a byte that is read across its order."""


def turned(results: str, body: str, x: str = "f32[8, 64, 32]", y: str = "f32[8, 32, 16]") -> dict[str, float]:
    """Bytes of each kind of operation in a program of x and y."""
    return found(f"def f(x: {x}, y: {y}) -> {results}:\n    {body}\n", FREE)


def found(text: str, machine: Machine) -> dict[str, float]:
    """Seconds of each kind of operation in a program."""
    found: dict[str, float] = {}
    with collecting():
        program = per_device.read(lower(read_program(text, Options(file="f.shard")), Options()))
    for run, work in worked(program, machine):
        seconds = work.seconds(machine)
        if seconds:
            name = run.node.name.partition(".")[2]
            found[name] = found.get(name, 0) + seconds
    return found


X, Y = 4 * 8 * 64 * 32, 4 * 8 * 32 * 16


@pytest.mark.parametrize(
    ("subscripts", "x", "y", "bytes"),
    [
        ("zmk,zkn->zmn", "zmk", "zkn", 0),
        ("zmk,znk->zmn", "zmk", "znk", 0),
        ("zkm,zkn->zmn", "zkm", "zkn", X),
        ("zkm,znk->zmn", "zkm", "znk", X + Y),
    ],
)
def test_a_product_sums_neighbours_of_its_first_factor(subscripts: str, x: str, y: str, bytes: int):
    sizes = {"z": 8, "m": 64, "k": 32, "n": 16}
    shapes = [f"f32[{', '.join(str(sizes[letter]) for letter in letters)}]" for letters in (x, y)]
    each = turned("f32[8, 64, 16]", f'return einsum("{subscripts}", x, y)', *shapes)
    assert each == ({"dot_general": bytes} if bytes else {})


def test_a_vector_may_lie_in_any_order():
    assert not turned("f32[64]", "return x.T @ y", "f32[32, 64]", "f32[32]")


def test_transposes_turn_what_has_other_neighbours():
    assert turned("f32[8, 32, 64]", "return 2 * transpose(x, (0, 2, 1)) + sum(y)") == {"transpose": X}
    assert not turned("f32[64, 8, 32]", "return 2 * transpose(x, (1, 0, 2)) + sum(y)")
    assert not turned("f32[1, 64]", "return x.T + y", "f32[64, 1]", "f32[1, 64]")


def test_a_product_makes_what_only_a_transpose_takes_as_that_wants_it():
    """dW.T of a weight that is stored the other way reads x across its order, not the product of both."""
    x, y = "f32[32, 64]", "f32[32, 16]"
    assert turned("f32[64, 16]", "return x.T @ y", x, y) == {"dot_general": 4 * 32 * 64}
    assert turned("f32[64, 16]", "return 1 - (y.T @ x).T", x, y) == {"dot_general": 4 * 32 * 64}
    both = turned("(f32[16, 64], f32[64, 16])", "g = y.T @ x\n    return g, 1 - g.T", x, y)
    assert both == {"dot_general": 4 * 32 * 16, "transpose": 4 * 64 * 16}


def test_transposes_for_products_are_read_as_they_lie():
    assert turned("f32[64, 16]", "return tanh(x).T @ y", "f32[32, 64]", "f32[32, 16]") == {
        "dot_general": 4 * 32 * 64
    }
    assert not turned("f32[32, 16]", "return x @ tanh(y).T", "f32[32, 64]", "f32[16, 64]")


def test_images_whose_features_are_no_neighbours_are_turned():
    jax = pytest.importorskip("jax")
    images, kernel = (
        jax.ShapeDtypeStruct((4, 8, 8, 16), "float32"),
        jax.ShapeDtypeStruct((3, 3, 16, 16), "float32"),
    )

    def convolved(x, y):
        return jax.lax.conv_general_dilated(x, y, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def gradient(x, y):
        return jax.grad(lambda y: (convolved(x, y) ** 2).sum())(y)

    def found(function: object) -> Iterator[float]:
        text = jax.jit(function).lower(images, kernel).as_text()
        with collecting():
            program = per_device.read(lower(read_program(text, Options(file="f.mlir")), Options()))
        for run, work in worked(program, FREE):
            if run.node.name == "stablehlo.convolution":
                yield work.seconds(FREE)

    assert [*found(convolved)] == [0]
    assert [*found(gradient)] == [0, 4 * 4 * 8 * 8 * 16]


def test_machines_that_do_not_say_read_in_any_order():
    assert all(load(name).turned == inf for name in ("balanced", "h100-infiniband", "tpu-v5e", "bytes"))
    assert load("balanced").work(0, "other", 0, 1e9) == 0
    text = MACHINE.format(title="all-gather", strided="").replace("[device.", "turned = 2e9\n[device.")
    assert read(text, "m.toml").work(0, "other", 0, 1e9) == 0.5
    with pytest.raises(ShardcError, match=r"device\.turned is a positive number"):
        read(text.replace("2e9", "0"), "m.toml")


EACH = replace(FREE, turned=inf, bandwidth=1.0, fuses=False)
"""A second is a byte that is read or written; each operation reads and writes memory."""


@pytest.mark.parametrize(
    ("body", "bytes"),
    [
        ("tanh(x) + exp(x)", {"tanh": 2 * 4096, "exponential": 2 * 4096, "add": 3 * 4096}),
        (
            "broadcast_to(sum(x, axis=0), (32, 32)) + x",
            {"reduce": 4096 + 128, "broadcast_in_dim": 128, "add": 2 * 4096},
        ),
        ("x @ x", {"dot_general": 2 * 4096}),
        (
            'einsum("abcd,aecd->acbe", reshape(x, (2, 4, 4, 32)), reshape(x, (2, 4, 4, 32)))',
            {"dot_general": 5 * 4096 + 512},
        ),
        (
            'einsum("abc,bcd->ad", reshape(x, (4, 8, 32)), reshape(x, (8, 32, 4)))',
            {"dot_general": 2 * 4096 + 64},
        ),
    ],
)
def test_where_nothing_fuses_each_operation_reads_and_writes(body: str, bytes: dict[str, int]):
    assert found(f"def f(x: f32[32, 32]):\n    return {body}\n", EACH) == bytes


@pytest.mark.parametrize(
    ("body", "bytes"),
    [
        ("argmax(x, axis=0)", 4096), ("argmax(x, axis=1)", 0), ("cumsum(x, axis=0)", 4096),
        ("cumsum(x, axis=1)", 0), ("sort(x, axis=0)", 2 * 4096), ("sort(x, axis=1)", 0),
        ("sum(x, axis=0)", 0),
    ],
)  # fmt: skip
def test_where_nothing_fuses_columns_are_strided(body: str, bytes: int):
    text = f"def f(x: f32[32, 32]):\n    return {body}\n"
    assert sum(found(text, replace(FREE, fuses=False)).values()) == bytes
    assert not found(text, FREE)


def test_a_machine_says_whether_it_fuses():
    text = MACHINE.format(title="all-gather", strided="").replace("[device.", "fuses = false\n[device.")
    assert not read(text, "m.toml").fuses and load("laptop").fuses
    with pytest.raises(ShardcError, match=r"device\.fuses is true or false, not 1"):
        read(text.replace("false", "1"), "m.toml")
