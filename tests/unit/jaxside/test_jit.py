"""shardc.jit where jax.jit stood: the same results, trees, types and errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
P = jax.sharding.PartitionSpec


@partial(jax.tree_util.register_dataclass, data_fields=["weight", "bias"], meta_fields=["act"])
@dataclass
class Layer:
    weight: Any
    bias: Any
    act: str


def predict(layers: tuple[Layer, ...], batch: dict[str, Any], *, scale: float = 1.0) -> Any:
    x = batch["x"]
    for layer in layers:
        x = getattr(jnp, layer.act)(x @ layer.weight + layer.bias)
    return {"out": x * scale, "kept": batch["kept"]}


def loss(params: dict[str, Any], x: Any, y: Any) -> Any:
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - y) ** 2)


def step(params: Any, state: Any, x: Any, y: Any) -> Any:
    """Adam, its state a tree like optax's."""
    value, grads = jax.value_and_grad(loss)(params, x, y)
    count = state["count"] + 1
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], grads)
    nu = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["nu"], grads)
    new = jax.tree.map(lambda p, m, v: p - 0.1 * m / (jnp.sqrt(v) + 1e-3), params, mu, nu)
    return new, {"count": count, "mu": mu, "nu": nu}, value


@pytest.fixture
def training(pod, draw):
    ways = {"w1": (None, "model"), "b1": ("model",), "w2": ("model",)}
    arrays = {"w1": draw(16, 32), "b1": draw(32), "w2": draw(32, 8)}
    params = {name: pod.put(array, *ways[name]) for name, array in arrays.items()}
    zeros = {name: pod.put(np.zeros_like(array), *ways[name]) for name, array in arrays.items()}
    state = {"count": jnp.int32(0), "mu": zeros, "nu": zeros}
    return params, state, pod.put(draw(8, 16), "data"), pod.put(draw(8, 8), "data")


def test_a_training_step(training):
    params, state, x, y = training
    compiled = shardc.jit(step)
    got, want = training[:2], training[:2]
    for _ in range(3):
        got, want = compiled(*got, x, y), jax.jit(step)(*want, x, y)
        same(got, want)
        assert {name: leaf.sharding.spec for name, leaf in got[0].items()} == {
            name: leaf.sharding.spec for name, leaf in params.items()
        }
        got, want = got[:2], want[:2]
    assert 'params["w1"]' in compiled.lower(params, state, x, y).source


@pytest.mark.parametrize("form", ["call", "decorator", "with arguments"])
def test_the_three_forms(form, pod, draw):
    def double(x, n):
        """Multiply."""
        return x * n

    made = {
        "call": lambda: shardc.jit(double, static_argnums=1),
        "decorator": lambda: shardc.jit(lambda x, n: double(x, n)),
        "with arguments": lambda: shardc.jit(static_argnames="n")(double),
    }[form]()
    same(made(pod.put(draw(8, 4), "data"), 3), draw(8, 4) * 3)
    if form != "decorator":
        assert getattr(made, "__name__", "") == "double" and made.__doc__ == "Multiply."


def test_trees_keywords_and_dataclasses(pod, draw):
    layers = (
        Layer(pod.put(draw(16, 32), None, "model"), draw(32), "tanh"),
        Layer(pod.put(draw(32, 8), "model", None), draw(8), "sin"),
    )
    batch = {"x": pod.put(draw(8, 16), "data"), "kept": 3}
    got = shardc.jit(predict)(layers, batch, scale=2.0)
    same(got, jax.jit(predict)(layers, batch, scale=2.0))
    same(shardc.jit(predict)(layers, batch), jax.jit(predict)(layers, batch))


def test_shardings_are_prefixes_of_trees(pod, draw):
    def both(params, x):
        return {"a": x @ params["a"], "b": x @ params["b"]}

    compiled = shardc.jit(
        both, in_shardings=(pod.way(None, "model"), pod.way("data")), out_shardings=pod.way("data", "model")
    )
    params, x = {"a": draw(16, 8), "b": draw(16, 4)}, draw(8, 16)
    got = compiled(params, x)
    same(got, jax.jit(both)(params, x))
    assert {leaf.sharding for leaf in jax.tree.leaves(got)} == {pod.way("data", "model")}
    lowered = compiled.lower(params, x)
    assert jax.tree.leaves(lowered.out_shardings) == [pod.way("data", "model")] * 2


