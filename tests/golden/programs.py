"""The programs whose emitted text is kept: where each comes from, and the module that it is compiled from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

Text = Callable[[], tuple[str, str]]
"""Gives a program's text and the file that it is said to come from."""


def every() -> dict[str, Text]:
    """Name -> text: examples/megatron_mlp, e2e/lstm, bench/attention_dp, corpus/layer_norm."""
    return {**written(), **dict(_bench()), **dict(_corpus())}


def written() -> dict[str, Text]:
    """The programs in the .shard language; the others are what the installed JAX lowers."""
    return dict(_files())


def _files() -> Iterator[tuple[str, Text]]:
    for folder, pattern in (("examples", "examples/*/*.shard"), ("e2e", "tests/e2e/programs/*.shard")):
        for path in sorted(ROOT.glob(pattern)):
            yield f"{folder}/{path.stem}", lambda path=path: (path.read_text("utf-8"), f"{path.stem}.shard")


def _bench() -> Iterator[tuple[str, Text]]:
    from bench.suites import texts

    for name, text in texts():
        yield f"bench/{name}", lambda name=name, text=text: (text(), f"{name}.mlir")


def _corpus() -> Iterator[tuple[str, Text]]:
    sys.path.insert(0, str(ROOT / "tests"))
    from corpus.families import CASES

    for name, case in CASES.items():
        yield f"corpus/{name}", lambda name=name, case=case: (case.lowered().as_text(), f"{name}.mlir")
