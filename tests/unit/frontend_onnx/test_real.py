"""Models inside packages that people install, where they are installed, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

from shardc.frontend.onnx.problems import UnsupportedModel
from tests.onnx_models import SPLITS, Trial, assert_right, errors

pytestmark = pytest.mark.slow  # minutes

SIZE = 96


@dataclass(frozen=True)
class Real:
    """A model file of a package; sizes of its first input, and of symbols; what is fixed while compiling.

    `refused` is the operator for which it is refused by name.
    """

    path: str
    shape: tuple[int, ...]
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    more: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    rate: bool = False
    refused: str = ""


def image(width: int, *names: str) -> dict[str, int]:
    return dict(zip(names, (4, SIZE, width), strict=False))


VAD = {"state": (2, 4, 128)}
STATES = {"h": (1, 1, 128), "c": (1, 1, 128)}
SIZES = {"input.0": 4, "input.1": 576, "state.1": 4}
CLS = {"x.0": 4, "x.2": 48, "x.3": 192}
MODELS = [
    Real("basic_pitch/saved_models/icassp_2022/nmp.onnx", (1, 43844, 1), {"unk__749": 1}),
    Real("ddddocr/common.onnx", (1, 1, 64, 128), {"image_width": 128}),
    Real("ddddocr/common_det.onnx", (1, 3, 416, 416)),
    Real(
        "ddddocr/common_old.onnx",
        (1, 1, 64, 128),
        {"image_width": 128},
        refused="com.microsoft:DynamicQuantizeLSTM",
    ),
    Real(
        "faster_whisper/assets/silero_vad_v6.onnx",
        (4, 576),
        {"seq_len": 4},
        STATES,
    ),
    Real("livekit/plugins/silero/resources/silero_vad.onnx", (4, 576), SIZES, VAD, True),
    Real("magika/models/standard_v3_3/model.onnx", (4, 2048), {"unk__214": 4}),
    Real("nudenet/320n.onnx", (4, 3, 320, 320), {"batch": 4, "height": 320, "width": 320}),
    Real("rapidocr/models/PP-OCRv6_det_small.onnx", (4, 3, SIZE, SIZE), image(SIZE, "x.0", "x.2", "x.3")),
    Real("rapidocr/models/PP-OCRv6_rec_small.onnx", (4, 3, 48, 160), {"x.0": 4, "x.3": 160}),
    Real("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", (4, 3, 48, 192), CLS),
    Real(
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        (4, 3, SIZE, SIZE),
        image(SIZE, "x.0", "x.2", "x.3"),
    ),
    Real(
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        (4, 3, 48, 160),
        {"x.0": 4, "x.2": 48, "x.3": 160},
    ),
    Real("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", (4, 3, 48, 192), CLS),
    Real("silero_vad/data/silero_vad.onnx", (4, 576), SIZES, VAD, True),
    Real("silero_vad/data/silero_vad_16k_op15.onnx", (4, 576), {"batch": 4, "sequence": 576}, VAD, True),
    Real(
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        (4, 576),
        {"sequence_length": 4},
        STATES,
    ),
    Real("silero_vad/data/silero_vad_half.onnx", (4, 576), {"batch": 4, "sequence": 576}, VAD),
    Real("silero_vad/data/silero_vad_openvino_16k.onnx", (1, 576), {}, {"state": (2, 1, 128)}),
    Real("silero_vad/data/silero_vad_op18_ifless.onnx", (4, 576), {"batch": 4, "sequence": 576}, VAD, True),
]


def strokes(shape: tuple[int, ...]) -> np.ndarray:
    """Rows of letter-like strokes, black on white.

    The detectors end in a sigmoid, whose values are below 1e-3 where there is no text; onnxruntime's sigmoid
    is off by 1e-7 there, more than 1e-4 of the largest element.
    """
    picture = np.ones(shape[-2:], np.float32)
    for top in range(20, shape[-2] - 14, 30):
        for left in range(8, shape[-1] - 8, 8):
            picture[top : top + 14, left : left + 2] = -1
            picture[top + 6 : top + 8, left : left + 6] = -1
            picture[top : top + 2, left : left + 5] = -1
    return np.broadcast_to(picture, shape).copy()


def trial(real: Real) -> Trial:
    package, _, rest = real.path.partition("/")
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    proto = onnx.load(Path(found.submodule_search_locations[0]) / rest)
    rng = np.random.default_rng(0)
    stored = {tensor.name for tensor in proto.graph.initializer}
    first, *others = (info for info in proto.graph.input if info.name not in stored)
    if first.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
        x = rng.integers(0, 256, real.shape).astype(np.int32)
    elif "_det" in real.path:
        x = strokes(real.shape)
    else:
        x = (rng.standard_normal(real.shape) / 2).astype(np.float32)
    inputs = {first.name: x}
    inputs |= {name: np.zeros(shape, np.float32) for name, shape in real.more.items()}
    order = [info.name for info in (first, *others) if info.name in inputs]
    values = {"sr": np.array(16000, np.int64)} if real.rate else {}
    return Trial(proto, {name: inputs[name] for name in order}, real.dims, values)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("real", MODELS, ids=lambda real: Path(real.path).stem)
def test_real_model(real: Real, split: str) -> None:
    if real.refused:
        with pytest.raises(UnsupportedModel) as error:
            errors(trial(real), split)
        assert error.value.counts == {real.refused: 1}
    else:
        assert_right(trial(real), split)