def test_what_calls_a_function_names_nothing_in_it(pod, draw):
    """No line of the function assigns the value; a line of shardc's own that runs it does."""

    def loss(x):
        return jax.numpy.mean(jax.numpy.tanh(x))

    lowered = shardc.jit(jax.value_and_grad(loss)).lower(pod.put(draw(8, 4), "data"))
    assert "lax.psum(" in lowered.source and "lowered" not in lowered.source


def test_static_arguments_choose_the_program(pod, draw):
    def power(x, n, *, kind):
        return x**n if kind == "power" else x * n

    compiled = shardc.jit(power, static_argnums=1, static_argnames="kind")
    x = pod.put(draw(8, 4), "data")
    same(compiled(x, 2, kind="power"), draw(8, 4) ** 2)
    same(compiled(x, 3, kind="times"), draw(8, 4) * 3)


def test_donated_arguments_are_gone(pod, draw):
    compiled = shardc.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = pod.put(draw(8, 4), "data"), pod.put(draw(8, 4), "data")
    same(compiled(x, y), draw(8, 4) * 2)
    assert x.is_deleted() and not y.is_deleted()


def test_without_jit_it_is_the_function(pod, draw):
    seen: list[bool] = []

    def function(x, n=2):
        seen.append(isinstance(x, jax.core.Tracer))
        return x * n

    with jax.disable_jit():
        same(shardc.jit(function, static_argnums=1)(draw(8, 4)), draw(8, 4) * 2)
    assert seen == [False]


def test_keys_typed_and_raw(pod, draw):
    def noisy(key, raw, x):
        first, second = jax.random.split(key)
        return first, raw + 1, x + jax.random.normal(second, x.shape)

    args = jax.random.key(3), jax.random.PRNGKey(4), pod.put(draw(8, 4), "data")
    same(shardc.jit(noisy)(*args), jax.jit(noisy)(*args))


def test_a_program_is_compiled_once_for_types_and_shardings(pod, draw):
    traces = []

    def noted(x):
        traces.append(x.shape)
        return x + 1

    compiled = shardc.jit(noted)
    for _ in range(3):
        compiled(pod.put(draw(8, 4), "data"))
    once = len(traces)
    got = compiled(pod.put(draw(8, 4), None, "model"))
    assert got.sharding.spec == jax.sharding.PartitionSpec(None, "model")
    compiled.lower(pod.put(draw(8, 4), "data"))
    assert len(traces) == once
    compiled(pod.put(draw(16, 4), "data"))
    assert len(traces) > once


def test_shardings_from_a_mesh_that_is_set(pod, draw):
    P = jax.sharding.PartitionSpec
    with jax.set_mesh(pod.mesh):
        inside = shardc.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, P("data")))(draw(8, 4))
        stated = shardc.jit(lambda x: x * 2, in_shardings=P("data"))(draw(8, 4))
    assert inside.sharding == stated.sharding == pod.way("data")
    same(stated, draw(8, 4) * 2)


def test_shardings_on_an_explicit_mesh_for_arrays_that_are_on_none(pod, draw):
    """JAX's types then say nothing of the mesh."""
    way = jax.sharding.NamedSharding(pod.explicit, jax.sharding.PartitionSpec("data"))
    x = draw(8, 16)
    found, wanted = (jitted(lambda x: 2 * x @ x.T, in_shardings=way)(x) for jitted in (shardc.jit, jax.jit))
    same(found, wanted)
    put = shardc.jit(jnp.sin, out_shardings=way)(x)
    assert put.sharding.spec[0] == "data"


def test_explicit_meshes(pod, draw):
    P = jax.sharding.PartitionSpec
    with jax.set_mesh(jax.make_mesh((2, 4), ("data", "model"), (jax.sharding.AxisType.Explicit,) * 2)):
        x, w = jax.device_put(draw(8, 16), P("data")), jax.device_put(draw(16, 4), P(None, "model"))
        got = shardc.jit(lambda x, w: jnp.tanh(x @ w))(x, w)
        assert jax.typeof(got).sharding.spec == P("data", "model")
        want = jax.jit(lambda x, w: jnp.tanh(x @ w))(x, w)
        assert got.sharding == want.sharding
    same(got, want)


def test_other_devices_than_the_first(draw):
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    sharding = NamedSharding(Mesh(np.array(jax.devices()[4:8])[::-1], ("d",)), PartitionSpec("d"))
    got = shardc.jit(lambda x: x * 2)(jax.device_put(draw(8, 4), sharding))
    assert got.sharding == sharding
    same(got, draw(8, 4) * 2)


