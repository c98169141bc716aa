"""Callbacks in functions that shardc.jit compiles: who calls, how often, and with what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc import api
from shardc.diagnostics import ShardcError
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
from jax.experimental import io_callback  # noqa: E402
from jax.extend.core import Primitive  # noqa: E402
from jax.interpreters import mlir  # noqa: E402

P = jax.sharding.PartitionSpec


class Host:
    """A function on the host that doubles, and remembers the shapes it was called with."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def double(self, x: Any) -> Any:
        self.shapes.append(np.shape(x))
        return np.asarray(x) * 2

    def called(self) -> list[tuple[int, ...]]:
        jax.effects_barrier()
        return self.shapes


def like(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def test_a_pure_function_is_called_by_each_device(pod, draw):
    host = Host()

    def function(x):
        return jax.pure_callback(host.double, like(x), x) + x.sum()

    compiled, x = shardc.jit(function), pod.put(draw(8, 4), "data", "model")
    same(compiled(x), jax.jit(function)(draw(8, 4)))
    assert set(host.called()) == {(8, 4)}
    assert 'jax.pure_callback(\n        host_functions["double"]' in compiled.lower(x).source


def test_a_function_with_effects_is_called_once(pod, draw):
    host = Host()

    def function(x):
        jax.debug.callback(host.double, x)
        return io_callback(host.double, like(x), x.sum(0)[None] + x)

    x = pod.put(draw(8, 4), "data", "model")
    with pytest.warns(UserWarning, match="it is gathered"):
        got = shardc.jit(function)(x)
    assert host.called() == [(8, 4), (8, 4)]
    same(got, 2 * (x.sum(0)[None] + x))


def test_results_of_one_device_reach_all_bit_by_bit(pod):
    values = {
        np.float32: [-0.0, 0.0, -1.5],
        np.int8: [-3, 0, 100],
        bool: [True, False, True],
        np.complex64: [1j, -2, 0],
    }
    for dtype, numbers in values.items():
        wanted = np.array(numbers, dtype)

        def function(_, wanted=wanted):
            return io_callback(lambda: wanted, like(wanted))

        got = shardc.jit(function, in_shardings=pod.way())(1)
        np.testing.assert_array_equal(np.asarray(got), wanted)
        assert np.signbit(np.real(got)).tolist() == np.signbit(np.real(wanted)).tolist()


def test_printing(pod, draw, capfd):
    def function(x):
        jax.debug.print("total {:.1f} of {n}", x.sum(), n=x.shape[0] * jnp.int32(1))
        jax.debug.print("{}", {"a": x[0, 0]})
        return x

    compiled, x = shardc.jit(function), pod.put(np.ones((8, 4), np.float32), "data")
    compiled(x)
    jax.effects_barrier()
    assert sorted(capfd.readouterr().out.split("\n")) == [
        "",
        "total 32.0 of 8",
        "{'a': Array(1., dtype=float32)}",
    ]
    assert 'jax.debug.print("total {:.1f} of {n}", ' in compiled.lower(x).source


def test_in_loops_branches_and_functions(pod):
    host = Host()

    @jax.jit
    def told(x):
        jax.debug.callback(host.double, x[:2])

    def function(x):
        def step(c, _):
            jax.debug.callback(host.double, c)
            told(x)
            return c + 1, None

        c, _ = jax.lax.scan(step, x.sum(), None, length=3)
        jax.lax.cond(c > 0, lambda: jax.debug.callback(host.double, x[:3]), lambda: None)
        return x * 2

    x = pod.put(np.ones(8, np.float32), "model")
    same(shardc.jit(function)(x), x * 2)
    assert sorted(host.called()) == [(), (), (), (2,), (2,), (2,), (3,)]


def test_in_per_device_code_each_device_calls(pod, draw):
    host = Host()

    def body(x):
        jax.debug.callback(host.double, x)
        return jax.pure_callback(host.double, like(x), x)

    mapped = jax.shard_map(body, mesh=pod.mesh, in_specs=P("data", "model"), out_specs=P("data", "model"))
    compiled = shardc.jit(mapped)
    same(compiled(draw(8, 4)), 2 * draw(8, 4))
    assert set(host.called()) == {(4, 1)} and len(host.called()) >= 16
    assert "one_device" not in compiled.lower(draw(8, 4)).source


def test_in_an_operation_of_a_library(pod, draw):
    """Its callback is seen when it is lowered only, as those of equinox's operations."""
    host, doubled = Host(), Primitive("doubled")
    doubled.def_abstract_eval(lambda x: x)

    def call(x):
        return jax.pure_callback(host.double, like(x), x)

    mlir.register_lowering(doubled, mlir.lower_fun(call, multiple_results=False))
    compiled, x = shardc.jit(lambda x: doubled.bind(x) + 1), pod.put(draw(8, 4), "data")
    same(compiled(x), 2 * draw(8, 4) + 1)
    assert 'host_functions["double"]' in compiled.lower(x).source


def test_per_device_along_one_axis(pod):
    """The other axis is the compiler's: along it one device calls."""
    host = Host()

    def body(x):
        jax.debug.callback(host.double, x)
        return x * 2

    mapped = jax.shard_map(body, mesh=pod.mesh, in_specs=P("data"), out_specs=P("data"), axis_names={"data"})
    x = pod.put(np.ones((8, 4), np.float32), "data")
    shardc.jit(mapped)(x)
    assert host.called() == [(4, 4), (4, 4)]


def test_gradients_keep_the_calls_of_the_function(pod, draw):
    host = Host()

    def energy(x):
        jax.debug.callback(host.double, x)
        return jnp.sum(x**2)

    x = pod.put(draw(8, 4), "data")
    same(jax.grad(shardc.jit(energy))(x), 2 * draw(8, 4))
    assert set(host.called()) == {(8, 4)}


def test_an_error_on_the_host_reaches_the_caller(pod):
    def check(bad):
        if bad:
            raise ValueError("negative number")
        return np.zeros((), bool)

    def function(x):
        bad = jnp.any(x < 0)
        wrong = jax.pure_callback(check, jax.ShapeDtypeStruct((), bool), bad)
        return jnp.where(wrong, 0, jnp.sqrt(x))

    compiled, x = shardc.jit(function), pod.put(np.ones(8, np.float32), "data")
    same(compiled(x), x)
    with pytest.raises(Exception, match="negative number"):
        jax.block_until_ready(compiled(-x))


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], r"jax\.debug\.print in order"),
        (lambda x: io_callback(np.negative, like(x), x, ordered=True), "io_callback in order"),
        (lambda x: (jax.debug.callback(print, x, partitioned=True), x)[1], r"jax\.debug\.callback on blocks"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(function, what, pod, draw):
    with pytest.raises(ShardcError, match=rf"test_callbacks\.py:\d+:\d+: error: {what} .*cannot be compiled"):
        shardc.jit(function)(pod.put(draw(8), "data"))


TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  stablehlo.custom_call @shardc_host(%x) {has_side_effect = true, backend_config = "CONFIG"}
    : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}"""


def test_a_text_names_its_function():
    config = r"{\"kind\": \"debug.callback\", \"name\": \"log\"}"
    program = api.compile(TEXT.replace("CONFIG", config), language="mlir")
    seen: list[Any] = []
    program.module.host_functions["log"] = seen.append
    program.main(np.ones(4, np.float32))
    jax.effects_barrier()
    assert len(seen) == 1
    with pytest.raises(ShardcError, match=r"f:2:3: error: .*@shardc_host cannot be written as NumPy"):
        api.compile(TEXT.replace("CONFIG", config), language="mlir", target="numpy", file="f")


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[]",
        r"{\"kind\": \"exec\", \"name\": \"f\"}",
        r"{\"kind\": \"debug.callback\", \"name\": \"f(); g\"}",
    ],
)
def test_a_text_that_does_not_is_refused(config):
    with pytest.raises(ShardcError, match=r"f:2:3: error: a call of the host"):
        api.compile(TEXT.replace("CONFIG", config), language="mlir", file="f")


def test_what_calls_the_host_is_not_proved(pod, draw, monkeypatch):
    """Unasked nothing is said; asked a warning says why."""
    monkeypatch.delenv("SHARDC_PROVE", raising=False)
    x = pod.put(draw(8, 4))

    def called(x):
        return jax.pure_callback(Host().double, like(x), x) + 1

    same(shardc.jit(called)(x), jax.jit(called)(x))
    with pytest.warns(UserWarning, match="@shardc_host computes is not known"):
        same(shardc.jit(called, prove=True)(x), jax.jit(called)(x))


def test_what_a_program_that_calls_the_host_costs(pod, draw):
    def step(x):
        jax.debug.print("{}", x.sum())
        return jax.pure_callback(Host().double, like(x), x) + x

    lowered = shardc.jit(step).lower(pod.put(draw(8, 4), "data"))
    assert lowered.cost().memory.peak >= 2 * 4 * 8 * 4
