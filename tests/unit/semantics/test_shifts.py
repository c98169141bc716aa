"""Shifts by as many bits as there are, and by more."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.semantics import ops


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_shifts_by_as_many_bits_and_more_leave_zeros(dtype: type[np.integer]):
    bits, rng = np.dtype(dtype).itemsize * 8, np.random.default_rng(0)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 4096, dtype, endpoint=True)
    amounts = [0, 1, bits - 1, bits, bits + 1, 2 * bits, 100, int(info.max), int(info.min) % (1 << bits)]
    for amount in amounts:
        by = np.array(amount % (1 << bits), f"u{bits // 8}").view(dtype)
        shift = int(by.view(f"u{bits // 8}"))
        unsigned = [int(each) for each in x.view(f"u{bits // 8}")]
        left = [(each << shift) % (1 << bits) if shift < bits else 0 for each in unsigned]
        right = [each >> shift if shift < bits else 0 for each in unsigned]
        for each in (np.asarray(by), np.full(4096, by), np.broadcast_to(by, (4096,))):
            np.testing.assert_array_equal(ops.shift_left(x, each).view(f"u{bits // 8}"), left)
            np.testing.assert_array_equal(ops.shift_right_logical(x, each).view(f"u{bits // 8}"), right)
            assert ops.shift_left(x, each).dtype == dtype
    assert ops.shift_left(x[0], np.array(1, dtype)).shape == ()
