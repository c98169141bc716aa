"""The totals of all runs, by entry, as a page: each run adds the parts that the page doesn't count yet."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

HEAD = """# Mutants of every input

`make fuzz` runs them, `python -m bench.fuzz --report bench/results/fuzz.md` adds what it counted to
this page. A mutant ends done, refused (an error with its place) or misused (a usage message); all else is a
failure, which is mended, and has a test.

"""
ENDS = ("done", "refused", "misused", "failed")


def report(folder: Path, page: Path) -> int:
    """Add the counts of a folder to a page; 0."""
    counts: dict[str, dict[str, int]] = json.loads((folder / "counts.json").read_text())
    text = page.read_text() if page.exists() else ""
    known = re.findall(r"^- seeds (\d+-\d+)$", text, re.MULTILINE)
    totals = _read(text)
    new = [part for part in counts if part not in known]
    for part in new:
        for key, number in counts[part].items():
            entry, _, end = key.partition(" ")
            totals[entry, end.partition(":")[0]] += number
    page.write_text(_page(totals, sorted({*known, *new}, key=lambda part: int(part.split("-")[0]))))
    return 0


def _read(text: str) -> Counter[tuple[str, str]]:
    """The table of a page."""
    totals: Counter[tuple[str, str]] = Counter()
    for entry, *numbers in re.findall(
        r"^\| ([a-z]+) " + r"\| (\d+) " * len(ENDS) + r"\|", text, re.MULTILINE
    ):
        totals.update({(entry, end): int(number) for end, number in zip(ENDS, numbers, strict=True)})
    return totals


def _page(totals: Counter[tuple[str, str]], parts: list[str]) -> str:
    entries = sorted({entry for entry, _ in totals})
    lines = ["| entry | " + " | ".join(ENDS) + " | all |", "|---|" + "---|" * (len(ENDS) + 1)]
    for entry in entries:
        numbers = [totals[entry, end] for end in ENDS]
        lines.append(f"| {entry} | " + " | ".join(map(str, [*numbers, sum(numbers)])) + " |")
    lines.append(f"\nAll: {sum(totals.values())}, of these seeds:\n")
    return HEAD + "\n".join([*lines, *(f"- seeds {part}" for part in parts)]) + "\n"
