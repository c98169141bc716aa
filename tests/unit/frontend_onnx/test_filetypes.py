"""The example with magika's model, where it is installed: kinds of real files, and onnxruntime's scores."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest

from tests.onnx_models import Trial, limits, theirs_of

ROOT = Path(__file__).parents[3]
FILES = {
    "pyproject.toml": "toml",
    "Makefile": "makefile",
    "README.md": "markdown",
    "shardc/api.py": "python",
}

pytestmark = pytest.mark.skipif(find_spec("magika") is None, reason="magika is not installed")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = ROOT / "examples" / "filetypes" / "filetypes.py"
    spec = importlib.util.spec_from_file_location("filetypes", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kinds_of_files(example: ModuleType, tmp_path: Path) -> None:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    np.savez(tmp_path / "arrays.npz", a=np.arange(100))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(ROOT / "README.md", "README.md")
    record = {"name": "pod", "axes": {"data": 2, "model": 4}, "devices": list(range(8)), "order": None}
    (tmp_path / "mesh.json").write_text(json.dumps(record, indent=2))
    (tmp_path / "few").write_bytes(b"abc")
    wanted = {Path(name).name: kind for name, kind in FILES.items()}
    wanted |= {"arrays.npz": "npz", "packed.zip": "zip", "mesh.json": "json", "few": "unknown"}
    paths = sorted(tmp_path.iterdir())
    found = example.classified(paths)
    assert {path.name: label for path, (label, _) in zip(paths, found, strict=True)} == wanted
    theirs, limit = _scores(example, [path for path in paths if path.name != "few"])
    ours = [score for label, score in found if label != "unknown"]
    assert np.abs(np.subtract(ours, theirs)).max() <= limit


def _scores(example: ModuleType, paths: list[Path]) -> tuple[list[float], float]:
    """The best scores, and how far they may be off: those of all labels add up to 1."""
    folder = example.folder_of_model()
    config = json.loads((folder / "config.min.json").read_text(encoding="utf-8"))
    given = np.stack([example.features(path, config) for path in paths])
    trial = Trial(onnx.load(folder / "model.onnx"), {"bytes": given}, {"bytes.0": len(paths)})
    (scores,), (limit,) = theirs_of(trial), limits(trial, None)
    return [float(row.max()) for row in np.asarray(scores)], limit
