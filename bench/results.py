"""Measures all suites, the transformer steps and memory, and writes results/RESULTS.md.

  python -m bench.results [--shardc CMD] [--run-time] [--output FILE] [--keep FOLDER]

With --keep, the figures stay in a folder as JSON, and those that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITES = (
    ("ruler/programs.py", "The suite"),
    ("more_programs.py", "More programs"),
    ("hand_plans.py", "More programs with a plan made by hand"),
)
PACKAGES = ("jax", "jaxlib", "xdsl", "numpy", "scipy")
COLUMNS = "program|theory B|peer B|shardc B|/theory|/peer|collectives|redundancy|run time|"

INTRODUCTION = """\
Written by `make bench`. Bytes are what each device sends, by the ring model (ruler/hlo.py); theory is the \
hand-written plan of the program; the peer is the better of XLA on CPU and on TPU (ruler/peers.json), where \
known. Redundancy is matmul FLOPs of all devices over those of the single-device program. Run time is \
over that of XLA's own partitioning of the same program on emulated devices, interleaved; single \
programs are noisy by 10 %."""

TRANSFORMERS = """\
All-gathers, all-reduces and reduce-scatters, one for each array, of the training steps that transformer.py \
describes, on data=2 x model=4: {right} of {all} as the shape of the program asks for. CPU seconds from \
StableHLO text to the JAX program."""

MEMORY = """\
The peak that `shardc --cost` says of one device, and what tracemalloc measures of its NumPy program run \
alone, bytes: {within} of {all} within 10 %. In programs of some tens of KiB Python's own objects, \
which the report does not count, are a good part."""

Figures = dict[str, Any]
"""What is known of one program: of the JSON of score.py, transformer.py or one_device.py."""


def measured(file: Path, command: Sequence[str]) -> Any:
    """The JSON that a command, run where it finds this package, writes to `file`."""
    if not file.exists():
        print(*command, flush=True)
        path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
        subprocess.run([*command, str(file)], check=True, env={**os.environ, "PYTHONPATH": path})
    return json.loads(file.read_text(encoding="utf-8"))


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def fixed(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def ratio(value: float | None, base: float | None) -> str:
    if base is None or value is None:
        return "–"
    return "1.00" if value == base else "∞" if not base else f"{value / base:.2f}"


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |".replace("|  |", "| |")


def table(columns: Sequence[str], kinds: Sequence[str], rows: Iterator[str]) -> list[str]:
    return [line(*columns), line(*("---:" if kind == "n" else "---" for kind in kinds)), *rows, ""]


def row(name: str, r: Figures, planned: bool) -> str:
    """One program of a suite; `planned` says whether the suite has hand-written plans."""
    if not planned:
        r = {**r, "theory": None}
    if "error" in r:
        return line(name, number(r.get("theory")), *"–––––––", r["error"].replace("|", " "))
    sent, theory, peer = r["bytes"], r["theory"], r["peer_bytes"]
    ratios = ratio(sent, theory), ratio(sent, peer)
    times = fixed(r["redundancy"]), fixed(r.get("run_ratio"))
    return line(name, number(theory), number(peer), number(sent), *ratios, r["count"], *times, "")


def summary(rows: dict[str, Figures], planned: bool) -> str:
    """What score.py says under its table, and the run times."""
    ok = [r for r in rows.values() if "error" not in r]
    at = sum(r["bytes"] <= r["theory"] * 1.01 + 64 for r in ok)
    fewer = sum(r["bytes"] < r["peer_bytes"] * 0.99 - 64 for r in ok)
    more = sum(r["bytes"] > r["peer_bytes"] * 1.01 + 64 for r in ok)
    theory = f"{at} at theory (within 1 % plus 64 bytes); " if planned else ""
    text = (
        f"{len(ok)} of {len(rows)} correct; {theory}{fewer} with fewer bytes than the peer, {more} with more."
    )
    times = [r["run_ratio"] for r in ok if r.get("run_ratio") is not None]
    if times:
        text += f" Run time over XLA's: median {statistics.median(times):.2f} of {len(times)} programs."
    return text


def suite(title: str, rows: dict[str, Figures]) -> list[str]:
    planned = any(r.get("theory") for r in rows.values())
    lines = (row(name, r, planned) for name, r in rows.items())
    return [f"## {title}", "", summary(rows, planned), "", *table(COLUMNS.split("|"), "-nnnnnnnn-", lines)]


def memory(rows: dict[str, Figures]) -> list[str]:
    """How the peak that `--cost` says compares with tracemalloc's."""
    within = sum(abs(r["said"] / r["measured"] - 1) <= 0.1 for r in rows.values())
    lines = (
        line(name, number(r["said"]), number(r["measured"]), fixed(r["said"] / r["measured"]))
        for name, r in rows.items()
    )
    text = MEMORY.format(within=within, all=len(rows))
    return ["## Memory", "", text, "", *table(("program", "said", "measured", "ratio"), "-nnn", lines)]


def transformers(rows: Sequence[Figures]) -> list[str]:
    """Collectives of transformer steps (transformer.py)."""
    right = sum(r["counts"] == r["expected"] for r in rows)
    lines = (
        line(r["program"], r["counts"], r["expected"], number(r["operations"]), number(r["seconds"]))
        for r in rows
    )
    columns = ("step", "counts", "expected", "operations", "seconds")
    text = TRANSFORMERS.format(right=right, all=len(rows))
    return ["## Transformer steps", "", text, "", *table(columns, "-nnnn", lines)]


def sections(folder: Path, shardc: str, run_time: bool) -> Iterator[list[str]]:
    """The tables, measured where the folder has no figures yet."""
    for programs, title in SUITES:
        score = [sys.executable, str(HERE / "ruler" / "score.py"), "--programs", str(HERE / programs)]
        score += ["--shardc", shardc, *["--run-time"] * run_time, "--json"]
        yield suite(title, measured(folder / f"{Path(programs).stem}.json", score))
    steps = [sys.executable, "-m", "bench.transformer"]
    small = measured(folder / "transformer.json", [*steps, "--json"])
    large = [*steps, "--model", "lm", "--layers", "32", "--json"]
    yield transformers(small + measured(folder / "transformer_32.json", large))
    yield memory(measured(folder / "memory.json", [sys.executable, "-m", "bench.one_device"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shardc", default="shardc")
    parser.add_argument("--run-time", action="store_true")
    parser.add_argument("--output", default=str(HERE / "results" / "RESULTS.md"))
    parser.add_argument("--keep", metavar="FOLDER")
    options = parser.parse_args()
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    machine = f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"
    lines = [
        "# Results",
        "",
        INTRODUCTION,
        "",
        f"Python {platform.python_version()}, {versions}; {machine}.",
        "",
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        for section in sections(folder, options.shardc, options.run_time):
            lines += section
    Path(options.output).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