def test_inside_other_transformations(pod, draw):
    def energy(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    compiled = shardc.jit(energy, in_shardings=(pod.way(None, "model"), pod.way("data")))
    w, x, xs = draw(16, 4), draw(8, 16), draw(3, 8, 16)
    for transformed in (
        lambda f: jax.jit(f)(w, x),
        lambda f: jax.value_and_grad(f, argnums=(0, 1))(w, x),
        lambda f: jax.hessian(f)(w[:2], x[:, :2]),
        lambda f: jax.vmap(f, (None, 0))(w, xs),
        lambda f: jax.jit(lambda w, xs: jax.lax.scan(lambda c, x: (c + f(w, x), c), 0.0, xs))(w, xs),
        lambda f: jax.vmap(jax.grad(f), (None, 0))(w, xs),
    ):
        same(transformed(compiled), transformed(energy))


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f, w, x: jax.value_and_grad(f, argnums=(0, 1))(w, x),
        lambda f, w, x: jax.jvp(f, (w, x), (w, x)),
        lambda f, w, x: jax.hessian(f, argnums=1)(w, x),
        lambda f, w, x: jax.vmap(f, (None, 1))(w, x[:, None] + jnp.zeros((1, 3, 1))),
        lambda f, w, x: jax.vmap(jax.grad(f), (None, 1))(w, x[:, None] + jnp.zeros((1, 3, 1))),
    ],
    ids=["gradient", "forward", "second", "mapped", "mapped gradient"],
)
def test_transformations_of_arrays_that_have_shardings(transformed, pod, draw):
    def energy(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    w, x = pod.put(draw(6, 4), None, "model"), pod.put(draw(4, 6), "data")
    same(transformed(shardc.jit(energy), w, x), transformed(energy, draw(6, 4), draw(4, 6)))


@jax.custom_jvp
def clipped(x):
    return x * 3


@clipped.defjvp
def _(primals, tangents):
    return clipped(*primals), tangents[0] * 100


@jax.custom_vjp
def scaled(x):
    return x * 3


scaled.defvjp(lambda x: (x * 3, None), lambda _, g: (g * 100,))


def test_derivatives_are_the_functions_own(pod, draw):
    def stopped(x, n):
        return jnp.sum(jax.lax.stop_gradient(x) * clipped(x)) + n, n + 1

    compiled = shardc.jit(stopped, in_shardings=(pod.way("data"), None))
    three = np.int32(3)
    want = jax.grad(jax.jit(stopped), has_aux=True)(draw(8, 4), three)
    same(jax.grad(compiled, has_aux=True)(draw(8, 4), three), want)


@jax.custom_jvp
def steep(x):
    return jnp.sin(x)


@steep.defjvp
def _(primals, tangents):
    return steep(*primals), tangents[0] * steep(*primals) * 10


@pytest.mark.parametrize(
    "derived",
    [
        lambda f: jax.grad(lambda x: jnp.sum(jax.grad(f)(x) ** 2)),
        lambda f: jax.jacfwd(jax.jacfwd(f)),
        lambda f: jax.grad(lambda x: jnp.sum(jax.hessian(f)(x) ** 2)),
    ],
    ids=["grad of grad", "forward of forward", "grad of hessian"],
)
def test_second_derivatives_follow_the_functions_own_rules(derived, pod, draw):
    def stopped(x):
        return jnp.sum(jax.lax.stop_gradient(x) * steep(x) * x)

    compiled = shardc.jit(stopped, in_shardings=pod.way("data"))
    same(derived(compiled)(draw(4, 2)), derived(stopped)(draw(4, 2)))


def test_slices_at_places_beside_random_numbers(pod, draw):
    def cut(key, x, i, j):
        block = jax.lax.dynamic_slice(x, (0, i, j, 0), (8, 2, 3, 4))
        placed = jax.lax.dynamic_update_slice(x, block, (0, j, i + 1, 0))
        return block + jax.random.normal(key, block.shape), placed

    args = jax.random.key(0), draw(8, 4, 6, 4), np.int32(1), np.int32(2)
    compiled = shardc.jit(cut, in_shardings=(None, pod.way("data"), None, None))
    same(compiled(*args), jax.jit(cut)(*args))


def test_tangents_of_integers(pod, draw):
    def derived(x, n):
        return jax.grad(lambda x, n: jnp.sum(x * n), argnums=(0, 1), allow_int=True)(x, n)

    compiled = shardc.jit(derived, in_shardings=(pod.way("data"), None))
    got, nothing = compiled(draw(8, 4), np.int32(3))
    same(got, np.full((8, 4), 3, np.float32))
    assert nothing.dtype == jax.dtypes.float0 and nothing.shape == ()


def test_a_derivative_whose_slope_is_partial_is_one_call(pod, draw):
    def model(w, x):
        return jax.nn.gelu(x @ w[0]) @ w[1]

    step = jax.value_and_grad(lambda w, a, b: jnp.mean(model(w, a) * model(w, b)))
    w = pod.put(draw(32, 64)), pod.put(draw(64, 128), None, "model")
    batches = pod.put(draw(16, 32), "data"), pod.put(draw(16, 32) + 1, "data")
    compiled = shardc.jit(step)
    same(compiled(w, *batches), jax.jit(step)(w, *batches))
    source = compiled.lower(w, *batches).source
    assert source.count("jax.nn.gelu(") == 2
    assert "".join(source.split()).count("jax.vjp(jax.nn.gelu,lax.pcast(") == 2


def test_a_custom_vjp_is_left_to_jax(pod, draw):
    compiled = shardc.jit(lambda x: jnp.sum(scaled(x)), in_shardings=pod.way("data"))
    with pytest.warns(UserWarning, match="the function has a custom_vjp"):
        same(jax.grad(compiled)(draw(8, 4)), np.full((8, 4), 100, np.float32))


def test_mapping_over_a_split_dimension_is_refused(pod, draw):
    with pytest.raises(ShardcError, match="maps over dimension 0 of an argument, which is split over data"):
        jax.vmap(shardc.jit(lambda x: x * 2))(pod.put(draw(8, 4), "data"))


def test_without_shardings_it_says_so(draw):
    def plain(x):
        return x + 1

    with pytest.raises(ShardcError, match="nothing says how plain is split over devices"):
        shardc.jit(plain)(draw(8, 4))


def test_wrong_options_are_refused():
    with pytest.raises(TypeError, match=r"jit\(\) got an unexpected keyword argument 'in_sharding'"):
        shardc.jit(lambda x: x, in_sharding=None)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ShardcError, match="overlap can be off, on, auto, not maybe"):
        shardc.jit(lambda x: x, overlap="maybe")


