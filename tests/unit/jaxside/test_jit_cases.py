"""jax.jit's own interface, case by case: shardc.jit gives the same, or differs as docs/embedding.md says."""

from __future__ import annotations

import contextlib
import inspect
import io
import weakref
from collections.abc import Callable
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
lax = pytest.importorskip("jax.lax")
export = pytest.importorskip("jax.export")
checkify = pytest.importorskip("jax.experimental.checkify")

ALIKE: list[Any] = []


def alike(case: Callable[..., Any]) -> Callable[..., Any]:
    """A case `(jit, x, pod) -> tree` that comes out alike with jax.jit and shardc.jit."""
    ALIKE.append(pytest.param(case, id=case.__name__.lstrip("_")))
    return case


@pytest.fixture
def x(pod):
    return pod.put(np.arange(8, dtype=np.float32), "data")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", ALIKE)
def test_alike(case, x, pod):
    ours, theirs = (_outcome(partial(case, jit, x, pod)) for jit in (shardc.jit, jax.jit))
    if isinstance(theirs, Raised) or isinstance(ours, Raised):
        assert ours == theirs
        return
    plain = [all(isinstance(leaf, str | bool) for leaf in jax.tree.leaves(found)) for found in (ours, theirs)]
    if all(plain):
        assert ours == theirs
    else:
        same(*(jax.tree.map(jnp.asarray, found) for found in (ours, theirs)))


@dataclass(frozen=True)
class Raised:
    kind: type
    said: str


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Exception as error:
        return Raised(type(error), str(error)[:40])


@dataclass(frozen=True)
class Config:
    n: int = 2


@partial(jax.tree_util.register_dataclass, data_fields=["a", "b"], meta_fields=["n"])
@dataclass
class Record:
    a: Any
    b: Any
    n: int


@jax.tree_util.register_pytree_node_class
class Tagged:
    def __init__(self, a: Any, tag: str) -> None:
        self.a, self.tag = a, tag

    def tree_flatten(self) -> Any:
        return (self.a,), self.tag

    @classmethod
    def tree_unflatten(cls, tag: str, children: Any) -> Any:
        return cls(children[0], tag)


def identity(x: Any) -> Any:
    return x


def defaults(x: Any, n: int = 3, *, m: int = 4) -> Any:
    return x * n * m


@alike
def unknown_option(jit, x, pod):
    return jit(lambda x: x, color=1)(x)


@alike
def checks(jit, x, pod):
    def checked(x):
        checkify.check(x.sum() > 100, "too small")
        return x * 2

    return str(jit(checkify.checkify(checked))(x)[0].get())


@alike
def kept_unused(jit, x, pod):
    return jit(lambda x, y: x, keep_unused=True)(x, x)


@alike
def inlined(jit, x, pod):
    way = pod.way("data")
    return jax.jit(lambda x: jit(lambda x: x + 1, inline=True, in_shardings=way)(x))(x)


@alike
def options_for_the_compiler(jit, x, pod):
    return jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": False})(x)


@alike
def unknown_options_for_the_compiler(jit, x, pod):
    return jit(lambda x: x + 1, compiler_options={"nope": 1})(x)


@alike
def static_from_the_end(jit, x, pod):
    return jit(lambda x, n: x * n, static_argnums=-1)(x, 3)


@alike
def static_tree(jit, x, pod):
    return jit(lambda x, c: x * c[0], static_argnums=1)(x, (3, ("a", None)))


@alike
def static_dataclass(jit, x, pod):
    return jit(lambda x, c: x * c.n, static_argnames="c")(x, c=Config(5))


@alike
def static_defaults(jit, x, pod):
    function = jit(defaults, static_argnames=("n", "m"))
    return function(x), function(x, n=2), function(x, 2, m=1)


@alike
def static_function(jit, x, pod):
    return jit(lambda f, x: f(x), static_argnums=0)(jnp.sin, x)


@alike
def static_by_name(jit, x, pod):
    return jit(lambda x, n: x * n, static_argnums=1)(x, n=3)


@alike
def keywords_alone(jit, x, pod):
    return jit(lambda *, a, b: a - b)(b=x, a=2 * x)


@alike
def any_arguments(jit, x, pod):
    return jit(lambda a, *rest, **named: (a, rest, named))(x, x, 2.0, z=x)


