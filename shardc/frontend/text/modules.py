"""Functions with a module in front: `jnp.dot`, `lax.psum`, `jax.nn.relu`, where they are the same here."""

from __future__ import annotations

import numpy as np

from shardc.diagnostics import did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.scope import CONSTANTS, Scope

_OTHERWISE = {"block", "fft"}
"""Built-ins that mean something else in NumPy."""

_RENAMED = {"repeat": "repeat_interleave", "map": "tree_map"}
"""What is called as another built-in is, or has no module here."""

_NUMPY = frozenset(BUILTINS).intersection(dir(np)) - _OTHERWISE

_LAX = frozenset(
    """
    abs all_gather all_to_all associative_scan axis_index axis_size cbrt ceil complex cond conj cos erf exp
    exp2 expm1 floor fori_loop imag log log1p pbroadcast pcast pmax pmean pmin ppermute pshuffle psum
    psum_scatter pswapaxes real reciprocal rsqrt scan sign sin sqrt square switch tan tanh top_k while_loop
    """.split()
)
"""Others (max, argmax, sort, pad, concatenate) have other parameters in jax.lax."""

_NN = frozenset(
    """
    celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax logsumexp
    mish one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus squareplus standardize swish tanh
    """.split()
)

_FFT = frozenset("fft fft2 fftfreq fftshift ifft ifft2 ifftshift irfft rfft rfftfreq".split())

_LINALG = frozenset(
    """
    cholesky det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_transpose norm pinv qr slogdet solve
    svd
    """.split()
)

_RANDOM = frozenset(
    """
    bernoulli categorical choice exponential fold_in gumbel key normal permutation randint split uniform
    """.split()
)

MODULES = {
    "random": _RANDOM,
    "jax.random": _RANDOM,
    "jnp": _NUMPY,
    "jax.numpy": _NUMPY,
    "np": _NUMPY,
    "numpy": _NUMPY,
    "lax": _LAX,
    "jax.lax": _LAX,
    "jax": frozenset(
        {"tree_map", "vmap", "grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian"}
    ),
    "jax.tree": frozenset({"map"}),
    "jax.tree_util": frozenset({"tree_map"}),
    "jax.nn": _NN,
    "nn": _NN,
    **{f"{module}.fft": _FFT for module in ("jnp", "jax.numpy", "np", "numpy")},
    **{f"{module}.linalg": _LINALG for module in ("jnp", "jax.numpy", "np", "numpy")},
    **dict.fromkeys(("lax.linalg", "jax.lax.linalg"), frozenset({"triangular_solve"})),
    **dict.fromkeys(("jsp.linalg", "jax.scipy.linalg"), frozenset({"expm", "solve_triangular"})),
}


def from_module(scope: Scope, function: s.Attribute) -> str | None:
    """The built-in that `jnp.dot` is; None if no module stands in front. ShardcError if it means another."""
    module = path_of(function.value)
    if module is None or module.partition(".")[0] in scope.names:
        return None
    name = function.name
    if module not in MODULES:
        if name in BUILTINS and not _near(scope, module.partition(".")[0]):
            raise scope.e.error(
                f"unknown name {module}", f"{name} is built in: {name}(…)", function.value.pos
            )
        return None
    own = _RENAMED.get(name, name)
    if name in MODULES[module] and own in BUILTINS:
        return own
    if name in BUILTINS:
        raise scope.e.error(
            f"{module}.{name} is not {name} of this language", f"write {name}(…)", function.value.pos
        )
    raise scope.e.error(
        f"unknown function {module}.{name}", did_you_mean(name, MODULES[module]), function.value.pos
    )


def _near(scope: Scope, name: str) -> bool:
    """Whether a name stands for something, or is near one that does."""
    program = scope.program
    axes = [axis for mesh in program.meshes.values() for axis in mesh.sizes]
    values = (*scope.names, *program.known, *program.functions, *program.modules, *program.records)
    return name in BUILTINS or did_you_mean(name, (*values, *axes, *CONSTANTS)) is not None


def path_of(expr: s.Expr) -> str | None:
    """`jax.lax` as text."""
    if isinstance(expr, s.Name):
        return expr.id
    if isinstance(expr, s.Attribute):
        left = path_of(expr.value)
        return None if left is None else f"{left}.{expr.name}"
    return None
