"""Python names for values: the source's where they can be, never one that would shadow something.

All program text that reaches the output does so through `identifier`, repr() or `printable`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shardc.diagnostics import Location

_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())
_MODULES = frozenset(
    "jax jnp lax np base64 ml_dtypes ops Mesh P NamedTuple emulate comm".split()
    + "mesh main main_local device_main run run_on_whole run_on_blocks emulate_devices".split()
    + "own_bernoulli own_gumbel own_exponential own_normal own_uniform own_bits own_randint".split()
    + "own_threefry2x32 threefry2x32_p one_device host_functions".split()
    + "MPI Comm AXES GROUPS DEVICES PARAMS RESULTS".split()
    + "DotDims GatherDims ScatterDims ConvDims".split()
)
RESERVED = frozenset(keyword.kwlist) | _BUILTINS | _MODULES
_JAX_PRIMITIVES = frozenset(
    """
    abs acos acosh add add_any all_gather all_gather_invariant all_to_all and approx_top_k argmax argmin
    argsort asin asinh atan atan2 atanh axis_index bessel_i0e bessel_i1e bitcast_convert_type
    broadcast_in_dim broadcast_to cbrt ceil cholesky cholesky_update clamp closed_call clz complex
    concatenate cond conj conv_general_dilated convert_element_type copy cos cosh cumlogsumexp cummax
    cummin cumprod cumsum custom_jvp_call custom_linear_solve custom_vjp_call digamma div dot_general
    dynamic_slice dynamic_update_slice eq erf erf_inv erfc exp exp2 expm1 fft floor gather ge geqp3 geqrf
    gt hessenberg householder_product igamma igamma_grad_a igammac imag integer_pow io_callback iota
    is_finite jit le lgamma log log1p log2 logistic lt lu_pivots_to_permutation max min mul mulhi ne neg
    nextafter not one_minus_square optimization_barrier or ormqr pad pbroadcast pjit pmax pmin polygamma
    polynomial population_count pow ppermute psum psum_invariant pure_callback pvary ragged_all_to_all
    ragged_dot_general random_bits random_gamma real reduce reduce_and reduce_max reduce_min reduce_or
    reduce_precision reduce_prod reduce_scatter reduce_sum reduce_window reduce_window_max
    reduce_window_min reduce_window_sum reduce_xor regularized_incomplete_beta rem remat remat2 reshape
    reshard rev rng_bit_generator rng_uniform round rsqrt scan scatter scatter-add scatter-max scatter-min
    scatter-mul scatter-sub scatter_add scatter_max scatter_min scatter_mul scatter_sub
    select_and_gather_add select_and_scatter select_and_scatter_add select_n shard_map sharding_constraint
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice sort split sqrt square
    squeeze stop_gradient sub symmetric_product tan tanh threefry2x32 top_k transpose triangular_solve
    tridiagonal tridiagonal_solve while xor zeros_like zeta
    """.split()
)
"""JAX's names of its primitives, which are not the operations' names."""
_GENERATED = re.compile(r"(arg|iterArg_?|cst_?|_)\d*|p?jit[_(].*")


_LONGEST, _LONGEST_TEXT = 60, 1000
"""The characters that a name may have, and those of a text that is read."""
_PATH = re.compile(r"\w+(\[\d+\]|\['[^'\]]*'\]|\.\w+|\[<flat index \d+>\])+", re.ASCII)


def identifier(text: str | None) -> str | None:
    """`text` as an ASCII identifier that is safe to assign to: lambda -> lambda_, params['w'] -> params_w.

    None for what is no name a person gave: nothing at all, a path such as jit(f)/add, iterArg_3.
    """
    if text is None or len(text) > _LONGEST_TEXT or _GENERATED.fullmatch(text):
        return None
    if "/" in text and not _PATH.fullmatch(text):
        return None
    words = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if len(words) > _LONGEST:
        words = _shortened(text)
    if not words:
        return None
    if words[0].isdigit():
        words = "x" + words
    return words + "_" if words in RESERVED else words


def _shortened(text: str) -> str:
    """The ends of a long path in a tree: opt[0].mu['params']['block_0']['w'] -> opt_mu_block_0_w.

    Names of attributes stay, as all moments of an optimizer have equal ends. Empty for a text that is no
    path, or whose parts are too long.
    """
    parts = re.findall(r"\.?[A-Za-z0-9_]+", text)
    if not _PATH.fullmatch(text):
        return ""
    kept = {0, len(parts) - 1, *(i for i, part in enumerate(parts) if part.startswith("."))}
    for i in reversed(range(len(parts))):
        if len(_joined(parts, kept | {i})) > _LONGEST:
            break
        kept.add(i)
    words = _joined(parts, kept)
    return words if len(words) <= _LONGEST else ""


def _joined(parts: Sequence[str], kept: Iterable[int]) -> str:
    return "_".join(parts[i].lstrip(".") for i in sorted(kept))


def quoted(text: str) -> str:
    """The text as a Python string in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not (escaped.isascii() and escaped.isprintable()):
        pairs = ((c, c.encode("unicode_escape").decode("ascii")) for c in escaped)
        escaped = "".join([c if " " <= c <= "~" else code for c, code in pairs])
    return f'"{escaped}"'


def printable(text: str) -> str:
    """The text on one line, for a comment or docstring: control characters and backslashes are escaped."""
    escaped = "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode("ascii") for c in text
    )
    return escaped.replace('"""', '\\"\\"\\"')


def source_name(loc: Location) -> str | None:
    """The name a person gave to an operation's result. JAX puts the names of its primitives there."""
    by_person = (loc.file or "").endswith(".shard")
    return None if loc.name in _JAX_PRIMITIVES and not by_person else identifier(loc.name)


class Names:
    """The names in use in one Python scope.

    A name is free again when nothing that is still to be printed reads it, so `x = f(x)` keeps its x.
    """

    def __init__(self, pinned: Iterable[str] = ()) -> None:
        self._pinned = set(pinned)
        self._readers: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        """For each wish the first number that may be free."""
        self._passed: dict[str, dict[str, int]] = {}
        """Names that were taken, with the wishes and numbers that they would have been for."""

    def hold(self, names: Iterable[str]) -> None:
        """Something yet to be printed reads these names."""
        self._readers.update(names)

    def release(self, names: Iterable[str]) -> None:
        """It has been printed."""
        for name in names:
            self._readers[name] -= 1
            if self._readers[name] == 0:
                for wish, number in self._passed.pop(name, {}).items():
                    self._first[wish] = min(self._first[wish], number)

    def is_read(self, name: str) -> bool:
        """Whether something yet to be printed reads it."""
        return self._readers[name] > 0

    def pin(self, name: str) -> None:
        """Never give this name again."""
        self._pinned.add(name)

    def taken(self, wish: str) -> str:
        """A name like `wish`, which is never given again."""
        chosen = self.fresh(wish)
        self.pin(chosen)
        return chosen

    def fresh(self, wish: str) -> str:
        """`wish`, or wish_1, wish_2, … where it is taken."""
        number = self._first.get(wish, 0)
        while self._is_taken(name := f"{wish}_{number}" if number else wish):
            self._passed.setdefault(name, {})[wish] = number
            number += 1
        self._first[wish] = number
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._pinned or self._readers[name] > 0 or name in RESERVED