@alike
def methods(jit, x, pod):
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        @partial(jit, static_argnums=0)
        def scaled(self, x: Any) -> Any:
            return x * self.w

        @staticmethod
        @jit
        def less(x: Any) -> Any:
            return x - 1

        @classmethod
        @partial(jit, static_argnums=0)
        def more(cls, x: Any) -> Any:
            return x + 1

    model = Model(3.0)
    bound = model.scaled(x), Model.scaled(model, x), jit(model.scaled)(x)
    return *bound, model.less(x), Model.less(x), model.more(x)


@alike
def called_object(jit, x, pod):
    class Double:
        def __call__(self, x: Any) -> Any:
            return x * 2

    return jit(Double())(x)


@alike
def registered_dataclass(jit, x, pod):
    return jax.tree.leaves(jit(lambda r: Record(r.a + 1, r.b, r.n))(Record(x, {"k": x}, 3)))


@alike
def registered_node(jit, x, pod):
    return jax.tree.leaves(jit(lambda node: Tagged(node.a * 2, node.tag))(Tagged(x, "tag")))


@alike
def typed_keys(jit, x, pod):
    def function(key, x):
        return jax.random.key_data(jax.random.split(key)[0]), x + jax.random.uniform(key)

    return [jit(function)(jax.random.key(1, impl=impl), x) for impl in ("threefry2x32", "rbg")]


@alike
def numbered_as_before(jit, x, pod):
    with jax.threefry_partitionable(False):
        return jit(lambda k, x: x + jax.random.uniform(k, (8,)))(jax.random.key_data(jax.random.key(0)), x)


@alike
def mapped(jit, x, pod):
    inside = jit(jax.vmap(lambda a: a * 2))(x)
    return inside, jax.vmap(jit(lambda a, x: a * x), in_axes=(0, None))(jnp.arange(3.0), x)


@alike
def pushed_forward(jit, x, pod):
    f = jit(lambda x: jnp.sin(x) * x[0])
    value, linear = jax.linearize(f, x)
    return jax.jvp(f, (x,), (x,)), value, linear(x), jax.jacfwd(f)(x)


@alike
def pulled_back(jit, x, pod):
    f = jit(lambda x: jnp.sin(x) * x[0])
    value, back = jax.vjp(f, x)
    return value, back(value), jax.jacrev(f)(x)


@alike
def transposed(jit, x, pod):
    return jax.linear_transpose(jit(lambda x: 2 * x, in_shardings=pod.way("data")), x)(x)


@alike
def derived_by_several(jit, x, pod):
    return jax.grad(jit(lambda a, b: (a * b).sum()), argnums=(0, 1))(x, x + 1)


@alike
def derived_beside_integers(jit, x, pod):
    return jax.grad(jit(lambda a, n: (a * n).sum()))(x, 3)


@alike
def in_loops_and_branches(jit, x, pod):
    double = jit(lambda c: c * 2 + 1, in_shardings=pod.way("data"))
    scanned = lax.scan(lambda c, _: (double(c), c.sum()), x, None, length=3)
    return scanned, lax.while_loop(lambda c: c.sum() < 100, double, x), lax.cond(True, double, jnp.sin, x)


@alike
def checkpointed(jit, x, pod):
    around = jax.checkpoint(jit(lambda x: jnp.sin(x), in_shardings=pod.way("data")))
    inside = jit(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum())
    return jax.grad(lambda x: around(x).sum())(x), jax.grad(inside)(x)


@alike
def own_derivatives(jit, x, pod):
    @jax.custom_jvp
    def f(x):
        return x * 2

    f.defjvp(lambda p, t: (f(*p), t[0] * 7))
    g = jax.custom_jvp(jit(lambda x: x * 2))
    g.defjvp(lambda p, t: (g(*p), t[0] * 7))
    return jit(f)(x), jax.grad(jit(lambda x: f(x).sum()))(x), jax.grad(lambda x: g(x).sum())(x)


@alike
def own_transposed_derivatives(jit, x, pod):
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda r, g: (g * 7,))
    return jit(jax.grad(lambda x: f(x).sum()))(x)


