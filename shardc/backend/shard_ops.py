"""Operations by the names they have in the .shard language.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, attribute, binary, call, index, keyword, raw, tuple_of, unary
from shardc.backend.ops_dot import is_matmul, letters
from shardc.backend.ops_shape import ints, is_plain_pad
from shardc.backend.shard_raw import operation
from shardc.backend.shard_text import array, axis, check_dtype, number, sizes
from shardc.backend.terms import Several, Term, common_shape
from shardc.graph import Dense, DotDims, Node, combiner, identity, is_float, is_integer
from shardc.graph.program import own_attrs

Accepts = Callable[[str], bool]


def is_signed(dtype: str) -> bool:
    return is_float(dtype) or (is_integer(dtype) and not dtype.startswith("u"))


def is_number(dtype: str) -> bool:
    return is_float(dtype) or is_integer(dtype)


def is_logical(dtype: str) -> bool:
    return dtype == "bool" or is_integer(dtype)


def is_any(dtype: str) -> bool:
    return True


# ---- element by element


def operands(body: Body, node: Node, first: int = 0) -> list[Expr]:
    """Texts that broadcast to the result's shape; at least one of those from `first` on has a dtype."""
    terms = [body.term(value) for value in node.operands]
    exprs = [term.expr for term in terms]
    shape = body.type(node.results[0]).shape
    if all(term.weak for term in terms[first:]) or common_shape(term.shape for term in terms) != shape:
        exprs[first] = body.expr(node.operands[first])
    return exprs


def elementwise(make: Callable[..., Expr], accepts: Accepts) -> Printer:
    """A printer of an elementwise operation without attributes, on the dtypes that `accepts` says."""

    def printer(body: Body, node: Node) -> Printed:
        if own_attrs(node) or not accepts(body.type(node.operands[0]).dtype):
            return operation(body, node)
        if len(node.operands) == 1:
            return make(body.expr(node.operands[0]))
        return make(*operands(body, node))

    return printer


def function(name: str, accepts: Accepts = is_float) -> Printer:
    return elementwise(partial(call, name), accepts)


def operator(symbol: str, accepts: Accepts) -> Printer:
    return elementwise(partial(binary, symbol), accepts)


def prefix(symbol: str, accepts: Accepts) -> Printer:
    return elementwise(partial(unary, symbol), accepts)


_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def compare(body: Body, node: Node) -> Printed:
    if node.attrs.get("compare_type") == "TOTALORDER":
        return operation(body, node)
    return binary(_COMPARISONS[str(node.attrs["comparison_direction"])], *operands(body, node))


def convert(body: Body, node: Node) -> Printed:
    """astype(x, bf16); to bool the language compares with 0, which a conversion does not."""
    target = body.type(node.results[0]).dtype
    if target == "bool":
        return operation(body, node)
    return call("astype", body.expr(node.operands[0]), check_dtype(target, node.loc))


def select(body: Body, node: Node) -> Printed:
    exprs = operands(body, node, first=1)
    if body.term(node.operands[0]).weak:
        exprs[0] = body.expr(node.operands[0])
    return call("where", *exprs)


# ---- shapes


def constant(body: Body, node: Node) -> Term:
    value, type = cast(Dense, node.attrs["value"]), body.type(node.results[0])
    check_dtype(type.dtype, node.loc)
    if not value.is_splat and value.data.size != 1:
        return Term(array(value, type.dtype), type.shape)
    literal = number(value.data.reshape(-1)[0], type.dtype)
    return Term(literal, (), weak=True, literal=literal.text)


def reshape(body: Body, node: Node) -> Expr:
    """x[:, None] and x[0] where only ones come and go."""
    (value,) = node.operands
    before, after = body.type(value).shape, body.type(node.results[0]).shape
    wide, thin = (after, before) if len(after) > len(before) else (before, after)
    if len(wide) > len(thin) and tuple(n for n in wide if n != 1) == thin:
        trimmed = wide[: len(wide) - wide[::-1].index(1)]
        return index(body.expr(value), [":" if n != 1 else "None" if wide is after else "0" for n in trimmed])
    return call("reshape", body.expr(value), sizes(after))


def broadcast_in_dim(body: Body, node: Node) -> Printed:
    """The operand with the dimensions of size 1 that broadcasting needs to see."""
    (value,), shape = node.operands, body.type(node.results[0]).shape
    term, places = body.term(value), ints(node, "broadcast_dimensions")
    if term.weak:
        return term
    if list(places) != sorted(places):
        return operation(body, node)
    thin = dict(zip(places, body.type(value).shape, strict=True))
    expr, dims = body.expr(value), range(min(places, default=len(shape)), len(shape))
    if len(dims) > len(places):
        expr = index(expr, [":" if dim in thin else "None" for dim in dims])
    return Term(expr, tuple(thin.get(dim, 1) for dim in dims), free=term.free)


