"""The nine light models of the package onnx, with random weights, on four devices against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.onnx_models import SPLITS, Trial, assert_right, with_weights

pytestmark = pytest.mark.slow  # minutes

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MODELS = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)


def light(name: str, batch: int) -> Trial:
    model = with_weights(onnx.load(FOLDER / f"light_{name}.onnx"), batch)
    stored = {tensor.name for tensor in model.graph.initializer}
    (image,) = (info.name for info in model.graph.input if info.name not in stored)
    x = np.random.default_rng(1).standard_normal((batch, 3, 224, 224)).astype(np.float32)
    return Trial(model, {image: x})


def test_there_are_nine() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.onnx")) == [f"light_{name}" for name in MODELS]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", MODELS)
def test_light_model(name: str, split: str) -> None:
    trial = light(name, 4 if split == "batch" else 1)
    assert_right(trial, split)
