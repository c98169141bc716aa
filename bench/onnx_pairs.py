"""Node tests of ONNX split along each axis, counted by the groups of ONNX's sharding formalism.

  python -m bench.onnx_pairs [--keep FOLDER] [--part I/N] [--output FILE]

A pair is a node test and axes of its inputs that are split alike. Where the rule allows it, the results of
all devices together must be right and `--check` silent; where it forbids it, `--check` must say so. Verdicts
are kept in FOLDER by case. With --part, only every N-th case is run; the page is written once all are there.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from onnx import __version__

from shardc.frontend.onnx.check import group_of
from tests.onnx_nodes import Case, cases, check
from tests.onnx_pairs import Pair, computed, pairs_of, refusals

PAGE = Path(__file__).parent / "results" / "onnx_pairs.md"

HEAD = """\
# Node tests of ONNX, split along each axis

Written by `python -m bench.onnx_pairs`, with onnx {version}. A pair is a node test and axes of its inputs
that are split alike: each axis alone, with the axes of the other inputs that are aligned with it, and, for a
product, with the other side of the sum. Allowed pairs are run and compared with the test's results; forbidden
ones are to be refused by `--check`.

| group | allowed | right | forbidden | refused |
| --- | ---: | ---: | ---: | ---: |"""


def verdict(pair: Pair) -> str:
    """What became of a pair: right, refused, or what is wrong."""
    found = refusals(pair)
    if not pair.allowed:
        return "refused" if found else "not refused"
    if found:
        return f"refused: {found[0]}"
    try:
        check(pair.case, computed(pair))
    except AssertionError as error:
        return f"wrong: {error}"
    return "right"


def counted(case: Case, kept: Path) -> dict[str, str]:
    """Pair -> "allowed: …" or "forbidden: …", from the folder if it is there."""
    file = kept / f"{case.name}.json"
    if not file.exists():
        found = {
            pair.name: f"{'allowed' if pair.allowed else 'forbidden'}: {verdict(pair)}"
            for pair in pairs_of(case)
        }
        file.write_text(json.dumps(found, indent=1))
    return json.loads(file.read_text())


def lines(found: dict[Case, dict[str, str]]) -> Iterator[str]:
    """The page."""
    counts: Counter[tuple[str, str]] = Counter()
    for case, verdicts in found.items():
        counts.update((group_of(case.operator), text) for text in verdicts.values())
    yield HEAD.format(version=__version__)
    groups = sorted({group for group, _ in counts})
    sums = Counter[str]()
    for group in (*groups, "all"):
        row = Counter[str]()
        for (name, text), count in counts.items():
            if group in (name, "all"):
                row[text.partition(":")[0]] += count
                row[text] += count
        sums = row
        cells = (row["allowed"], row["allowed: right"], row["forbidden"], row["forbidden: refused"])
        yield f"| {group} | " + " | ".join(map(str, cells)) + " |"
    if sums["allowed"] > sums["allowed: right"] or sums["forbidden"] > sums["forbidden: refused"]:
        yield ""
        good = ("allowed: right", "forbidden: refused")
        yield from (
            f"- {name}: {text}"
            for verdicts in found.values()
            for name, text in verdicts.items()
            if text not in good
        )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keep", type=Path, default=Path(".onnx_pairs"), help="default: .onnx_pairs")
    parser.add_argument("--part", default="0/1", metavar="I/N")
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, given.part.split("/"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case: counted(case, given.keep) for case in cases()[part::parts]}
    if parts == 1:
        given.output.write_text("\n".join(lines(found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