def transpose(body: Body, node: Node) -> Expr:
    order, value = ints(node, "permutation"), body.expr(node.operands[0])
    return attribute(value, "T") if order == (1, 0) else call("transpose", value, sizes(order))


def slice_(body: Body, node: Node) -> Printed:
    """x[2:6, ::2]"""
    shape, result = body.type(node.operands[0]).shape, body.type(node.results[0])
    if result.size == 0:
        return operation(body, node)
    keys = ("start_indices", "limit_indices", "strides")
    bounds = zip(*(ints(node, key) for key in keys), shape, strict=True)
    items = [_range(*bound) for bound in bounds]
    while len(items) > 1 and items[-1] == ":":
        items.pop()
    return index(body.expr(node.operands[0]), items)


def _range(start: int, limit: int, stride: int, size: int) -> str:
    text = f"{start or ''}:{limit if limit != size else ''}"
    return text if stride == 1 else f"{text}:{stride}"


def concatenate(body: Body, node: Node) -> Printed:
    if len(node.operands) == 1:
        return operation(body, node)
    parts = tuple_of([body.expr(value) for value in node.operands])
    return call("concatenate", parts, axis=str(node.attrs["dimension"]))


def reverse(body: Body, node: Node) -> Printed:
    dims = ints(node, "dimensions")
    if not dims or list(dims) != sorted(dims):
        return operation(body, node)
    return call("flip", body.expr(node.operands[0]), axis=axis(dims))


def iota(body: Body, node: Node) -> Expr:
    type = body.type(node.results[0])
    check_dtype(type.dtype, node.loc)
    if type.rank == 1 and type.size:
        dtype = keyword("dtype", type.dtype)
        return call("arange", raw(str(type.size)), *([dtype] if type.dtype != "i32" else []))
    return call("iota", type.dtype, sizes(type.shape), str(node.attrs["iota_dimension"]))


def pad(body: Body, node: Node) -> Printed:
    fill = body.term(node.operands[1])
    if not fill.weak or not is_plain_pad(node) or not body.type(node.operands[0]).rank:
        return operation(body, node)
    pairs = zip(ints(node, "edge_padding_low"), ints(node, "edge_padding_high"), strict=True)
    widths = tuple_of([sizes(pair) for pair in pairs])
    value = None if fill.literal in ("0", "0.0", "False") else fill.expr
    return call("pad", body.expr(node.operands[0]), widths, constant_values=value)


# ---- contractions and reductions


def dot_general(body: Body, node: Node) -> Printed:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    types = [body.type(value) for value in node.operands]
    dtypes = {type.dtype for type in (*types, body.type(node.results[0]))}
    precision = cast("tuple[str, ...]", node.attrs.get("precision_config", ()))
    in_order = list(dims.lhs_batching) == sorted(dims.lhs_batching)
    if len(dtypes) > 1 or "bool" in dtypes or set(precision) - {"DEFAULT"} or not in_order:
        return operation(body, node)
    left, right = (body.expr(value) for value in node.operands)
    ranks = [type.rank for type in types]
    if is_matmul(dims, *ranks):
        return binary("@", left, right)
    a, b, out = letters(dims, *ranks)
    return call("einsum", raw(f'"{a},{b}->{out}"'), left, right)


_REDUCTIONS: dict[str, tuple[str, Accepts]] = {
    "sum": ("sum", lambda dtype: dtype in _WIDE),
    "prod": ("prod", lambda dtype: dtype in _WIDE),
    "max": ("max", is_number),
    "min": ("min", is_number),
    "and": ("all", is_any),
    "or": ("any", is_any),
}
_WIDE = ("f64", "f32", "i64", "i32", "u64", "u32")


def is_named(body: Body, node: Node) -> bool:
    """Whether the reduction is of one array, from where the language starts it."""
    if len(node.results) != 1:
        return False
    kind = combiner(node.regions[0], body.graph) or ""
    type, dims = body.type(node.operands[0]), ints(node, "dimensions")
    if kind not in _REDUCTIONS or not _REDUCTIONS[kind][1](type.dtype):
        return False
    if not dims or list(dims) != sorted(dims) or any(type.shape[d] == 0 for d in dims):
        return False
    neutral = str(kind == "and") if kind in ("and", "or") else _neutral(kind, type.dtype)
    return body.term(node.operands[1]).literal == neutral


