"""What stands for np.fft while an emitted text is read: transforms over the last dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.ops import hlo
from shardc.proof.reading.recorded import Recorded, Recorder, dim_of
from shardc.proof.values import Beyond

_COMPLEX = {"f32": "c64", "f64": "c128"}
"""NumPy transforms floats as complex numbers of their width."""

Lengths = Sequence[int] | None


class FourierNames:
    """`np.fft`. A name that is not here raises Beyond."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __getattr__(self, name: str) -> Callable[..., Recorded]:
        kind = name.removesuffix("n")
        if kind not in ("fft", "ifft", "rfft", "irfft"):
            raise Beyond(f"the name np.fft.{name} in an emitted text")

        def one(array: Recorded, n: int | None = None) -> Recorded:
            return self._transformed(kind, array, None if n is None else (n,), (-1,))

        def several(array: Recorded, s: Lengths = None, axes: Lengths = None) -> Recorded:
            last = range(-len(s), 0) if s is not None else range(-array.type.rank, 0)
            return self._transformed(kind, array, s, last if axes is None else axes)

        return several if name.endswith("n") else one

    def _transformed(self, kind: str, array: Recorded, told: Lengths, axes: Sequence[int]) -> Recorded:
        rank = array.type.rank
        if [dim_of(axis, rank) for axis in axes] != list(range(rank - len(axes), rank)):
            raise Beyond("transforms that are not over the last dimensions")
        shape = array.shape[rank - len(axes) :]
        known = (*shape[:-1], 2 * (shape[-1] - 1)) if kind == "irfft" else shape
        lengths = tuple(known if told is None else told)
        taken = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == "irfft" else lengths
        if taken != shape:
            raise Beyond("transforms that cut or pad")
        if kind != "rfft":
            array = self.recorder.converted(array, _COMPLEX.get(array.type.dtype, array.type.dtype))
        return self.recorder.one(hlo.fft, array, fft_type=kind.upper(), fft_length=lengths)