def test_what_lower_gives(pod, draw):
    def product(x, w):
        return x @ w

    x, w = pod.put(draw(8, 16), "data", "model"), pod.put(draw(16, 4), "model")
    lowered = shardc.jit(product).lower(x, w)
    assert "lax.psum(" in lowered.source and "stablehlo.dot_general" in lowered.mlir
    assert lowered.cost().bytes == 96  # an all-reduce of f32[4, 4] over four devices: 2 * 3/4 * 64 bytes
    assert lowered.explain("x").values[0].sharding == "[data, model]"
    assert lowered.out_shardings == pod.way("data")
    same(lowered.compile()(x, w), draw(8, 16) @ draw(16, 4))
    as_types = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in (x, w)]
    assert shardc.jit(product).lower(*as_types).source == lowered.source


def test_stages_are_jaxs(pod, draw):
    def product(x, ws, *, scale):
        return {"y": x @ ws[0] * scale}

    def step(x):
        return jnp.sin(product(x, (x,), scale=2.0)["y"])

    x, w = pod.put(draw(8, 16), "data", "model"), pod.put(draw(16, 4), "model")
    ours, theirs = (jit(product, donate_argnums=0).trace(x, (w,), scale=2.0) for jit in (shardc.jit, jax.jit))
    assert ours.out_info == theirs.out_info and str(ours.jaxpr) == str(theirs.jaxpr)
    ours, theirs = ours.lower(), theirs.lower()
    assert (ours.in_tree, ours.out_tree) == (theirs.in_tree, theirs.out_tree)
    assert ours.args_info == theirs.args_info
    assert ours.as_text().count("stablehlo.all_reduce") == ours.source.count("lax.psum(") == 1
    assert theirs.as_text().count("stablehlo.all_reduce") == 0
    compiled = ours.compile()
    assert (compiled.in_tree, compiled.out_tree) == (theirs.in_tree, theirs.out_tree)
    same(compiled(x, (w,), scale=2.0)["y"], draw(8, 16) @ draw(16, 4) * 2)

    square = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    split = shardc.jit(step, in_shardings=pod.way("data"))
    for function in (split, jax.checkpoint(split)):
        assert jax.eval_shape(function, square) == jax.eval_shape(step, square)
    value = draw(8, 8)
    same(jax.grad(lambda x: jax.checkpoint(split)(x).sum())(value), jax.grad(lambda x: step(x).sum())(value))


