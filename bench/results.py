#!/usr/bin/env python3
"""Runs score.py on both suites and the memory comparison, and writes RESULTS.md.

  results.py [--shardc CMD] [--run-time] [--output FILE] [--keep FOLDER]

With --keep, the figures stay in a folder as JSON, and those that are there already are not measured again.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
SUITES = (
    ("programs.py", "The suite"),
    ("more_programs.py", "More programs"),
    ("hand_plans.py", "More programs with a plan made by hand"),
)
PACKAGES = ("jax", "jaxlib", "xdsl", "numpy", "scipy")


def measured(file, command):
    """The JSON that a command writes to `file`."""
    if not file.exists():
        print(*command, flush=True)
        subprocess.run([*command, str(file)], check=True)
    return json.loads(file.read_text())


def number(value):
    return "–" if value is None else f"{value:,.0f}"


def ratio(value, base):
    if base is None or value is None:
        return "–"
    return "1.00" if value == base else "∞" if not base else f"{value / base:.2f}"


def row(name, r, planned):
    """One line of a table; `planned` says whether the suite has hand-written plans."""
    if not planned:
        r = {**r, "theory": None}
    if "error" in r:
        return f"| {name} | {number(r.get('theory'))} | – | – | – | – | – | – | – | {r['error'].replace('|', ' ')} |"
    redundancy = "–" if r["redundancy"] is None else f"{r['redundancy']:.2f}"
    run = "–" if r.get("run_ratio") is None else f"{r['run_ratio']:.2f}"
    return (
        f"| {name} | {number(r['theory'])} | {number(r['peer_bytes'])} | {number(r['bytes'])} | "
        f"{ratio(r['bytes'], r['theory'])} | {ratio(r['bytes'], r['peer_bytes'])} | {r['count']} | {redundancy} | {run} | |"
    )


def summary(rows, planned):
    """What score.py says under its table, and the run times."""
    ok = [r for r in rows.values() if "error" not in r]
    at = sum(r["bytes"] <= r["theory"] * 1.01 + 64 for r in ok)
    fewer = sum(r["bytes"] < r["peer_bytes"] * 0.99 - 64 for r in ok)
    more = sum(r["bytes"] > r["peer_bytes"] * 1.01 + 64 for r in ok)
    theory = f"{at} at theory (within 1 % plus 64 bytes); " if planned else ""
    text = f"{len(ok)} of {len(rows)} correct; {theory}{fewer} with fewer bytes than the peer, {more} with more."
    times = [r["run_ratio"] for r in ok if r.get("run_ratio") is not None]
    if times:
        text += f" Run time over XLA's: median {statistics.median(times):.2f} of {len(times)} programs."
    return text


def suite(title, rows):
    planned = any(r.get("theory") for r in rows.values())
    head = "| program | theory B | peer B | shardc B | /theory | /peer | collectives | redundancy | run time | |"
    return [f"## {title}", "", summary(rows, planned), "", head, "| --- |" + " ---: |" * 8 + " --- |",
            *(row(name, r, planned) for name, r in rows.items()), ""]


def memory(rows):
    """How the peak that `--cost` says compares with tracemalloc's."""
    within = sum(abs(r["said"] / r["measured"] - 1) <= 0.1 for r in rows.values())
    lines = [
        "## Memory",
        "",
        "The peak that `shardc --cost` says of one device, and what tracemalloc measures of its NumPy program run "
        f"alone, bytes: {within} of {len(rows)} within 10 %. In programs of some tens of KiB Python's own objects, "
        "which the report does not count, are a good part.",
        "",
        "| program | said | measured | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [f"| {n} | {r['said']:,} | {r['measured']:,} | {r['said'] / r['measured']:.2f} |" for n, r in rows.items()]
    return [*lines, ""]


def transformers(rows):
    """Collectives of transformer steps (transformer.py)."""
    right = sum(r["counts"] == r["expected"] for r in rows)
    lines = [
        "## Transformer steps",
        "",
        "All-gathers, all-reduces and reduce-scatters, one for each array, of the training steps that transformer.py "
        f"describes, on data=2 x model=4: {right} of {len(rows)} as the shape of the program asks for. CPU seconds from "
        "StableHLO text to the JAX program.",
        "",
        "| step | counts | expected | operations | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {r['program']} | {r['counts']} | {r['expected']} | {r['operations']:,} | {r['seconds']:.0f} |" for r in rows
    ]
    return [*lines, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shardc", default="shardc")
    parser.add_argument("--run-time", action="store_true")
    parser.add_argument("--output", default=str(HERE / "RESULTS.md"))
    parser.add_argument("--keep")
    options = parser.parse_args()
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    lines = [
        "# Results",
        "",
        "Written by `make bench`. Bytes are what each device sends, by the ring model (hlo.py); theory is the "
        "hand-written plan of the program; the peer is the better of XLA on CPU and on TPU (peers.json), where "
        "known. Redundancy is matmul FLOPs of all devices over those of the single-device program. Run time is "
        "over that of XLA's own partitioning of the same program on emulated devices, interleaved; single "
        "programs are noisy by 10 %.",
        "",
        f"Python {platform.python_version()}, {versions}; {platform.machine()} {platform.system()}, "
        f"{os.cpu_count()} cores.",
        "",
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        for programs, title in SUITES:
            score = [sys.executable, str(HERE / "score.py"), "--programs", str(HERE / programs), "--shardc", options.shardc]
            score += ["--run-time"] if options.run_time else []
            lines += suite(title, measured(folder / f"{Path(programs).stem}.json", [*score, "--json"]))
        transformer = [sys.executable, str(HERE / "transformer.py")]
        large = [*transformer, "--model", "lm", "--layers", "32"]
        steps = measured(folder / "transformer.json", [*transformer, "--json"])
        lines += transformers(steps + measured(folder / "transformer_32.json", [*large, "--json"]))
        lines += memory(measured(folder / "memory.json", [sys.executable, str(HERE / "one_device.py")]))
    Path(options.output).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
