"""Models inside packages that people install, split over four devices, against onnxruntime.

  python -m bench.onnx_models [--keep FOLDER] [--only WORD] [--output FILE]

The models are those of tests/unit/frontend_onnx/test_real.py; the packages need not be installed, a folder
of unpacked ones on PYTHONPATH does. Figures are kept in FOLDER by model. With --only, the models whose path
has the word are run; the page is written once all are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from onnx import __version__
from onnxruntime import __version__ as runtime

from shardc.frontend.onnx.problems import UnsupportedModel
from tests.onnx_models import SPLITS, Trial, errors
from tests.unit.frontend_onnx.test_real import MODELS, Real, trial

PAGE = Path(__file__).parent / "results" / "onnx_models.md"

HEAD = """\
# Models inside packages

Written by `python -m bench.onnx_models`, with onnx {onnx} and onnxruntime {runtime}. Each model on four
emulated devices, its first input split along the batch or the last axis (width), or the weights of its
convolutions along their output channels: the largest difference of any result from onnxruntime's, of that
result's largest element.

| model | opset | nodes | batch | channel | width |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def measured(real: Real, kept: Path) -> dict[str, str]:
    """What the table says of a model, from the folder if it is there."""
    file = kept / f"{real.path.replace('/', '_')}.json"
    if not file.exists():
        given = trial(real)
        figures = {"opset": _opset(given), "nodes": str(len(given.proto.graph.node))}
        figures |= {split: figure(given, split) for split in SPLITS}
        file.write_text(json.dumps(figures, indent=1))
    return json.loads(file.read_text())


def _opset(given: Trial) -> str:
    return next(str(o.version) for o in given.proto.opset_import if not o.domain)


def figure(given: Trial, split: str) -> str:
    """The error of one split, or the operators for which it is refused."""
    try:
        return f"{max(errors(given, split)):.1e}"
    except UnsupportedModel as error:
        return "refused: " + ", ".join(sorted(error.counts))


def lines(found: dict[str, dict[str, str]]) -> Iterator[str]:
    """The page."""
    yield HEAD.format(onnx=__version__, runtime=runtime)
    for path, figures in found.items():
        package, *_, name = path.split("/")
        cells = (figures[key] for key in ("opset", "nodes", *SPLITS))
        yield f"| {package}: {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keep", type=Path, default=Path(".onnx_models"), help="default: .onnx_models")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    found = {real.path: measured(real, given.keep) for real in MODELS if given.only in real.path}
    if len(found) == len(MODELS):
        given.output.write_text("\n".join(lines(found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
