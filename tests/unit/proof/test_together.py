"""What is done to the blocks of all devices at once is what each device does alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from shardc.graph import Op, TensorType
from shardc.ops import hlo
from shardc.proof import values
from shardc.proof.draws import Draw
from shardc.proof.evaluate import TABLES
from shardc.proof.order import ordered
from shardc.proof.table import meanings
from shardc.proof.together import stacked
from shardc.semantics.arrays import Array

DEVICES = 5

MEANINGS = TABLES
"""What must have been imported."""


def _op(combiner: str | None, dtype: str = "f32", dims: tuple[int, ...] = (0, 2)) -> Op:
    operands = TensorType((3, 4, 2), dtype), TensorType((), dtype)
    kept = tuple(size for dim, size in enumerate((3, 4, 2)) if dim not in dims)
    return Op(hlo.reduce.name, operands, (TensorType(kept, dtype),), {"dimensions": dims}, combiner)


def _rows(start: Sequence[Array], dtype: str = "f32") -> list[list[Array]]:
    rng = np.random.default_rng(0)
    if dtype == "i32":
        return [[rng.integers(-9, 9, (3, 4, 2)).astype(np.int32), each] for each in start]
    return [[values.draw(rng, (3, 4, 2), rng.standard_normal((3, 4, 2))), each] for each in start]


@pytest.mark.parametrize("kind", ["mixed", "any order"])
@pytest.mark.parametrize(("combiner", "start"), [("sum", 2.0), ("max", -np.inf), ("min", np.inf)])
def test_reductions_of_all_devices_at_once(combiner: str, start: float, kind: str) -> None:
    draw, op = Draw(1, kind), _op(combiner)
    rows = _rows([values.whole(np.asarray(start))] * DEVICES)
    known = meanings(draw)
    computes = known(op.name)
    assert computes is not None
    with ordered(draw.order()):
        found = stacked(known)(op, rows)
        alone = [computes(op, row)[0] for row in rows]
    assert found is not None
    for (one,), other in zip(found, alone, strict=True):
        assert one.shape == other.shape == (4,) and values.same(one, other).all()


def test_integers_at_once() -> None:
    op = _op("max", "i32", (1,))
    rows = _rows([np.asarray(-100, np.int32)] * DEVICES, "i32")
    found = stacked(meanings(Draw(1)))(op, rows)
    assert found is not None
    for (one,), (array, _) in zip(found, rows, strict=True):
        assert (one == array.max(axis=1)).all()


def test_what_is_not_the_same_on_all_devices_is_done_apart() -> None:
    starts = [values.whole(np.asarray(float(number))) for number in range(DEVICES)]
    together = stacked(meanings(Draw(1)))
    assert together(_op("sum"), _rows(starts)) is None
    assert together(_op(None), _rows([starts[0]] * DEVICES)) is None
