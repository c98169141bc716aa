"""What integers of an emitted text can be, as far as the text says: the least and the greatest.

    i = np.int32(11) - np.clip(x, 0, 5)      6 to 11
    np.array([1, 2, 1, 0])[position]         0 to 2

So an array may be indexed by them where NumPy would count other places from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from shardc.graph import Dense
from shardc.graph.types import TensorType
from shardc.layout import Axis
from shardc.layout.axes import size_of
from shardc.ops import OpDef, hlo, spmd

Range = tuple[int, int]

Attrs = Mapping[str, object]

_MOST = 1 << 10
"""Elements of a constant that are looked at."""


def range_of(
    definition: OpDef, found: Sequence[Range | None], given: Attrs, type: TensorType
) -> Range | None:
    """What an operation's result can be, from what its operands can; None where that is not known, or where
    it may wrap.
    """
    if type.numpy.kind not in "iu" or definition.name not in _RULES:
        return None
    result = _RULES[definition.name](found, given, type)
    info = np.iinfo(type.numpy)
    return result if result is not None and info.min <= result[0] and result[1] <= info.max else None


def _constant(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    data = cast(Dense, given["value"]).data
    return (int(data.min()), int(data.max())) if 0 < data.size <= _MOST else None


def _position(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    return 0, size_of(cast("tuple[Axis, ...]", given["axes"])) - 1


def _iota(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    return 0, max(0, type.shape[cast(int, given["iota_dimension"])] - 1)


def _same(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    return found[0]


def _any_of(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _chosen(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    return _any_of(found[1:], given, type)


def _clamped(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
    """The greater of it and the least, then the lesser of that and the greatest."""
    least, _, most = found
    return None if least is None or most is None else (min(least[0], most[0]), most[1])


def _by(combine: Callable[[int, int], int]) -> Callable[..., Range | None]:
    """Of two operands: the extremes are among those of their ends."""

    def rule(found: Sequence[Range | None], given: Attrs, type: TensorType) -> Range | None:
        left, right = found
        if left is None or right is None:
            return None
        ends = [combine(a, b) for a in left for b in right]
        return min(ends), max(ends)

    return rule


_RULES: dict[str, Callable[[Sequence[Range | None], Attrs, TensorType], Range | None]] = {
    hlo.constant.name: _constant,
    hlo.iota.name: _iota,
    spmd.axis_index.name: _position,
    hlo.add.name: _by(lambda a, b: a + b),
    hlo.subtract.name: _by(lambda a, b: a - b),
    hlo.multiply.name: _by(lambda a, b: a * b),
    hlo.maximum.name: _by(max),
    hlo.minimum.name: _by(min),
    hlo.select.name: _chosen,
    hlo.clamp.name: _clamped,
    hlo.concatenate.name: _any_of,
    **dict.fromkeys(
        (
            definition.name
            for definition in (
                hlo.broadcast_in_dim,
                hlo.convert,
                hlo.dynamic_slice,
                hlo.reshape,
                hlo.slice_,
                hlo.transpose,
            )
        ),
        _same,
    ),
}