@alike
def shapes_alone(jit, x, pod):
    way = pod.way("data")
    outside = jax.eval_shape(jit(lambda x: x[:4].astype("int32"), in_shardings=way), x)
    own = jit(lambda x, n: x[:n], static_argnums=1).eval_shape(x, 3)
    return [str((found.shape, found.dtype)) for found in (outside, own)]


@alike
def ahead_of_time(jit, x, pod):
    way = pod.way("data")
    lowered = jit(lambda x: {"a": x + 1}, in_shardings=way).lower(jax.ShapeDtypeStruct((8,), "float32"))
    compiled = lowered.compile()
    assert (str(compiled.out_tree), str(compiled.in_tree)) == (str(lowered.out_tree), str(lowered.in_tree))
    with_static = jit(lambda x, n: x * n, static_argnums=1).lower(x, 3).compile()
    return compiled(x), with_static(x), jit(lambda x, *, y: x - y).lower(x, y=x).compile()(x, y=x)


@alike
def for_a_platform(jit, x, pod):
    lowered = jit(lambda x: x + 1).trace(x).lower(lowering_platforms=("cpu",))
    return lowered.as_text().startswith("module")


@alike
def exported(jit, x, pod):
    way = pod.way("data")
    function = jit(lambda x: x + 1, in_shardings=way, out_shardings=way)
    made = export.export(function)(jax.ShapeDtypeStruct((8,), "float32"))
    assert made.nr_devices == 8
    return jax.jit(export.deserialize(made.serialize()).call, in_shardings=way)(x)


@alike
def wide_numbers(jit, x, pod):
    function = jit(lambda x: x.astype(float).sum() + jnp.arange(3).sum())
    narrow = repr(function(x))
    with jax.enable_x64(True):
        return narrow, repr(function(x))


@alike
def precision(jit, x, pod):
    with jax.default_matmul_precision("float32"):
        function = jit(lambda x: x @ x)
        return function(x), "HIGHEST" in function.lower(x).as_text()


@alike
def no_promotion_of_ranks(jit, x, pod):
    with jax.numpy_rank_promotion("raise"):
        return jit(lambda x: x + jnp.ones((2, 8)))(x)


@alike
def no_promotion_of_types(jit, x, pod):
    with jax.numpy_dtype_promotion("strict"):
        return jit(lambda x: x + jnp.arange(8))(x)


@alike
def without_jit(jit, x, pod):
    with jax.disable_jit():
        return jit(lambda x: x if x.sum() > 0 else -x)(x)


@alike
def leaked(jit, x, pod):
    out: list[Any] = []
    jit(lambda x: out.append(x) or x)(x)
    return out[0] + 1


@alike
def looked_for_leaks(jit, x, pod):
    with jax.checking_leaks():
        return jit(lambda x: x + 1)(x)


@alike
def committed(jit, x, pod):
    results = jit(lambda x: x + 1)(x), jit(lambda x, y: (x, y + 1))(x, jnp.ones(8))[1]
    return [result.committed for result in results], str(results[0].sharding.spec)


@alike
def gone(jit, x, pod):
    arrays = [pod.put(np.arange(8, dtype=np.float32), "data") for _ in range(2)]
    jit(lambda a, b: a + b, donate_argnums=0)(*arrays)
    return [array.is_deleted() for array in arrays]


@alike
def traced_once(jit, x, pod):
    count: list[int] = []
    function = jit(lambda x: count.append(1) or x + 1)
    for array in (x, x, x.astype("int32"), x):
        function(array)
    return str(len(count))


@alike
def what_a_function_says(jit, x, pod):
    function = jit(defaults)
    known = [
        hasattr(function, name) for name in ("lower", "trace", "eval_shape", "clear_cache", "__wrapped__")
    ]
    return (
        *known,
        str(inspect.signature(function)),
        function.__name__,
        function == function,
        {function: 1} != {},
    )


@alike
def weakly_held(jit, x, pod):
    function = jit(identity)
    return weakref.ref(function)() is function


@alike
def printed(jit, x, pod):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        jit(lambda x: jax.debug.print("sum {}", x.sum()) or x)(x).block_until_ready()
        jax.effects_barrier()
    return said.getvalue()


@alike
def python_numbers(jit, x, pod):
    return jit(lambda x, a, b, c: (x * a, b, c))(x, 2, 3.5, True)