def _neutral(kind: str, dtype: str) -> str:
    return number(identity(kind, dtype), dtype).text


def reduction(body: Body, node: Node, keepdims: bool = False) -> Printed:
    """sum(x, axis=1)"""
    if not is_named(body, node):
        if not keepdims:
            return operation(body, node)
        reduced = operation(body, node)
        assert isinstance(reduced, Expr)
        return call("reshape", reduced, sizes(body.type(node.results[0]).shape))
    value, dims = node.operands[0], ints(node, "dimensions")
    name = _REDUCTIONS[combiner(node.regions[0], body.graph) or ""][0]
    whole = len(dims) == body.type(value).rank and not keepdims
    return call(
        name,
        body.expr(value),
        axis=None if whole else axis(dims),
        keepdims="True" if keepdims else None,
    )


def argument(kind: str) -> Printer:
    """argmax(x, axis=1)"""

    def printer(body: Body, node: Node) -> Expr:
        found = call(f"arg{kind}", body.expr(node.operands[0]), axis=str(node.attrs["axis"]))
        dtype = body.type(node.results[0]).dtype
        return found if dtype == "i32" else call("astype", found, dtype)

    return printer


def top_k(body: Body, node: Node) -> Printed:
    if body.type(node.results[1]).dtype != "i32" or set(own_attrs(node)) != {"k"}:
        return operation(body, node)
    return Several(call("top_k", body.expr(node.operands[0]), str(node.attrs["k"])))


def along(name: str, keywords: Sequence[str] = ()) -> Printer:
    """softmax(x, axis=-1)"""

    def printer(body: Body, node: Node) -> Expr:
        dims, value = ints(node, "dimensions"), node.operands[0]
        given = {key: "True" for key in keywords if node.attrs[key]}
        return call(name, body.expr(value), axis=axis(dims), **given)

    return printer


def gelu(body: Body, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("gelu", body.expr(node.operands[0]), approximate=exact)


def composite(name: str) -> Printer:
    """relu(x)"""

    def printer(body: Body, node: Node) -> Expr:
        return call(name, body.expr(node.operands[0]))

    return printer


_FLOATS = {
    "cbrt": "cbrt",
    "ceil": "ceil",
    "cosine": "cos",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "floor": "floor",
    "log": "log",
    "log_plus_one": "log1p",
    "logistic": "sigmoid",
    "round_nearest_even": "round",
    "rsqrt": "rsqrt",
    "sine": "sin",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "is_finite": "isfinite",
    "atan2": "arctan2",
}

TABLE: dict[str, Printer] = {
    **{f"stablehlo.{op}": function(name) for op, name in _FLOATS.items()},
    "chlo.erf": function("erf"),
    "stablehlo.abs": function("abs", is_signed),
    "stablehlo.sign": function("sign", is_number),
    "stablehlo.maximum": function("maximum", is_any),
    "stablehlo.minimum": function("minimum", is_any),
    "stablehlo.add": operator("+", is_number),
    "stablehlo.subtract": operator("-", is_number),
    "stablehlo.multiply": operator("*", is_number),
    "stablehlo.divide": operator("/", is_float),
    "stablehlo.power": operator("**", is_float),
    "stablehlo.and": operator("&", is_logical),
    "stablehlo.or": operator("|", is_logical),
    "stablehlo.xor": operator("^", is_logical),
    "stablehlo.not": prefix("~", is_logical),
    "stablehlo.negate": prefix("-", is_number),
    "stablehlo.compare": compare,
    "stablehlo.convert": convert,
    "stablehlo.select": select,
    "stablehlo.constant": constant,
    "stablehlo.reshape": reshape,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.transpose": transpose,
    "stablehlo.slice": slice_,
    "stablehlo.concatenate": concatenate,
    "stablehlo.reverse": reverse,
    "stablehlo.iota": iota,
    "stablehlo.pad": pad,
    "stablehlo.dot_general": dot_general,
    "stablehlo.reduce": reduction,
    "chlo.top_k": top_k,
    "idiom.keepdims": partial(reduction, keepdims=True),
    "idiom.argmax": argument("max"),
    "idiom.argmin": argument("min"),
    "group.relu": composite("relu"),
    "group.silu": composite("silu"),
    "group.softplus": composite("softplus"),
    "group.gelu": gelu,
    "group.softmax": along("softmax"),
    "group.log_softmax": along("log_softmax"),
    "group.mean": along("mean", ["keepdims"]),
}
