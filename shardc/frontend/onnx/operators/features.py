"""Features of classical machine learning: counts of n-grams, thresholds, columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, compare, concat, literal, mul, slice_, vector
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.builtins.reductions import reduce
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def _binarizer(n: Node) -> Tensor:
    x = n.x(0)
    return n.e.cast(compare(n.e, "GT", x, n.float("threshold")), x.dtype)


def _columns(n: Node) -> Tensor:
    """Elements of the last axis at the indices; a vector becomes a matrix of one row."""
    e, x, indices = n.e, n.x(0), n.x(1)
    if not x.rank:
        raise Invalid("a tensor without axes has no columns")
    found = take(e, x, e.reshape(indices, (indices.type.size,)), x.rank - 1)
    return e.reshape(found, (1, indices.type.size)) if x.rank == 1 else found


def _vectorizer(n: Node) -> Tensor:
    """How often each n-gram of the pool stands in a row, its items `skip` apart."""
    e, x = n.e, n.x(0)
    if "pool_int64s" not in n.attributes:
        raise n.unsupported("of strings")
    if not 1 <= x.rank <= 2:
        raise Invalid(f"{n.op} of {x.type}: rows of numbers")
    rows = e.cast(x if x.rank == 2 else e.reshape(x, (1, *x.shape)), "i64")
    places = n.ints("ngram_indexes") or ()
    counts: list[Tensor] = []
    order: list[int] = []
    for grams, numbers in list(_pool(n)):
        counts.append(_counted(e, rows, grams, n.parts(n.int("max_skip_count"))))
        order += [places[number] for number in numbers]
    width = n.places(max(places, default=-1) + 1)
    if len(set(order)) < len(order) or min(order, default=0) < 0:
        raise n.unsupported("with several n-grams at one place of the result")
    at = np.full(width, len(order))
    at[order] = np.arange(len(order))
    none = e.splat(0.0, TensorType((rows.shape[0], 1), "f32"))
    result = take(e, concat(e, [*counts, none], 1), vector(e, at), 1)
    weights = n.attributes.get("weights")
    mode = n.text("mode")
    if mode == "IDF":
        result = e.cast(compare(e, "GT", result, 0), "f32")
    if weights and mode != "TF":
        if len(weights) != width:
            raise Invalid(f"{len(weights)} weights for {width} places")
        result = mul(
            e, result, e.broadcast_in_dim(literal(e, np.array(weights, np.float32)), result.shape, (1,))
        )
    return e.reshape(result, (width,)) if x.rank == 1 else result


def _pool(n: Node) -> Iterator[tuple[np.ndarray, list[int]]]:
    """The n-grams of each size that counts, a row each, and their numbers; of equal ones the last."""
    pool, starts = n.ints("pool_int64s") or (), n.ints("ngram_counts") or ()
    ends = (*starts[1:], len(pool))
    first = 0
    for size, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % size:
            raise Invalid(f"{n.op} has n-grams of size {size} from {start} to {end} of {len(pool)}")
        grams = np.array(pool[start:end], np.int64).reshape(-1, size)
        if n.int("min_gram_length") <= size <= n.int("max_gram_length") and len(grams):
            last = {tuple(gram): number for number, gram in enumerate(grams.tolist())}
            numbers = sorted(last.values())
            yield grams[numbers], [first + number for number in numbers]
        first += len(grams)
    if first != len(n.ints("ngram_indexes") or ()):
        raise Invalid(f"{n.op} has {first} n-grams and {len(n.ints('ngram_indexes') or ())} places")


def _counted(e: Emitter, rows: Tensor, grams: np.ndarray, skips: int) -> Tensor:
    """The number of each n-gram in every row: f32[rows, n-grams]."""
    total = e.splat(0.0, TensorType((rows.shape[0], len(grams)), "f32"))
    size = grams.shape[1]
    for distance in range(1, 2 + skips if size > 1 else 2):
        span = rows.shape[1] - (size - 1) * distance
        if span < 1:
            break
        shape = (rows.shape[0], span, len(grams))
        found = e.splat(True, TensorType(shape, "bool"))
        for item in range(size):
            window = slice_(e, rows, 1, item * distance, item * distance + span)
            here = e.broadcast_in_dim(window, shape, (0, 1))
            wanted = e.broadcast_in_dim(vector(e, grams[:, item], "i64"), shape, (2,))
            found = e.op(hlo.and_.name, found, compare(e, "EQ", here, wanted))
        total = add(e, total, reduce(e, "sum", e.cast(found, "f32"), (1,), False))
    return total


OPERATORS: dict[str, Lower] = {
    "TfIdfVectorizer": _vectorizer,
    "ai.onnx.ml:Binarizer": _binarizer,
    "ai.onnx.ml:ArrayFeatureExtractor": _columns,
}
