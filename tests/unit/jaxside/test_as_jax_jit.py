"""What jax.jit does around a compilation, shardc.jit does too: both are asked the same."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import warnings
import weakref
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.tolerance import assert_near
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.fixture
def x(pod):
    return pod.put(np.arange(8, dtype=np.float32), "data")


def outcome(act: Any) -> Any:
    """What comes out: a value, or the kind of error and the beginning of what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return act()
        except Exception as error:
            return type(error), str(error)[:60]


def alike(act: Any) -> Any:
    """What comes out with shardc.jit, which is what comes out with jax.jit."""
    ours, theirs = outcome(lambda: act(shardc.jit)), outcome(lambda: act(jax.jit))
    assert ours == theirs
    return ours


def three(a: Any, b: Any, c: Any) -> Any:
    return a, b, c


def kinds(a: Any, /, b: Any, *args: Any, c: Any = 0, **named: Any) -> Any:
    return a, b, args, c, named


@pytest.mark.parametrize("function", [three, kinds])
@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": (0, 3)},
        {"static_argnums": (0, -4)},
        {"static_argnames": "d"},
        {"static_argnames": "a"},
        {"donate_argnums": (0, 3)},
        {"donate_argnums": (0, -4)},
        {"donate_argnames": "d"},
        {"donate_argnames": ("a", "c")},
        {"donate_argnames": "args"},
        {"static_argnames": "a", "donate_argnames": "a"},
        {"static_argnums": 0, "donate_argnums": 0},
    ],
    ids=str,
)
def test_options_that_do_not_fit_the_function(function, options):
    alike(lambda jit: jit(function, **options) and None)


@pytest.mark.parametrize(
    "function",
    [3, (x for x in ()), staticmethod(three), classmethod(three)],
    ids=lambda function: type(function).__name__,
)
def test_what_is_no_function(function):
    alike(lambda jit: jit(function) and None)


def generator(x: Any) -> Any:
    yield x


def raises(x: Any) -> Any:
    raise KeyError("mine")


class Unhashable:
    def __hash__(self) -> int:
        raise ValueError("no hash")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda jit, x: jit(generator)(x), TypeError),
        (lambda jit, x: jit(raises)(x), KeyError),
        (lambda jit, x: jit(lambda x, y: x)(x), TypeError),
        (lambda jit, x: jit(lambda x: x)(x, x), TypeError),
        (lambda jit, x: jit(lambda x: x)(x, z=x), TypeError),
        (lambda jit, x: jit(lambda x: x)("text"), TypeError),
        (lambda jit, x: jit(lambda x, y: x)(x, "text"), TypeError),
        (lambda jit, x: jit(lambda x: x)(jnp.int32), TypeError),
        (lambda jit, x: jit(lambda x: {"a": [x, "text"]})(x), TypeError),
        (lambda jit, x: jit(lambda x, y: x)(x, np.array([object()])), TypeError),
        (lambda jit, x: jit(lambda x: x)(np.ma.array([1, 2], mask=[True, False])), ValueError),
        (lambda jit, x: jit(lambda x, n: x, static_argnums=1)(x, [1]), ValueError),
        (lambda jit, x: jit(lambda x, n: x, static_argnums=1)(x, np.asarray(1)), ValueError),
        (lambda jit, x: jit(lambda x, n: x, static_argnames="n")(x, n=[1]), ValueError),
        (lambda jit, x: jit(lambda x, n: x, static_argnums=1)(x, Unhashable()), ValueError),
        (lambda jit, x: jit(lambda x, n: x, static_argnums=1)(x), TypeError),
        (lambda jit, x: jit(lambda x: x if x.sum() > 0 else -x)(x), jax.errors.TracerBoolConversionError),
        (lambda jit, x: jit(lambda x: [x for _ in range(x[0])])(x), TypeError),
        (lambda jit, x: jit(lambda x: float(x[0]))(x), jax.errors.ConcretizationTypeError),
        (lambda jit, x: jit(lambda x: np.exp(x))(x), jax.errors.TracerArrayConversionError),
        (lambda jit, x: jit(lambda x: x + x[:3])(x), TypeError),
        (lambda jit, x: jit(lambda x: x + 1).lower(x).compile()([x]), TypeError),
        (lambda jit, x: jit(lambda x: x + 1).lower(x).compile()(x[:4]), TypeError),
        (lambda jit, x: jit(lambda x: x + 1).lower(x).compile()(x.astype(int)), TypeError),
        (lambda jit, x: jax.vmap(jit(lambda x: x + 1).lower(x).compile())(jnp.ones((3, 8))), TypeError),
    ],
)
def test_errors_of_calls(call, error, x):
    kind, said = alike(lambda jit: call(jit, x))
    assert issubclass(kind, error) and (said or error is ValueError)


