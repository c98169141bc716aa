"""Run the trials of a range of seeds, and count how they end.

  python -m bench.fuzz 0 10000                 seeds 0 to 9999; goes on where it stopped
  python -m bench.fuzz 0 10000 --jobs 4        in four processes
  python -m bench.fuzz --show 4711             the mutant of one seed, and how it ends
  python -m bench.fuzz --report FILE.md        adds what FOLDER counts to the totals in a file

Counts are kept in FOLDER/counts.json, with the next seed of each part of the range, and the first five
mutants of every kind of failure in FOLDER/failures/. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.fuzz.entries import trial
from bench.fuzz.report import report
from bench.fuzz.trial import attempt, warm

STEP = 250
"""Seeds of a part: what is lost when a run is stopped."""

KEPT = 5
"""Mutants of one kind of failure."""


def main() -> int:
    """Run the command; its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seeds", nargs="*", type=int, metavar="FIRST LAST")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="default: .fuzz")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--report", type=Path, metavar="FILE.md")
    given = parser.parse_args()
    if given.report is not None:
        return report(given.folder, given.report)
    if given.show is not None:
        return show(given.show)
    if len(given.seeds) != 2:
        parser.error("two numbers say which seeds: FIRST LAST, the last not included")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    return run(given.seeds[0], given.seeds[1], given.jobs, given.folder)


def show(seed: int) -> int:
    """Print one mutant and how it ends."""
    entry, made = trial(seed)
    sys.stdout.flush()
    sys.stdout.buffer.write(made.data + b"\n")
    sys.stdout.flush()
    outcome = attempt(made)
    print(f"{entry} {' '.join(made.words)}\n{outcome.kind} {outcome.where}\n{outcome.text}")
    return int(outcome.failed)


def run(first: int, last: int, jobs: int, folder: Path) -> int:
    """All seeds that were not run before, in parts; 1 if any failed, now or before."""
    (folder / "failures").mkdir(parents=True, exist_ok=True)
    kept = folder / "counts.json"
    counts: dict[str, dict[str, int]] = json.loads(kept.read_text()) if kept.exists() else {}
    parts = [(start, min(start + STEP, last)) for start in range(first, last, STEP)]
    left = [part for part in parts if _name(part) not in counts]
    with ProcessPoolExecutor(jobs, initializer=warm) as pool:
        for part, found in zip(left, _all(pool, left, folder), strict=True):
            counts[_name(part)] = dict(found)
            kept.write_text(json.dumps(counts, indent=1))
            print(f"{part[1]}: {_text(found)}", flush=True)
    total = sum((Counter(counts[_name(part)]) for part in parts), Counter[str]())
    print(f"seeds {first} to {last - 1}: {_text(total)}")
    return int(any(" failed" in key for key in total))


def _all(pool: ProcessPoolExecutor, parts: list[tuple[int, int]], folder: Path) -> Iterator[Counter[str]]:
    yield from pool.map(part_of, parts, [folder] * len(parts))


def part_of(part: tuple[int, int], folder: Path) -> Counter[str]:
    """How the trials of some seeds end: `program done` -> how many, `module failed: hang` -> how many."""
    found: Counter[str] = Counter()
    for seed in range(*part):
        entry, made = trial(seed)
        outcome = attempt(made)
        found[f"{entry} failed: {outcome.kind}" if outcome.failed else f"{entry} {outcome.kind}"] += 1
        if outcome.failed:
            name = "".join(c if c.isalnum() else "_" for c in f"{outcome.kind}_{outcome.where}")[:120]
            files = (folder / "failures" / f"{name}{number}.txt" for number in ("", *range(2, KEPT + 1)))
            file = next((file for file in files if not file.exists()), None)
            if file is not None:
                command = " ".join(made.words)
                file.write_bytes(
                    f"seed {seed}: {entry} {command}\n{outcome.text}\n".encode("utf-8", "replace") + made.data
                )
    return found


def _name(part: tuple[int, int]) -> str:
    return f"{part[0]}-{part[1]}"


def _text(found: Counter[str]) -> str:
    return ", ".join(f"{number} {key}" for key, number in sorted(found.items()))


if __name__ == "__main__":
    sys.exit(main())
