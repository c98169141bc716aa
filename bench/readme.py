"""The table on the README's first screen, from what stands in bench/results.

    python -m bench.readme [--write]

Without --write it prints the table; a test compares it with the README's.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "RESULTS.md"
COMPILE_TIME = ROOT / "bench" / "results" / "compile_time.md"
MODEL = ROOT / "bench" / "results" / "model_accuracy.md"
README = ROOT / "README.md"

START, END = "<!-- bench.readme: from here -->\n", "<!-- bench.readme: to here -->\n"

_PROGRAMS = {
    "The suite": "the suite: MLPs, transformer blocks, data movement",
    "More programs": "whole training steps, experts, decoding, attention over long sequences",
    "More programs with a plan made by hand": "the same kinds, beside a plan made by hand",
}
"""What the sections of RESULTS.md are of."""

_SUMMARY = re.compile(
    r"(?P<right>\d+) of (?P<count>\d+) correct;(?: (?P<theory>\d+) at theory [^;]*;)? "
    r"(?P<fewer>\d+) with fewer bytes than the peer, (?P<more>\d+) with more\. "
    r"Run time over XLA's: median (?P<time>[\d.]+)"
)
_COMPILE = re.compile(r"CPU seconds over XLA's: median (?P<median>[\d.]+) of (?P<count>\d+) programs")
_MODEL = re.compile(
    r"(?P<plans>\d+) plans of \d+ programs on (?P<processes>\d+) processes.*"
    r"Median error of the modelled time: (?P<error>\d+)%.*"
    r"in the right order: (?P<right>\d+) of (?P<pairs>\d+)",
    re.DOTALL,
)


class Row(Struct, frozen=True):
    """What one section of RESULTS.md says in its first line."""

    title: str
    found: re.Match[str]

    def line(self) -> str:
        """| programs | right | fewer bytes | … |"""
        count, fewer, more = (int(self.found[key]) for key in ("count", "fewer", "more"))
        theory = f"{self.found['theory']} of {count}" if self.found["theory"] else "–"
        bytes_sent = f"{fewer}, {count - fewer - more}, {more}"
        cells = (_PROGRAMS[self.title], f"{self.found['right']} of {count}", bytes_sent, theory)
        return f"| {' | '.join(cells)} | {self.found['time']} |"


def table(results: str, compile_time: str, model: str) -> str:
    """Some lines and a table, from the texts of these files. ValueError if a file says something else."""
    compiled, modelled = _COMPILE.search(compile_time), _MODEL.search(model)
    rows = list(_rows(results))
    if compiled is None or modelled is None or [row.title for row in rows] != list(_PROGRAMS):
        raise ValueError("the results are not in the form that make bench writes")
    total = {key: sum(int(row.found[key]) for row in rows) for key in ("right", "count", "fewer", "more")}
    return "\n".join(
        [
            "Measured on emulated devices, against what XLA's partitioner makes of the same programs: "
            f"{total['right']} of {total['count']} are right,",
            f"{total['fewer']} send fewer bytes and {total['more']} more. Compiling took "
            f"{compiled['median']} times the CPU seconds of XLA, the median of {compiled['count']} programs",
            "([all figures](bench/results/RESULTS.md), [compile times](bench/results/compile_time.md)). "
            "The modelled time, by which plans",
            f"are chosen, is {modelled['error']}% off the measured one, the median of {modelled['plans']} "
            f"plans on {modelled['processes']} processes; of {modelled['pairs']} pairs whose times",
            f"differ by a fifth, {modelled['right']} are in the right order "
            "([the model against the machine](bench/results/model_accuracy.md)).",
            "",
            "| programs | right | bytes: fewer, as many, more | least possible bytes | run time, XLA = 1 |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(row.line() for row in rows),
            "",
        ]
    )


def _rows(results: str) -> Iterator[Row]:
    for section in results.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        found = _SUMMARY.search(body)
        if found is not None:
            yield Row(title, found)


def current() -> str:
    """The table as the results have it now."""
    return table(*(page.read_text(encoding="utf-8") for page in (RESULTS, COMPILE_TIME, MODEL)))


def shown(readme: str) -> str:
    """The table that a README has."""
    return readme.partition(START)[2].partition(END)[0]


def main() -> None:
    """Print the table, or write it into the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if not parser.parse_args().write:
        print(current(), end="")
        return
    before, _, rest = README.read_text(encoding="utf-8").partition(START)
    README.write_text(before + START + current() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