@pytest.mark.parametrize(
    "options",
    [
        {"in_shardings": ("data",) * 3},
        {"in_shardings": (("data", "model"), None)},
        {"out_shardings": ("data",) * 3},
    ],
    ids=str,
)
def test_errors_of_shardings(options, pod, x):
    ways = {
        key: tuple(pod.way(*((spec,) if isinstance(spec, str) else spec or ())) for spec in specs)
        for key, specs in options.items()
    }
    kind, _ = alike(lambda jit: jit(lambda x, y: (x, y), **ways)(x, x))
    assert issubclass(kind, ValueError)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "call",
    [
        lambda jit, x: jit(lambda x, a, b: (x * a, b))(x, np.float64(2), np.int64(3)),
        lambda jit, x: jit(lambda x, y, s: x[s] * y, static_argnums=(2,))(x, y=2, s=0),
        lambda jit, x: jit(lambda x, n=4: x * n, static_argnums=1)(x),
        lambda jit, x: jit(lambda x, *, n, k=2: x * k, static_argnames=["n", "k"])(x, n="name"),
        lambda jit, x: [jit(lambda k, x: x * k, static_argnums=0)(k, x) for k in (1, True, 1.0)],
        lambda jit, x: [jit(lambda x, s: (x * s, s))(x, s) for s in (1, 1.5, True, np.float32(2), 2 + 1j)],
        lambda jit, x: jit(lambda x: (1, 2.0, True, np.float32(3), np.arange(3), None, ()))(x),
        lambda jit, x: jit(lambda x, y: x if y is None else y)(x, None),
        lambda jit, x: jit(lambda x: (x, x))(x),
        lambda jit, x: jit(lambda x: None)(x),
        lambda jit, x: jit(lambda *xs: xs[1] + 2)(x, x, x),
        lambda jit, x: jit(lambda x, **named: {key: x * value for key, value in named.items()})(x, b=1, a=2),
        lambda jit, x: jit(lambda d: {2: d[1] + 1, 1: d[2]})({1: x, 2: x}),
        lambda jit, x: jit(lambda d: {("a", 1): d["x y"] + 1})({"x y": x}),
        lambda jit, x: jit(lambda t: jax.tree.map(jnp.sin, t))(
            {"pair": Pair(x, (x, [])), "default": defaultdict(list, {"k": x}), "none": None}
        ),
        lambda jit, x: jit(lambda t: t)(OrderedDict([("z", x), ("a", x)])),
        lambda jit, x: jit(partial(lambda a, x, b=1.0: a * x + b, 2, b=3.0))(x),
        lambda jit, x: jit(jit(lambda x: x + 1))(x),
        lambda jit, x: jit(lambda x: jit(lambda y: y**2, donate_argnums=0)(x))(x),
        lambda jit, x: jit(copy.deepcopy)(x),
        lambda jit, x: copy.deepcopy(jit(jnp.sin))(x),
        lambda jit, x: jit(lambda x: jnp.sin(x)).lower(x).compile()(x),
        lambda jit, x: jax.hessian(jit(lambda x: (x**3).sum()))(x),
        lambda jit, x: jax.value_and_grad(jit(lambda x: ((x**2).sum(), {"a": x})), has_aux=True)(x),
    ],
)
def test_values_trees_and_weak_types(call, x):
    ours, theirs = (call(jit, x) for jit in (shardc.jit, jax.jit))
    same(ours, theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.weak_type == other.weak_type


def test_what_is_donated(pod, draw):
    def apply(jit, **options):
        a, b, c = (pod.put(draw(8, 4), "data") for _ in range(3))
        lowered = jit(lambda a, b, c: (a * 2, b * 2, c * 2), **options).lower(a, b, c)
        jit(lambda a, b, c: (a * 2, b * 2, c * 2), **options)(a, b, c=c)
        return [v.is_deleted() for v in (a, b, c)], lowered.donate_argnums, lowered.compile().donate_argnums

    assert alike(partial(apply, donate_argnums=0))[0] == [True, False, False]
    assert alike(partial(apply, donate_argnums=(0,), donate_argnames=("b", "c")))[0] == [True, False, True]


def test_how_often_it_is_compiled(pod, x):
    def sizes(jit):
        function = jit(lambda x, n: x * n, static_argnums=1)
        found = [function._cache_size()]
        for array, n in ((x, 1), (x, 1), (pod.put(np.ones(16, np.float32), "data"), 1), (x, 2), (x, 1)):
            function(array, n)
            found.append(function._cache_size())
        function.clear_cache()
        return [*found, function._cache_size()]

    assert alike(sizes) == [0, 1, 1, 2, 3, 3, 0]


def test_what_is_forgotten_is_traced_again(x):
    factor = 2.0

    def scaled(x):
        return x * factor

    function = shardc.jit(scaled)
    same(function(x), x * 2.0)
    factor = 3.0
    same(function(x), x * 2.0)
    function.clear_cache()
    same(function(x), x * 3.0)
    assert "3.0" in function.lower(x).source


def test_what_a_function_holds_goes_with_it(x):
    def is_gone(jit):
        array = jnp.ones(10)

        def made(array):
            return lambda x: x + array.sum()

        function = jit(made(array))
        function(x)
        held = weakref.ref(array)
        del array
        gc.collect()
        assert held() is not None
        del function
        gc.collect()
        return held() is None

    assert is_gone(jax.jit) and is_gone(shardc.jit)


def test_attributes(x):
    def documented(x: int) -> int:
        """What it does."""
        return x + 1

    documented.note = 4
    function: Any = shardc.jit(documented)
    assert function.__wrapped__ is documented and function.__doc__ == "What it does." and function.note == 4
    assert function.__name__ == "documented" and function.__annotations__ == documented.__annotations__
    assert repr(function) == "<shardc.jit of documented>"
    lowered, theirs = function.lower(x), jax.jit(documented).lower(x)
    assert lowered.in_avals == theirs.in_avals and isinstance(lowered.cost_analysis(), dict)
    assert "sdy.manual_computation" in str(lowered.compiler_ir("stablehlo"))
    compiled = lowered.compile()
    assert compiled.memory_analysis() is not None and "HloModule" in compiled.as_text()


class Called:
    def __call__(self, x: Any) -> Any:
        return x + 1


@pytest.mark.parametrize(
    "function",
    [
        three,
        partial(three, 1),
        partial(partial(three, 1), c=2),
        jnp.sin,
        operator.add,
        Called(),
        Called().__call__,
    ],
    ids=["plain", "partial", "twice partial", "numpy", "builtin", "object", "method"],
)
def test_names(function):
    theirs, ours = jax.jit(function), shardc.jit(function)
    assert (ours.__name__, ours.__qualname__) == (theirs.__name__, theirs.__qualname__)
    assert (ours.__module__, ours.__doc__ or "") == (theirs.__module__, theirs.__doc__ or "")


def test_moves_to_host_memory_are_left_out_with_a_warning(pod, x):
    def moved(x):
        return jax.device_put(x * 2, jax.memory.Space.Host), jax.jit(lambda x: x + 1)(x)

    with pytest.warns(UserWarning, match="moves a value to host memory: left out"):
        doubled, more = shardc.jit(moved)(x)
    same((doubled, more), jax.tree.map(lambda of: jax.device_put(of, x.sharding), (x * 2, x + 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shardc.jit(lambda x: jax.device_put(x, pod.way("model")))(x)


def test_a_function_that_says_how_it_is_partitioned_is_what_it_computes(pod):
    partitioning = pytest.importorskip("jax.experimental.custom_partitioning")
    own = partitioning.custom_partitioning(lambda x: jnp.sin(x) + 1)
    own.def_partition(
        partition=lambda mesh, args, result: (mesh, jnp.sin, result.sharding, (args[0].sharding,)),
        infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
        sharding_rule="i -> i",
    )
    x = pod.put(np.arange(8, dtype=np.float32), "data")
    function = shardc.jit(lambda x: 2 * own(x))
    with pytest.warns(UserWarning, match="says how a function would be split: left out"):
        found = function(x)
    assert_near(found, 2 * np.sin(np.arange(8.0)) + 2, dtype="f32")
    assert "all_gather" not in function.lower(x).source


def test_from_several_threads(pod):
    function = shardc.jit(lambda x: x + x - 3.0)
    arrays = [pod.put(np.arange(8 * k, dtype=np.float32), "data") for k in (1, 1, 2, 2)]
    with ThreadPoolExecutor() as executor:
        for got, array in zip(executor.map(function, arrays), arrays, strict=True):
            same(got, array * 2 - 3)


def times(x, n):
    return x * n


def test_a_pickle_keeps_function_and_options(x):
    again = pickle.loads(pickle.dumps(shardc.jit(times, static_argnames="n", overlap="off")))
    same(again(x, n=3), x * 3)


def test_tokens_are_refused(x):
    with pytest.raises(ShardcError, match="an argument is a token"):
        shardc.jit(lambda x, token: x)(x, jax.lax.create_token())
