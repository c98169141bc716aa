"""Slices, pads, gathers, windows and sorts of any geometry, against loops that follow the specification."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.graph import GatherDims, ScatterDims, TensorType
from shardc.ops import infer
from shardc.semantics import ops
from tests.builders import ArrayBuilder
from tests.sampling import examples

SMALL = settings(max_examples=examples(150), deadline=None)


def counted(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape) + 1


def typed(array):
    return TensorType(array.shape, {"int32": "i32", "bool": "bool"}[array.dtype.name])


@given(st.data())
@SMALL
def test_slice_takes_every_stride_th(data):
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    starts = [data.draw(st.integers(0, size)) for size in shape]
    limits = [data.draw(st.integers(start, size)) for start, size in zip(starts, shape, strict=True)]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    x = counted(shape)
    attrs = {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": tuple(strides)}
    result = ops.slice_(x, **attrs)
    picked = [range(a, b, s) for a, b, s in zip(starts, limits, strides, strict=True)]
    np.testing.assert_array_equal(result, x[np.ix_(*map(list, picked))] if x.size else result)
    assert infer("stablehlo.slice", [typed(x)], attrs) == (typed(result),)


@given(st.data())
@SMALL
def test_pad_puts_elements_where_the_specification_says(data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2))
    interior = [data.draw(st.integers(0, 2)) for _ in shape]
    spread = [n + max(n - 1, 0) * gap for n, gap in zip(shape, interior, strict=True)]
    low = [data.draw(st.integers(-n, 3)) for n in spread]
    high = [data.draw(st.integers(-(n + a), 3)) for n, a in zip(spread, low, strict=True)]
    x = counted(shape)
    attrs = {
        "edge_padding_low": tuple(low),
        "edge_padding_high": tuple(high),
        "interior_padding": tuple(interior),
    }
    (expected_type,) = infer("stablehlo.pad", [typed(x), TensorType((), "i32")], attrs)
    expected = np.full(expected_type.shape, -1, np.int32)
    for index in np.ndindex(*shape):
        where = tuple(a + i * (gap + 1) for i, a, gap in zip(index, low, interior, strict=True))
        if all(0 <= i < n for i, n in zip(where, expected.shape, strict=True)):
            expected[where] = x[index]
    np.testing.assert_array_equal(ops.pad(x, np.asarray(-1, np.int32), **attrs), expected)


def gather_by_loops(x, indices, dims, sizes):
    """The specification's definition, element by element."""
    attrs = {"dimension_numbers": dims, "slice_sizes": sizes}
    (type,) = infer("stablehlo.gather", [typed(x), typed(indices)], attrs)
    result = np.zeros(type.shape, x.dtype)
    for place in np.ndindex(*type.shape):
        batch = [place[d] for d in range(type.rank) if d not in dims.offset_dims]
        at = [*batch[: dims.index_vector_dim], slice(None), *batch[dims.index_vector_dim :]]
        vector = indices[tuple(at)] if dims.index_vector_dim < indices.ndim else indices[tuple(batch)][None]
        offsets = [place[d] for d in dims.offset_dims]
        element = []
        for d in range(x.ndim):
            full = 0
            if d in dims.start_index_map:
                start = int(vector[dims.start_index_map.index(d)])
                full += min(max(start, 0), x.shape[d] - sizes[d])
            if d in dims.operand_batching_dims:
                source = dims.start_indices_batching_dims[dims.operand_batching_dims.index(d)]
                full += batch[source - (source > dims.index_vector_dim)]
            elif d not in dims.collapsed_slice_dims:
                full += offsets.pop(0)
            element.append(full)
        result[place] = x[tuple(element)]
    return result


@st.composite
def gathers(draw):
    """Operand, indices and dimension numbers of a gather with every feature."""
    batched = draw(st.integers(0, 1))
    window = draw(st.integers(0, 2))
    indexed = draw(st.integers(1, 2))
    order = draw(st.permutations(["batch"] * batched + ["window"] * window + ["index"] * indexed))
    shape = [draw(st.integers(1, 4)) for _ in order]
    roles = {
        name: [d for d, role in enumerate(order) if role == name] for name in ("batch", "window", "index")
    }
    collapsed = [d for d in roles["index"] if draw(st.booleans())]
    sizes = [
        1 if role == "batch" or d in collapsed else draw(st.integers(1, shape[d]))
        for d, role in enumerate(order)
    ]
    batch = [shape[d] for d in roles["batch"]] + [draw(st.integers(0, 3))]
    vector_dim = draw(st.integers(0, len(batch)))
    index_shape = [*batch[:vector_dim], indexed, *batch[vector_dim:]]
    indices = np.array(
        draw(st.lists(st.integers(-3, 6), min_size=(n := int(np.prod(index_shape))), max_size=n))
    )
    kept = [d for d in range(len(shape)) if d not in collapsed and d not in roles["batch"]]
    rank = len(batch) + len(kept)
    offset_dims = sorted(draw(st.permutations(range(rank)))[: len(kept)])
    dims = GatherDims(
        tuple(offset_dims),
        tuple(collapsed),
        tuple(roles["batch"]),
        (0 if vector_dim > 0 else 1,) * batched,
        tuple(draw(st.permutations(roles["index"]))),
        vector_dim,
    )
    return counted(shape), indices.reshape(index_shape).astype(np.int32), dims, tuple(sizes)


