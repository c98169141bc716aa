"""Functions of JAX's own, which its text has beside those that a program's author wrote.

    func.func private @_where(%arg0: tensor<f32>, %arg1: tensor<8xi1>, %arg2: tensor<8xf32>) { … }

Their operations are written where they are called: `jnp.where(…)` again, not a function of one line.
"""

from __future__ import annotations

import re

_NAMES = frozenset(
    """
    absolute allclose append apply_along_axis argmax argmin argsort around atleast_1d average
    bincount bitwise_and broadcast_arrays broadcast_to ceil checkpoint_name cholesky clip
    concatenate copysign count_nonzero cov cross cummax cummin cumprod cumsum delete det diag
    diagonal diff digitize divmod dynamic_index_in_dim dynamic_slice_in_dim
    dynamic_update_index_in_dim dynamic_update_slice_in_dim eigh eigvalsh elu expand_dims expit eye
    fix fliplr flipud float_power floor floor_divide fmod full_like gather gelu geomspace gradient
    hypot inner interp inv isclose isfinite isin isinf isnan kron leaky_relu left_shift linspace
    log_sigmoid log_softmax logaddexp logaddexp2 logsumexp lstsq lu_solve matmul maximum mean median
    minimum mod moveaxis nan_to_num nanmax nanmean nanmin nansum norm one_hot outer pad power ptp
    ravel relu relu6 rem remainder repeat reshape rint roll roll_dynamic roll_static rot90 round
    select selu sigmoid sign silu slogdet softmax softplus solve sort split square
    squared_difference squareplus squeeze stack std svd svdvals swapaxes swish take take_along_axis
    tanh tensordot tile trace trapezoid tri tril triu true_divide unwrap vander var vdot where
    """.split()
)
_LARGEST = 40
_ONE_CALL = frozenset({"closed_call", "searchsorted", "searchsorted_scan_impl"})
"""What is written as one call again, however large."""


def is_library(name: str, size: int) -> bool:
    """Whether a function of `size` operations, by JAX's name for it (`_where_3`), is JAX's own."""
    plain = re.sub(r"_\d+$", "", name).strip("_")
    return plain in _ONE_CALL or (plain in _NAMES and size <= _LARGEST)
