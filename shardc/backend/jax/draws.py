"""Random numbers: one call of jax.random, or of a function that makes this device's block of them.

    jax.random.normal(key, (8, 16), jnp.float32)        own_normal(key, (8, 16), ("data", ()))

Emitted keys are plain arrays, so `main` sets what jax.random takes such for, and how it numbers elements.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.carried import below_mark, called
from shardc.backend.python.expressions import Expr, call, integers, lambda_of, raw, tuple_of
from shardc.backend.python.literals import scalar, typed
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several, Term
from shardc.graph import Node
from shardc.graph.types import DTYPES

SETTINGS = 'with jax.threefry_partitionable(True), jax.default_prng_impl("threefry2x32"):'
"""What jax.random's results follow from, beside a plain key."""

_OWN_DTYPE = "f32"


def functions(text: str) -> list[str]:
    """What draws a device's block, of which a program's text calls some: these, and those that they call."""
    return called(below_mark("shardc.backend.jax", "own_draws.py"), text) if "own_" in text else []


@JAX.prints(idiom.cipher)
def cipher(scope: Scope, node: Node) -> Several:
    """first, second = threefry2x32_p.bind(k0, k1, x0, x1)"""
    differs = bool(scope.emission.varying.get(node.results[0]))
    function = "own_threefry2x32" if differs else "threefry2x32_p.bind"
    return Several(call(function, *(scope.expr(value) for value in node.operands)))


@JAX.prints(idiom.drawn)
def drawn(scope: Scope, node: Node) -> Term:
    """On its own line where it has a name only: each draw is a step of its own."""
    kind, key = str(node.attrs["kind"]), scope.expr(node.operands[0])
    if kind == "permutation":
        made = _permutation(scope, node)
    elif "batch" in node.attrs:
        made = _of_each(scope, node, kind)
    else:
        made = _of_one(scope, node, kind, key)
    return Term(made, scope.type(node.results[0]).shape)


def _of_one(scope: Scope, node: Node, kind: str, key: Expr) -> Expr:
    """What one key gives."""
    if kind == "fold_in":
        constant = [str(node.attrs["data"])] if "data" in node.attrs else []
        return call("jax.random.fold_in", key, *map(scope.expr, node.operands[1:]), *constant)
    return _own(scope, node, kind, key) if any(_split(node)) else _whole(scope, node, kind, key)


def _of_each(scope: Scope, node: Node, kind: str) -> Expr:
    """jax.vmap(lambda key: jax.random.normal(key, (16,), jnp.float32))(keys)"""
    keys, *rest = map(scope.expr, node.operands)
    each = rest if node.attrs.get("each") else []
    if each or (kind == "split" and node.attrs["shape"] == (2,) and not any(_split(node))):
        function = raw(f"jax.random.{kind}")
    else:
        key = next(name for name in _KEYS if not any(name in expr.reads for expr in rest))
        body = _of_one(scope, node, kind, raw(key))
        function = lambda_of(key, body)
    for _ in range(cast(int, node.attrs["batch"])):
        function = call("jax.vmap", function)
    return call(function, keys, *each)


_KEYS = ("key", "own_key", "one_key", "each_key")
"""What a lambda may call its key: what it is given beside has fewer names."""


def _permutation(scope: Scope, node: Node) -> Expr:
    """jax.random.permutation(key, x, axis=1, independent=True)"""
    key, x = node.operands
    axis = str(node.attrs["dimension"]) if node.attrs["dimension"] else None
    independent = "True" if scope.type(x).rank > 1 else None
    made = scope.expr(key), scope.expr(x)
    return call("jax.random.permutation", *made, axis=axis, independent=independent)


def is_own(node: Node) -> bool:
    """Whether a block is drawn that this target has a function for."""
    return str(node.attrs.get("of", node.attrs["dtype"])) in (_OWN_DTYPE, "u32", "i32")


def _split(node: Node) -> tuple[tuple[str, ...], ...]:
    return cast("tuple[tuple[str, ...], ...]", node.attrs.get("split", ()))


def _shape(node: Node) -> Expr:
    return integers(cast("tuple[int, ...]", node.attrs["shape"]))


def _whole(scope: Scope, node: Node, kind: str, key: Expr) -> Expr:
    shape = _shape(node)
    if kind == "split":
        many = cast("tuple[int, ...]", node.attrs["shape"])
        return call("jax.random.split", key, raw(str(many[0])) if len(many) == 1 else shape)
    if kind == "bernoulli":
        return call("jax.random.bernoulli", key, _chance(scope, node), shape)
    dtype = scope.target.dtype(scope.type(node.results[0]).dtype)
    if kind == "randint":
        return call("jax.random.randint", key, shape, *_both_ends(scope, node), dtype)
    low, high = _ends(scope, node) if kind == "uniform" else (None, None)
    return call(f"jax.random.{kind}", key, shape, dtype, minval=low, maxval=high)


def _chance(scope: Scope, node: Node) -> Expr:
    """The probability of a bernoulli: an array, whose dtype says how many bits are drawn."""
    constant, dtype = node.attrs["chance"], str(node.attrs["of"])
    if constant is None:
        return scope.expr(node.operands[1])
    return typed(_literal(scope, constant, dtype), dtype, scope.target)


def _both_ends(scope: Scope, node: Node) -> list[Expr]:
    """The bounds of a draw: constants, or operands after the key."""
    operands = iter(node.operands[1:])
    dtype = scope.type(node.results[0]).dtype
    given = [node.attrs[key] for key in ("low", "high")]
    return [scope.expr(next(operands)) if x is None else _literal(scope, x, dtype) for x in given]


def _ends(scope: Scope, node: Node) -> tuple[Expr | None, ...]:
    """The bounds of a uniform; None for 0 and 1."""
    usual = [node.attrs[key] == x for key, x in (("low", 0), ("high", 1))]
    ends = zip(_both_ends(scope, node), usual, strict=True)
    return tuple(None if is_usual else end for end, is_usual in ends)


def _literal(scope: Scope, constant: object, dtype: str) -> Expr:
    return scalar(
        cast("np.generic", np.array(cast(Any, constant), DTYPES[dtype][1])[()]), dtype, scope.target
    )


def _own(scope: Scope, node: Node, kind: str, key: Expr) -> Expr:
    """own_normal(key, (8, 16), ("data", ()))"""
    split = tuple_of([_axes(names) for names in _split(node)])
    chance = [_chance(scope, node)] if kind == "bernoulli" else []
    ends = _both_ends(scope, node) if kind == "randint" else []
    low, high = _ends(scope, node) if kind == "uniform" else (None, None)
    return call(f"own_{kind}", key, *chance, _shape(node), split, *ends, minval=low, maxval=high)


def _axes(names: tuple[str, ...]) -> Expr:
    """The axes of a dimension, as JAX takes them."""
    return raw(quoted(names[0])) if len(names) == 1 else tuple_of([raw(quoted(name)) for name in names])