@given(gathers())
@SMALL
def test_gather_follows_the_specification(case):
    x, indices, dims, sizes = case
    result = ops.gather(x, indices, dimension_numbers=dims, slice_sizes=sizes)
    np.testing.assert_array_equal(result, gather_by_loops(x, indices, dims, sizes))


@given(gathers())
@SMALL
def test_scatter_of_what_gather_reads_counts_the_readers(case):
    x, indices, dims, sizes = case
    updates = np.ones(ops.gather(x, indices, dimension_numbers=dims, slice_sizes=sizes).shape, np.int32)
    scatter_dims = ScatterDims(
        dims.offset_dims,
        dims.collapsed_slice_dims,
        dims.operand_batching_dims,
        dims.start_indices_batching_dims,
        dims.start_index_map,
        dims.index_vector_dim,
    )
    vectors = np.moveaxis(indices, dims.index_vector_dim, -1)
    inside = np.ones(vectors.shape[:-1], bool)
    for position, d in enumerate(dims.start_index_map):
        inside &= (vectors[..., position] >= 0) & (vectors[..., position] <= x.shape[d] - sizes[d])
    (counts,) = ops.scatter([x * 0], indices, [updates], scatter_dimension_numbers=scatter_dims, kind="sum")
    window = np.prod([sizes[d] for d in range(x.ndim)], dtype=int)
    assert counts.sum() == inside.sum() * window
    (again,) = ops.scatter(
        [x * 0], indices, [updates], lambda a, b: [a + b], scatter_dimension_numbers=scatter_dims
    )
    np.testing.assert_array_equal(again, counts)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), max_size=40))
@SMALL
def test_sort_by_any_order_is_stable(pairs):
    first = np.array([a for a, _ in pairs], np.int32)
    second = np.array([b for _, b in pairs], np.int32)
    number = np.arange(len(pairs), dtype=np.int32)
    scalars = [TensorType((), "i32")] * 6

    def by_square_then_second_descending(b, a1, a2, b1, b2, n1, n2):
        one = [b.one("stablehlo.multiply", a, a) for a in (a1, a2)]
        less = b.one("stablehlo.compare", *one, comparison_direction="LT")
        equal = b.one("stablehlo.compare", *one, comparison_direction="EQ")
        greater = b.one("stablehlo.compare", b1, b2, comparison_direction="GT")
        return [b.one("stablehlo.or", less, b.one("stablehlo.and", equal, greater))]

    _, _, order = ArrayBuilder().op(
        "stablehlo.sort",
        first,
        second,
        number,
        dimension=0,
        is_stable=True,
        regions=[(scalars, by_square_then_second_descending)],
    )
    expected = sorted(range(len(pairs)), key=lambda i: (pairs[i][0] ** 2, -pairs[i][1]))
    assert order.tolist() == expected


@given(st.data())
@SMALL
def test_reduce_window_reduces_every_window(data):
    shape = [data.draw(st.integers(1, 6)) for _ in range(2)]
    window = [data.draw(st.integers(1, 3)) for _ in shape]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    dilations = [data.draw(st.integers(1, 2)) for _ in shape]
    spread = [data.draw(st.integers(1, 2)) for _ in shape]
    padding = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in shape]
    x = counted(shape)
    attrs = {
        "window_dimensions": tuple(window),
        "window_strides": tuple(strides),
        "base_dilations": tuple(spread),
        "window_dilations": tuple(dilations),
        "padding": tuple(padding),
    }
    zero = np.zeros((), np.int32)
    (type,) = infer("stablehlo.reduce_window", [typed(x), typed(zero)], attrs)
    result = ops.reduce_window(x, zero, kind="sum", **attrs)
    assert result.shape == type.shape
    gaps = [factor - 1 for factor in spread]
    low, high = [a for a, _ in padding], [b for _, b in padding]
    padded = ops.pad(x, zero, edge_padding_low=low, edge_padding_high=high, interior_padding=gaps)
    for place in np.ndindex(*type.shape):
        axes = [
            range(i * s, i * s + n * d, d)
            for i, s, n, d in zip(place, strides, window, dilations, strict=True)
        ]
        assert result[place] == sum(padded[element] for element in product(*axes))
    general = ops.reduce_window_with([x], [zero], lambda a, b: [a + b], **attrs)[0]
    np.testing.assert_array_equal(general, result)
