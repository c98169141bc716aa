"""The names of the .shard language that printers write: no value and no function may have one of them."""

from __future__ import annotations

from shardc.ops import definitions

_WRITTEN_BY_PRINTERS = """
abs all all_gather all_to_all any arange argmax argmin array astype axis_index block broadcast_to complex
concatenate cond conj einsum fft flip full gelu ifft imag iota irfft isfinite log_softmax max mean min ones op
pad pbroadcast pcast pmax pmax_scatter pmin pmin_scatter ppermute prod psum psum_scatter ragged_all_to_all
real relu reshape rfft sigmoid silu softmax softplus sum switch to_partial top_k transpose where while_loop
zeros
""".split()
_CONSTANTS = "inf nan pi range True False None".split()


def _spelled() -> set[str]:
    """The built-ins that definitions name, and that are written as such: operators are not."""
    spellings = [definition.spelling for definition in definitions()]
    return {
        spelling.language
        for spelling in spellings
        if spelling.language is not None and spelling.jax is not None and spelling.jax[0].isalpha()
    }


VOCABULARY = frozenset((*_WRITTEN_BY_PRINTERS, *_CONSTANTS, *_spelled()))
