"""Which wrong per-device programs are found: every collective of every program dropped or altered.

Each mutant (mutants.py) goes through the varying/partial type check of docs/checks.md. If that accepts it,
it runs on emulated devices on the inputs of `shardc --run` and is compared with the single-device program,
in f64 too. One that passes both runs on more random inputs: if it gives the right results on all of them it
is equivalent (a maximum in place of a sum over devices that hold zeros but one, say), else it is missed. And
it is proved (docs/proof.md): `differs` is a mutant that the proof finds, `same` one that it proves and that
is right on all inputs, `right` one that it does not prove and that is right on all inputs (a softmax less
another number than the greatest), `open` a wrong one of which it says nothing, MISSED one that it proves and
that is wrong.
That of xent_vocab_gather that is open takes the least in place of the greatest out of a log-sum-exp, whose
exponentials are infinite in f32 only. The type check refuses it.

Three figures must be 100 %: of the reductions dropped or moved to another axis, those that the type check
alone finds; of all mutants that change a result, those that the two checks find, and those that the proof
finds. And no program may be said to differ as it was compiled.

  python -m bench.mutation            every program: examples, two suites, tests/e2e/programs; goes on where
                                      it stopped
  python -m bench.mutation NAME ...   only these
  python -m bench.mutation --jobs 4   in four processes
  python -m bench.mutation --missed   also list what is missed, slips through the type check, is equivalent or
                                      is not proved
  python -m bench.mutation --page bench/results/mutation.md    writes the page of all that has run;
                                      of other programs what stands there stays

What became of each program is kept in FOLDER/NAME.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from msgspec import Struct, to_builtins

from bench.mutation_trial import (
    EQUIVALENT,
    MISSED,
    NUMBERS,
    PROOF_FOUND,
    PROOF_MISSED,
    PROOF_OPEN,
    PROOF_RIGHT,
    PROOF_SAME,
    TYPE,
    Found,
    Tried,
    programs,
    trial,
)
from bench.page import publish

COLUMNS = (
    ("mutants", 7),
    ("by type", 7),
    ("by result", 9),
    ("equivalent", 10),
    ("missed", 6),
    ("reductions lost", 15),
    ("by type", 7),
    ("proof: differs", 14),
    ("same", 4),
    ("right", 5),
    ("open", 4),
    ("MISSED", 6),
)


def figures(tried: Tried) -> list[int]:
    """What stands in the columns."""
    lost = tried.lost_reductions
    verdicts = map(tried.count, (TYPE, NUMBERS, EQUIVALENT, MISSED))
    proofs = map(tried.count_proofs, (PROOF_FOUND, PROOF_SAME, PROOF_RIGHT, PROOF_OPEN, PROOF_MISSED))
    return [len(tried.found), *verdicts, len(lost), lost.count(TYPE), *proofs]


def line(title: str, cells: Iterable[object]) -> str:
    padded = (f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
    return f"{title:26s} {' '.join(padded)}"


def remarks(tried: Tried) -> Iterator[str]:
    """What is missed, slips through the type check, is equivalent, or open; equivalent ones that differ."""
    for each in tried.found:
        slipped = each.lost and each.verdict not in (TYPE, EQUIVALENT)
        if slipped or each.verdict in (MISSED, EQUIVALENT):
            yield f"    {each.verdict}: {each.mutant}" + (", not by type" if slipped else "")
        if each.proof in (PROOF_OPEN, PROOF_MISSED) or (each.verdict, each.proof) == (
            EQUIVALENT,
            PROOF_FOUND,
        ):
            yield f"    the proof, {each.proof}: {each.mutant}"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


class Row(Struct, frozen=True):
    """A program on the page: what stands in the columns, what the proof says of it, and the seconds."""

    name: str
    figures: list[int]
    proved: str
    compiling: str
    proving: str

    @staticmethod
    def of(name: str, tried: Tried) -> Row:
        seconds = (f"{tried.compiling:.1f} s", f"{tried.proving:.1f} s")
        return Row(name, figures(tried), tried.proved, *seconds)

    @staticmethod
    def read(text: str) -> Row:
        name, *cells = text.strip("| ").split(" | ")
        return Row(name, [int(cell) for cell in cells[: len(COLUMNS)]], *cells[len(COLUMNS) :])

    def __str__(self) -> str:
        cells = (self.name, *self.figures, self.proved, self.compiling, self.proving)
        return f"| {' | '.join(map(str, cells))} |"


def summary(rows: Sequence[Row]) -> list[str]:
    """The figures of all programs."""
    columns = zip(*(row.figures for row in rows), strict=True)
    sums = [sum(column) for column in columns] if rows else [0] * len(COLUMNS)
    count, by_type, by_result, equivalent, _, lost, lost_by_type, *proofs = sums
    differs, same, right, left, wrong = proofs
    changing, to_prove = count - equivalent, differs + left + wrong
    refuted = sorted(row.name for row in rows if row.proved.startswith("differs"))
    proved = sum(row.proved == "proved" for row in rows)
    return [
        f"{count} mutants of {len(rows)} programs, {equivalent} of them equivalent",
        f"reductions dropped or moved to another axis: {lost}, the type check alone finds {lost_by_type} "
        f"({percent(lost_by_type, lost)})",
        f"mutants that change the result: {changing}, type check and comparison find {by_type + by_result} "
        f"({percent(by_type + by_result, changing)}), the type check alone {by_type} "
        f"({percent(by_type, changing)})",
        f"the proof: {differs} mutants differ, {same} are the same, {right} are right, {left} are open, "
        f"{wrong} are missed; of {to_prove} that are wrong, as far as anything tells, it finds "
        f"{differs} ({percent(differs, to_prove)})",
        f"programs as they were compiled: {proved} of {len(rows)} proved, said to differ: "
        f"{', '.join(refuted) or 'none'}",
    ]


def failed(done: dict[str, Tried]) -> bool:
    """Whether a figure that must be 100 % is not."""
    return any(
        tried.count(MISSED)
        or tried.count_proofs(PROOF_MISSED)
        or tried.proved.startswith("differs")
        or set(tried.lost_reductions) - {TYPE}
        for tried in done.values()
    )


def keep(folder: Path, name: str) -> Tried:
    """Try a program, unless it has been, and keep what became of it."""
    file = folder / f"{name}.json"
    if not file.exists():
        written = file.with_suffix(".part")
        written.write_text(json.dumps(to_builtins(trial(name)), indent=1))
        written.rename(file)
    return read(file)


def read(file: Path) -> Tried:
    """What became of a program."""
    kept = json.loads(file.read_text())
    return Tried(**{**kept, "found": [Found(**each) for each in kept["found"]]})


def page(done: dict[str, Tried], file: Path) -> None:
    """Write the page: of all that has run, and the rows that it has of other programs."""
    known = programs()
    before = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    table = [text for text in before if text.startswith("| ")][2:]
    kept = {row.name: row for row in map(Row.read, table) if row.name in known}
    rows = sorted({**kept, **{name: Row.of(name, tried) for name, tried in done.items()}}.items())
    left = [name for name in known if name not in dict(rows)]
    untried = [f"* not tried yet: {len(left)} programs, {', '.join(left)}"] if left else []
    titles = ["program", *(title for title, _ in COLUMNS), "the program itself", "compiled in", "proved in"]
    heads = (f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles)))
    publish(
        "Mutants of per-device programs",
        __doc__,
        [
            *(f"* {text}" for text in summary([row for _, row in rows])),
            *untried,
            "",
            *heads,
            *(str(row) for _, row in rows),
        ],
        file,
    )


def main() -> int:
    """Run the command; its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(".mutation"), help="default: .mutation")
    parser.add_argument("--page", type=Path, metavar="FILE.md")
    options = parser.parse_args()
    os.environ.update(OPENBLAS_NUM_THREADS="1", JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="16")
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.page is not None:
        page({file.stem: read(file) for file in sorted(options.folder.glob("*.json"))}, options.page)
        return 0
    done: dict[str, Tried] = {}
    broken = list[str]()
    print(line("program", (title for title, _ in COLUMNS)))
    with ProcessPoolExecutor(options.jobs) as pool:
        names = {pool.submit(keep, options.folder, name): name for name in options.names or programs()}
        for future in as_completed(names):
            if (error := future.exception()) is not None:
                broken.append(names[future])
                print(f"{names[future]}: {error!r}", flush=True)
                continue
            tried = done[names[future]] = future.result()
            seconds = f"compiled in {tried.compiling:.1f} s, proved in {tried.proving:.1f} s"
            print(f"{line(names[future], figures(tried))}  {tried.proved}, {seconds}", flush=True)
            for remark in remarks(tried) if options.missed else ():
                print(remark)
    rows = [Row.of(name, tried) for name, tried in done.items()]
    print("\n".join([*summary(rows), *(f"could not be tried: {name}" for name in broken)]))
    return int(failed(done) or bool(broken))


if __name__ == "__main__":
    sys.exit(main())
