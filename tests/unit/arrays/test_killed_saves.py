"""A save that is killed at any moment leaves the old arrays or the new ones, whole."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from shardc.arrays import Placed, load
from shardc.graph.types import TensorType
from shardc.runtime import Mesh, P, sharding_of

SAVE = """
import sys
import numpy as np
from shardc.arrays import Placed, save
from shardc.graph.types import TensorType
from shardc.runtime import Mesh, P, sharding_of
layout = Placed(TensorType((256, 256), "f32"), sharding_of(Mesh({"x": 4}), P("x"), 2))
for number in range(10**6):
    save(sys.argv[1], {"w": {i: np.full((64, 256), number, np.float32) for i in range(4)}}, {"w": layout})
    print(number, flush=True)
"""


@pytest.mark.parametrize("target", ["out.safetensors", "folder"])
def test_killed_saves(tmp_path: Path, target: str):
    layout = Placed(TensorType((256, 256), "f32"), sharding_of(Mesh({"x": 4}), P(None, "x"), 2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        path = str(tmp_path / target)
        with subprocess.Popen([sys.executable, "-c", SAVE, path], stdout=subprocess.PIPE) as saving:
            assert saving.stdout is not None
            saving.stdout.readline()
            time.sleep(float(rng.uniform(0, 0.02)))
            saving.kill()
        found = load(path, {"w": layout})["w"]
        assert len({float(value) for block in found.values() for value in np.unique(block)}) == 1
