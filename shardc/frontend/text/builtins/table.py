"""Every built-in function: its name in the language, and what builds it.

Those of one operation follow from its definition (derived.py), also from one that is registered later; the
others are listed here. The signature is that of the function: annotations say what each argument is (calls.py
has the kinds), and the first parameter, the emitter, is not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from shardc.frontend.text import gradients, jacobians, mapping
from shardc.frontend.text.builtins import (
    collectives,
    complex_numbers,
    control,
    convolution,
    counted,
    creation,
    diagonals,
    elementwise,
    fourier,
    gathers,
    linear_algebra,
    masks,
    norms,
    operators,
    padding,
    pooling,
    products,
    random,
    random_choices,
    raw,
    reductions,
    running,
    scans,
    shapes,
    sorting,
)
from shardc.frontend.text.builtins.derived import builtin_of
from shardc.frontend.text.builtins.numpy_names import NUMPY_NAMES
from shardc.ops import OpDef, definitions

_WRITTEN: dict[str, Callable[..., Any]] = {
    # elementwise maths
    "abs": elementwise.abs_,
    "clip": elementwise.clip,
    "exp2": elementwise.exp2,
    "negative": operators.negate,
    "reciprocal": elementwise.reciprocal,
    "square": elementwise.square,
    # complex numbers and Fourier transforms
    "angle": complex_numbers.angle,
    "complex": complex_numbers.complex_,
    "conj": complex_numbers.conj,
    "imag": complex_numbers.imag,
    "real": complex_numbers.real,
    "fft": fourier.fft,
    "fft2": fourier.fft2,
    "fftfreq": fourier.fftfreq,
    "fftshift": fourier.fftshift,
    "ifft": fourier.ifft,
    "ifft2": fourier.ifft2,
    "ifftshift": fourier.ifftshift,
    "irfft": fourier.irfft,
    "rfft": fourier.rfft,
    "rfftfreq": fourier.rfftfreq,
    # operators by name
    "add": operators.add,
    "subtract": operators.subtract,
    "multiply": operators.multiply,
    "floor_divide": operators.floor_divide,
    "remainder": operators.remainder,
    "power": operators.power,
    "equal": operators.BINARY["=="],
    "not_equal": operators.BINARY["!="],
    "less": operators.BINARY["<"],
    "less_equal": operators.BINARY["<="],
    "greater": operators.BINARY[">"],
    "greater_equal": operators.BINARY[">="],
    # logic and choice
    "isclose": elementwise.isclose,
    "isfinite": elementwise.isfinite,
    "isinf": elementwise.isinf,
    "isnan": elementwise.isnan,
    "where": elementwise.where,
    # activations
    "elu": elementwise.elu,
    "gelu": elementwise.gelu,
    "layer_norm": norms.layer_norm,
    "leaky_relu": elementwise.leaky_relu,
    "log_softmax": reductions.log_softmax,
    "logsumexp": reductions.logsumexp,
    "relu": elementwise.relu,
    "rms_norm": norms.rms_norm,
    "silu": elementwise.silu,
    "softmax": reductions.softmax,
    "softplus": elementwise.softplus,
    # contractions and windows
    "avg_pool": pooling.avg_pool,
    "conv": convolution.conv,
    "dot": products.dot,
    "einsum": products.einsum,
    "matmul": products.matmul,
    "max_pool": pooling.max_pool,
    "outer": products.outer,
    # linear algebra
    "cholesky": linear_algebra.cholesky,
    "det": linear_algebra.det,
    "eigh": linear_algebra.eigh,
    "eigvalsh": linear_algebra.eigvalsh,
    "inv": linear_algebra.inv,
    "qr": linear_algebra.qr,
    "slogdet": linear_algebra.slogdet,
    "solve": linear_algebra.solve,
    "solve_triangular": linear_algebra.solve_triangular,
    "svd": linear_algebra.svd,
    "triangular_solve": linear_algebra.triangular_solve,
    # reductions
    "all": reductions.all_,
    "any": reductions.any_,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "count_nonzero": reductions.count_nonzero,
    "max": reductions.max_,
    "mean": reductions.mean,
    "min": reductions.min_,
    "prod": reductions.prod,
    "std": reductions.std,
    "sum": reductions.sum_,
    "var": reductions.var,
    # shapes
    "broadcast_to": shapes.broadcast_to,
    "concatenate": shapes.concatenate,
    "expand": shapes.expand,
    "expand_dims": shapes.expand_dims,
    "flip": shapes.flip,
    "pad": padding.pad,
    "ravel": shapes.ravel,
    "repeat": shapes.repeat,
    "repeat_interleave": shapes.repeat_interleave,
    "reshape": shapes.reshape,
    "roll": shapes.roll,
    "split": random.split,
    "squeeze": shapes.squeeze,
    "stack": shapes.stack,
    "swapaxes": shapes.swapaxes,
    "tile": shapes.tile,
    "transpose": shapes.transpose,
    "tril": shapes.tril,
    "triu": shapes.triu,
    # computed places
    "argsort": sorting.argsort,
    "cummax": running.cummax,
    "cummin": running.cummin,
    "cumprod": running.cumprod,
    "cumsum": running.cumsum,
    "diagonal": diagonals.diagonal,
    "diff": running.diff,
    "dynamic_slice": gathers.dynamic_slice,
    "dynamic_update_slice": gathers.dynamic_update_slice,
    "one_hot": gathers.one_hot,
    "scatter_add": gathers.scatter_add,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.sort,
    "take": gathers.take,
    "take_along_axis": gathers.take_along_axis,
    "top_k": sorting.top_k,
    "trace": diagonals.trace,
    # what a mask chooses
    "compress": masks.compress,
    "extract": masks.extract,
    "flatnonzero": masks.flatnonzero,
    "nonzero": masks.nonzero,
    # choices and loops
    "associative_scan": scans.associative_scan,
    "cond": control.cond,
    "fori_loop": counted.fori_loop,
    "scan": counted.scan,
    "switch": control.switch,
    "tree_map": counted.tree_map,
    "while_loop": control.while_loop,
    # derivatives
    "grad": gradients.grad,
    "hessian": jacobians.hessian,
    "jacfwd": jacobians.jacfwd,
    "jacrev": jacobians.jacrev,
    "jvp": gradients.jvp,
    "stop_gradient": gradients.stop_gradient,
    "value_and_grad": gradients.value_and_grad,
    "vjp": gradients.vjp,
    "vmap": mapping.vmap,
    # random numbers
    "bernoulli": random.bernoulli,
    "categorical": random.categorical,
    "choice": random_choices.choice,
    "dropout": random.dropout,
    "exponential": random.exponential,
    "fold_in": random.fold_in,
    "gumbel": random.gumbel,
    "key": random.key,
    "normal": random.normal,
    "permutation": random_choices.permutation,
    "randint": random_choices.randint,
    "uniform": random.uniform,
    # creation and dtypes
    "arange": creation.arange,
    "array": creation.array,
    "astype": elementwise.astype,
    "eye": creation.eye,
    "full": creation.full,
    "full_like": creation.full_like,
    "iota": creation.iota,
    "linspace": creation.linspace,
    "meshgrid": creation.meshgrid,
    "ones": creation.filled_with(1),
    "ones_like": creation.like(1),
    "zeros": creation.filled_with(0),
    "zeros_like": creation.like(0),
    # collectives, in @shard_map functions
    "all_gather": collectives.of_each(collectives.all_gather),
    "all_to_all": collectives.of_each(collectives.all_to_all),
    "ragged_all_to_all": collectives.ragged_all_to_all,
    "axis_index": collectives.axis_index,
    "axis_size": collectives.axis_size,
    "block": collectives.block,
    "pbroadcast": collectives.of_each(collectives.pbroadcast),
    "pcast": collectives.of_each(collectives.pcast),
    "pmax": collectives.of_each(collectives.reduction("max")),
    "pmean": collectives.of_each(collectives.pmean),
    "pmin": collectives.of_each(collectives.reduction("min")),
    "ppermute": collectives.of_each(collectives.ppermute),
    "pshuffle": collectives.of_each(collectives.pshuffle),
    "pswapaxes": collectives.of_each(collectives.pswapaxes),
    "psum": collectives.psum,
    "psum_scatter": collectives.of_each(collectives.scattered("sum")),
    "pmax_scatter": collectives.of_each(collectives.scattered("max")),
    "pmin_scatter": collectives.of_each(collectives.scattered("min")),
    "pvary": collectives.of_each(collectives.pvary),
    "to_partial": collectives.to_partial,
    # anything else
    "op": raw.op,
    **NUMPY_NAMES,
}
"""The functions that are more than one operation, or take more than operands."""


class _Builtins(Mapping[str, Callable[..., Any]]):
    """The functions written here, and those that definitions of operations name now."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return _WRITTEN[name] if name in _WRITTEN else builtin_of(_operation(name))

    def __iter__(self) -> Iterator[str]:
        spelled = (operation.spelling.language for operation in definitions())
        return iter((*_WRITTEN, *(name for name in spelled if name and name not in _WRITTEN)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _operation(name: str) -> OpDef:
    """The operation that the built-in is. KeyError if it is none, which is not remembered."""
    for operation in definitions():
        if operation.spelling.language == name:
            return operation
    raise KeyError(name)


BUILTINS: Mapping[str, Callable[..., Any]] = _Builtins()
