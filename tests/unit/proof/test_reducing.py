"""Which sizes are reduced where constants meet indices in a form that scales; no fault hides there."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from shardc.diagnostics import collecting  # noqa: E402
from shardc.dialects.context import make_context  # noqa: E402
from shardc.dialects.snapshot import snapshot  # noqa: E402
from shardc.frontend.mlir import read  # noqa: E402
from shardc.graph import Graph  # noqa: E402
from shardc.passes.pipeline import run_to  # noqa: E402
from shardc.proof.prove import Verdict, prove  # noqa: E402
from tests.corpus.case import Case  # noqa: E402
from tests.unit.proof.planted import faults  # noqa: E402
from tests.unit.proof.test_lemma import at_full_size  # noqa: E402

Function = Callable[..., Any]


def _compiled(case: Case) -> tuple[Graph, Graph]:
    with collecting():
        module = read(case.lowered().as_text(), "test.mlir")
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph


def _cross_entropy(x: Any, labels: Any) -> Any:
    logs = jax.nn.log_softmax(x)
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))


PROGRAMS = {
    "cross entropy and its gradient": (
        Case(jax.value_and_grad(_cross_entropy), ("f32[64@x, 8]", "i32<8[64@x]")),
        (32, 3),
    ),
    "rows that are added": (
        Case(lambda i, x: jnp.zeros((8, 128)).at[i].add(x), ("i32<8[96@x]", "f32[96@x, 128@y]")),
        (48, 3),
    ),
    "rows that are taken, and the gradient": (
        Case(jax.grad(lambda w, i: jnp.sum(jnp.sin(w[i]))), ("f32[16, 128@y]", "i32<16[48@x]")),
        (24, 3),
    ),
    "the largest of rows": (
        Case(lambda i, x: jnp.zeros((8, 128)).at[i].max(x), ("i32<8[96@x]", "f32[96@x, 128@y]")),
        (48, 3),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_indices_of_many_rows_are_reduced(name: str) -> None:
    case, unit = PROGRAMS[name]
    whole, local = _compiled(case)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.shapes is not None and unit in proof.shapes.units
    found = 0
    planted = faults(local)
    for fault in Random(1).sample(planted, min(6, len(planted))):
        with fault.planted():
            if at_full_size(whole, local).verdict is Verdict.DIFFERS:
                assert prove(whole, local).verdict is not Verdict.PROVED, str(fault)
                found += 1
    assert found


def _own_rows(start: Function) -> Function:
    """Every device puts its block where `start` says, and all are added: the whole again."""

    def put(x: Any) -> Any:
        zeros = lax.pcast(jnp.zeros((64, x.shape[1])), "y", to="varying")
        return lax.psum(lax.dynamic_update_slice(zeros, x, (start(lax.axis_index("y")), 0)), "y")

    mesh = jax.make_mesh((4,), ("y",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(put, mesh=mesh, in_specs=P("y", None), out_specs=P(None, None))


def _graph(f: Function) -> Graph:
    text = jax.jit(f).lower(jax.ShapeDtypeStruct((64, 24), jnp.float32)).as_text()
    with collecting():
        module = read(text, "test.mlir")
        run_to(make_context(), module, "local")
        return snapshot(module).graph


@pytest.mark.skipif(jax.device_count() < 4, reason="needs four devices")
def test_a_start_that_is_a_multiple_of_the_block_scales() -> None:
    whole = _graph(lambda x: x * 1.0)
    proof = prove(whole, _graph(_own_rows(lambda i: i * 16)))
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.shapes is not None and (16, 3) in proof.shapes.units


@pytest.mark.skipif(jax.device_count() < 4, reason="needs four devices")
@pytest.mark.parametrize(
    "start", [lambda i: (i + 1) * 16, lambda i: i * 15, lambda i: (3 - i) * 16, lambda i: i * 16 - i // 3]
)
def test_a_start_that_is_wrong_is_found(start: Function) -> None:
    assert prove(_graph(lambda x: x * 1.0), _graph(_own_rows(start))).verdict is Verdict.DIFFERS


def test_a_maximum_with_zero_in_place_of_one_with_nothing_is_found() -> None:
    """Where all draws have some positive element in every row, only one of negative numbers tells."""
    types = ("f32[64@x, 32]",)
    whole = _compiled(Case(lambda x: jnp.max(x), types))[0]
    local = _compiled(Case(lambda x: jnp.maximum(jnp.max(x), 0.0), types))[1]
    assert prove(whole, local).verdict is Verdict.DIFFERS


def test_powers_are_alike_in_blocks_of_any_exponents() -> None:
    exponents = jnp.array([2.0, 2.0, 3.0, 0.5])
    proof = prove(*_compiled(Case(lambda x: x ** lax.optimization_barrier(exponents), ("f32[8, 4@y]",))))
    assert proof.verdict is Verdict.PROVED, proof.reason


def test_what_devices_exchange_within_a_dimension_keeps_its_size() -> None:
    """all_to_all of one dimension: pieces of blocks change places, so blocks are as many of them."""
    local = f"""sdy.mesh @m = <["x"=4]>
func.func public @main(%a: tensor<64x48xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) \
-> (tensor<64x48xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{}}]>] out_shardings=[<@m, [{{"x"}}, {{}}]>] \
manual_axes={{"x"}} (%b: tensor<16x48xf32>) {{
{_EXCHANGE.format(3, "b")}
{_EXCHANGE.format(4, 3)}
    sdy.return %4 : tensor<16x48xf32>
  }} : (tensor<64x48xf32>) -> tensor<64x48xf32>
  func.return %0 : tensor<64x48xf32>
}}"""
    whole = "func.func public @main(%a: tensor<64x48xf32>) -> tensor<64x48xf32> {{ {} }}"
    same, other = (snapshot(read(whole.format(text), "whole.mlir")).graph for text in (_SAME, _OTHER))
    found = snapshot(read(local, "local.mlir")).graph
    assert prove(same, found, manual=True).verdict is Verdict.PROVED
    assert prove(other, found, manual=True).verdict is Verdict.DIFFERS


_SAME = "func.return %a : tensor<64x48xf32>"
_OTHER = "%0 = stablehlo.reverse %a, dims = [0] : tensor<64x48xf32> func.return %0 : tensor<64x48xf32>"
_EXCHANGE = (
    '    %{} = "spmd.all_to_all"(%{}) {{axes = ["x"], concat_dim = 0 : i64, split_dim = 0 : i64}} '
    ": (tensor<16x48xf32>) -> tensor<16x48xf32>"
)
