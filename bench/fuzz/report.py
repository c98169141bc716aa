"""The totals of all runs, by entry, as a page: each run adds the parts that the page doesn't count yet."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

HEAD = """# Mutants of every input

`make fuzz` runs them, `python -m bench.fuzz --report bench/results/fuzz.md` adds what it counted to
this page. A mutant ends done, refused (an error with its place) or misused (a usage message); all else is a
failure, which is mended, and has a test. Two kinds of failures of programs are only counted: transformer
layers that are planned for more than 10 s of processor time, most of it in the solver; and of seeds 7016500
to 7111250 some 520 that hung because the trials forked a process in which the solver had started threads
(on 16 cores; trials start it on one core now).

"""
ENDS = ("done", "refused", "misused", "failed")


def report(folder: Path, page: Path) -> int:
    """Add the counts of a folder to a page; 0."""
    counts: dict[str, dict[str, int]] = json.loads((folder / "counts.json").read_text())
    text = page.read_text() if page.exists() else ""
    known = _ranges(re.findall(r"^- seeds (\d+)-(\d+)$", text, re.MULTILINE))
    totals = _read(text)
    parts = {name: _ranges([name.split("-")])[0] for name in counts}
    new = [name for name, (start, _) in parts.items() if not any(a <= start < b for a, b in known)]
    for part in new:
        for key, number in counts[part].items():
            entry, _, end = key.partition(" ")
            totals[entry, end.partition(":")[0]] += number
    page.write_text(_page(totals, _joined([*known, *(parts[name] for name in new)])))
    return 0


def _ranges(texts: Iterable[Sequence[str]]) -> list[tuple[int, int]]:
    return [(int(start), int(stop)) for start, stop in texts]


def _joined(ranges: Iterable[tuple[int, int]]) -> list[str]:
    """Ranges that follow each other as one: 0-250 and 250-500 as 0-500."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return [f"{start}-{stop}" for start, stop in found]


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