def test_methods(pod, draw):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @partial(shardc.jit, static_argnums=0)
        def __call__(self, x):
            return x * self.factor

    same(Model(3.0)(pod.put(draw(8, 4), "data")), draw(8, 4) * 3)


def test_the_compilers_warnings_are_warnings(pod, draw):
    def total(x):
        return jnp.sum(jax.lax.with_sharding_constraint(x, pod.way("model")), 0)

    with pytest.warns(UserWarning, match="does not divide a dimension of size 10"):
        same(shardc.jit(total)(draw(10, 4)), draw(10, 4).sum(0))


def test_blocks_with_padding_are_told_of_once_of_one_line(pod, draw):
    """A scan by halves has dimensions of 127, 63, 31 and so on."""
    x = pod.put(draw(128, 2), ("data", "model"))

    def highest(x):
        return jax.grad(lambda x: jnp.sum(jax.lax.cummax(x) ** 2))(x)

    with pytest.warns(UserWarning, match="are padding") as told:
        same(shardc.jit(highest)(x), jax.jit(highest)(x))
    (padding,) = [text for each in told if "are padding" in (text := str(each.message))]
    assert "127" in padding and "63" in padding and "there have padding, too" in padding


def test_values_of_an_outer_trace_are_refused(pod, draw):
    def outer(x, y):
        return shardc.jit(lambda x: x + y, in_shardings=pod.way("data"))(x)

    with pytest.raises(ShardcError, match="uses a value of the function around it"):
        jax.jit(outer)(draw(8, 4), draw(8, 4))


def test_weak_types_go_on(pod, draw):
    def function(x):
        return 2.0, x.sum(), x.sum() * 3

    x = pod.put(draw(8, 4), "data")
    compiled = shardc.jit(function)
    found, want = compiled(x), jax.jit(function)(x)
    assert [leaf.weak_type for leaf in found] == [leaf.weak_type for leaf in want]
    assert (jnp.ones(3, jnp.bfloat16) * found[0]).dtype == jnp.bfloat16
    same(jax.jvp(compiled, (x,), (x,)), jax.jvp(jax.jit(function), (x,), (x,)))


def test_one_in_another_is_a_part_of_it(pod, draw):
    layer = shardc.jit(lambda x, power: jnp.tanh(x) ** power, static_argnums=1)

    @shardc.jit
    def model(x):
        return jax.lax.scan(lambda x, _: (layer(x, 2), None), layer(x, 3), None, length=2)[0]

    x = pod.put(draw(8, 4), "data")
    same(model(x), jnp.tanh(jnp.tanh(jnp.tanh(x) ** 3) ** 2) ** 2)
    assert model.lower(x).source.count("def main(") == 1


def test_shapes_without_a_compilation(pod, draw):
    found = shardc.jit(lambda x, n: {"y": x[:n]}, static_argnums=1).eval_shape(draw(8, 4), 3)
    assert found["y"].shape == (3, 4)


def test_a_mesh_of_one_device_says_how(draw):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[1:2]).reshape(1, 1), ("data", "model"))
    put = partial(jax.device_put, device=jax.sharding.NamedSharding(mesh, P("data")))
    x, w = put(draw(8, 4)), put(draw(4, 4))
    compiled = shardc.jit(lambda x: jnp.tanh(x @ w).sum())
    found = jax.value_and_grad(compiled)(x)
    same(found, jax.value_and_grad(lambda x: jnp.tanh(x @ w).sum())(x))
    assert compiled(x).sharding.mesh == mesh


def test_per_device_code_on_a_mesh_of_one_device_says_how(draw):
    """JAX's text does not have that mesh."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[1:2]), ("data",))

    def total(x):
        return jax.lax.psum(jnp.tanh(x), "data") * (1 + jax.lax.axis_index("data"))

    whole = partial(jax.shard_map, total, in_specs=P("data"), out_specs=P("data"))
    x = draw(8, 4)
    found = shardc.jit(whole(mesh=mesh))(x)
    same(found, np.tanh(x))
    assert found.devices() == {jax.devices()[1]}
    same(shardc.jit(jax.grad(lambda x: whole(mesh=mesh)(x).sum()))(x), 1 - np.tanh(x) ** 2)
    with jax.set_mesh(mesh):
        same(shardc.jit(lambda x: whole()(x))(x), np.tanh(x))
