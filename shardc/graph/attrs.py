"""Attribute values of operations, as plain hashable Python.

Keys are StableHLO's property names. Integers, booleans and strings are themselves; arrays of integers are
tuples; `padding` is a tuple of (low, high); enums are their bare text ("LT", "FLOAT", "DEFAULT"). The
structured ones are the dataclasses here; their fields are StableHLO's.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

LETTERS = "shardc.letters"
"""An attribute that a dot_general may have: "bsd,dhk", what the source calls its operands' dimensions."""


class DotDims(Struct, frozen=True):
    """`dot_dimension_numbers` of dot_general."""

    lhs_batching: tuple[int, ...] = ()
    rhs_batching: tuple[int, ...] = ()
    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()

    @classmethod
    def of_dot(cls, lhs_rank: int) -> DotDims:
        """Those of StableHLO's dot, of vectors and matrices."""
        return cls((), (), (lhs_rank - 1,), (0,))


class GatherDims(Struct, frozen=True):
    """`dimension_numbers` of gather."""

    offset_dims: tuple[int, ...] = ()
    collapsed_slice_dims: tuple[int, ...] = ()
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    start_index_map: tuple[int, ...] = ()
    index_vector_dim: int = 0


class ScatterDims(Struct, frozen=True):
    """`scatter_dimension_numbers` of scatter."""

    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: int = 0


class ConvDims(Struct, frozen=True):
    """`dimension_numbers` of convolution."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


class Dense:
    """The value of a constant: an array, or a splat that is never expanded until somebody asks.

    Hashes and compares by dtype, shape and bits, so a NaN equals itself.
    """

    __slots__ = ("_hash", "data", "shape")

    def __init__(self, data: NDArray[np.generic], shape: tuple[int, ...]) -> None:
        """`data` has shape `shape`, or () for a splat of it."""
        self.data = data
        self.shape = shape
        self._hash = hash((shape, data.dtype.str, data.tobytes()))

    @property
    def is_splat(self) -> bool:
        return self.data.shape == ()

    @property
    def is_zero(self) -> bool:
        """Whether it is a splat of a zero without a sign."""
        return self.is_splat and not any(self.data.tobytes())

    def array(self) -> NDArray[np.generic]:
        """The full array; a splat is a broadcast view of one element."""
        return np.broadcast_to(self.data, self.shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Dense)
            and self.shape == other.shape
            and self.data.dtype == other.data.dtype
            and self.data.shape == other.data.shape
            and self.data.tobytes() == other.data.tobytes()
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Dense({self.data.tolist() if self.data.size < 8 else '…'}, shape={self.shape})"
