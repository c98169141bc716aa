"""What kind of file is each file of a folder: the model of the package magika, on four devices.

    python examples/filetypes/filetypes.py FOLDER

The model is the .onnx file as the package has it. shardc splits a batch of files over four emulated devices.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import shardc

DEVICES = 4


def folder_of_model() -> Path:
    """Where magika keeps its model; the package is not imported."""
    spec = find_spec("magika")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("this example needs magika's model: pip install magika==1.0.3")
    (path,) = Path(spec.submodule_search_locations[0]).glob("models/*/model.onnx")
    return path.parent


def features(path: Path, config: dict[str, Any]) -> np.ndarray | None:
    """Bytes of the file's beginning and end, without white space, padded; None for too few bytes."""
    first, last, padding = config["beg_size"], config["end_size"], config["padding_token"]
    with path.open("rb") as file:
        head = file.read(config["block_size"])
        file.seek(max(0, path.stat().st_size - config["block_size"]))
        tail = file.read(config["block_size"])
    head, tail = head.lstrip()[:first], tail.rstrip()[-last:]
    if len(head) < config["min_file_size_for_dl"]:
        return None
    found = np.full(first + last, padding, np.int32)
    found[: len(head)] = list(head)
    found[len(found) - len(tail) :] = list(tail)
    return found


def classified(paths: Sequence[Path]) -> list[tuple[str, float]]:
    """The label of each file and how sure the model is; unknown for files of a few bytes."""
    folder = folder_of_model()
    config = json.loads((folder / "config.min.json").read_text(encoding="utf-8"))
    rows = [features(path, config) for path in paths]
    known = [row for row in rows if row is not None]
    batch = -(-max(1, len(known)) // DEVICES) * DEVICES
    model = str(folder / "model.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = shardc.from_onnx(
            model,
            dims={"bytes.0": batch},
            mesh=f"pod[data={DEVICES}]",
            shardings={"bytes": "P('data')"},
            target="numpy",
        )
    given = np.full((batch, config["beg_size"] + config["end_size"]), config["padding_token"], np.int32)
    given[: len(known)] = known or 0
    weights = program.module.load_weights(model)
    scores = iter(np.asarray(program.main(given, *weights.values())))
    return [("unknown", 0.0) if row is None else _best(next(scores), config) for row in rows]


def _best(scores: np.ndarray, config: dict[str, Any]) -> tuple[str, float]:
    """The likeliest label; `unknown` below the model's threshold for it."""
    at = int(scores.argmax())
    label, score = config["target_labels_space"][at], float(scores[at])
    sure = score >= config["thresholds"].get(label, config["medium_confidence_threshold"])
    return config["overwrite_map"].get(label, label) if sure else "unknown", score


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit("usage: filetypes.py FOLDER")
    paths = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_file())
    for path, (label, score) in zip(paths, classified(paths), strict=True):
        print(f"{path.name:30} {label:14} {score:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