@alike
def a_number_that_is_too_large(jit, x, pod):
    return jit(lambda x, a: x * a)(x, 2**40)


@alike
def text_as_a_result(jit, x, pod):
    return jit(lambda x: "a")(x)


@alike
def no_arguments(jit, x, pod):
    return jit(lambda: jnp.ones(8), out_shardings=pod.way("data"))()


@alike
def no_elements(jit, x, pod):
    return jit(lambda x: x[:0])(x)


@alike
def shardings_of_some(jit, x, pod):
    return jit(lambda x, y: x + y, in_shardings=(None, pod.way()))(x, np.ones(8, np.float32))


@alike
def shardings_beside_keywords(jit, x, pod):
    return jit(lambda x: x, in_shardings=pod.way("data"))(x=x)


@alike
def another_sharding(jit, x, pod):
    return str(jit(lambda x: x + 1, in_shardings=pod.way("model"))(x).sharding.spec)


@alike
def a_spec_without_a_mesh(jit, x, pod):
    return jit(lambda x: x + 1, in_shardings=jax.P("data"))(x)


@alike
def computed_while_traced(jit, x, pod):
    def function(x):
        with jax.ensure_compile_time_eval(), jax.named_scope("scope"):
            n = int(jnp.sum(jnp.arange(3)))
        return x * n

    return jit(jax.named_call(function, name="n"))(x)


NO_SHARDINGS = "nothing says how"
DIFFERS = [
    (lambda jit, x, pod: jit(identity)(3), NO_SHARDINGS),
    (lambda jit, x, pod: jit(identity)(np.ones(8)), NO_SHARDINGS),
    (lambda jit, x, pod: jax.jit(lambda x: jit(identity)(x))(x), NO_SHARDINGS),
    (lambda jit, x, pod: jax.linear_transpose(jit(lambda x: 2 * x), x)(x), NO_SHARDINGS),
    (lambda jit, x, pod: jax.jit(lambda y: jit(lambda x: x + y)(x))(2.0), "the function around it"),
    (lambda jit, x, pod: jax.grad(lambda w: jit(lambda x: x * w)(x).sum())(2.0), "the function around it"),
    (lambda jit, x, pod: jax.vmap(jit(jnp.sin))(x), "jax.vmap maps over dimension 0"),
    (
        lambda jit, x, pod: jax.vmap(
            jit(lambda a, x: lax.psum(a, "i") * x), in_axes=(0, None), axis_name="i"
        )(jnp.arange(3.0), x),
        "uses the axis 'i' of a jax.vmap",
    ),
    (
        lambda jit, x, pod: jit(lambda x: jax.debug.inspect_array_sharding(x, callback=id) or x)(x),
        "inspect_array_sharding cannot be compiled",
    ),
    (lambda jit, x, pod: jit(lambda r: r[...] + 1)(jax.new_ref(x)), "an argument is a mutable array"),
    (lambda jit, x, pod: jit(lambda r: r[...] + 1).lower(jax.new_ref(x)), "an argument is a mutable array"),
    (
        lambda jit, x, pod: export.export(jit(jnp.sin))(
            jax.ShapeDtypeStruct(export.symbolic_shape("n, 4"), np.float32)
        ),
        "an argument is f.*32.n,4., and a program is compiled for sizes that are numbers",
    ),
]


@pytest.mark.parametrize(("case", "said"), DIFFERS)
def test_refused(case, said, x, pod):
    case(jax.jit, x, pod)
    with pytest.raises(ShardcError, match=said):
        case(shardc.jit, x, pod)


def test_results_are_on_the_mesh_though_what_is_there_is_not_read(x):
    ours, theirs = (jit(lambda x, y: y + 1)(x, jnp.ones(8)) for jit in (shardc.jit, jax.jit))
    assert (len(ours.devices()), ours.committed) == (8, True)
    assert (len(theirs.devices()), theirs.committed) == (1, False)


@pytest.mark.parametrize("option", ["device", "backend"])
def test_options_that_jax_gives_up_are_unknown(option):
    with pytest.raises(TypeError, match=option):
        shardc.jit(identity, **{option: "cpu"})  # pyright: ignore[reportCallIssue, reportArgumentType]
