"""How often rules are wrong on made series and courses whose answers are known.

    python -m benchmarks.rates            print the tables
    python -m benchmarks.rates --write    docs/evidence/rates.md
    python -m benchmarks.rates --only splits bursts stalls unsteady modes refill tail

Every line has its own seed, so that it comes out the same alone and with the others. A rate is
given with its 95 % interval (Clopper and Pearson 1934, from SciPy). The made courses are not those
of the rules: the truth of a bucket is a loop over tenths of a second, that of unwritten data the
kernel's own bounds (mm/page-writeback.c).
"""

import argparse
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from benchmarks import rates_refill, rates_series

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "rates.md"


@dataclass(frozen=True)
class Table:
    """One table: its title, what it says, its columns, and its lines; a line is a name, and the
    function that computes its cells."""

    title: str
    about: str
    columns: tuple[str, ...]
    lines: dict


TABLES = {
    "splits": Table(
        "Levels over runs",
        "Series of runs on one machine: noise of an AR(1) process with correlation φ and "
        "standard deviation sd. *Split*: the analysis finds more than one level. *Used up*: it "
        "calls one of them the level after a burst. The other columns use the same noise with a "
        "drop by half after 40 % of the runs. *Found*: within one run of the truth.",
        ("series", "split", "used up", "drop found", "missed", "found elsewhere"),
        rates_series.SPLITS,
    ),
    "bursts": Table(
        "Several bursts over runs",
        "Runs at a burst and at a baseline in turn. *Right*: each burst and each baseline begins "
        "in its run, and is called so.",
        ("runs", "right"),
        rates_series.BURSTS,
    ),
    "stalls": Table(
        "Stalls",
        "Half an hour of seconds at 1,000 IOPS with noise. There is no I/O in stretches of the "
        "given length, which take the given share of the time. *Found*: the stretches in which "
        "the analysis finds a stall. *False*: the reported stalls that are outside all "
        "stretches. Last column: reported stalls in the same noise without any stretch, over "
        "all series.",
        ("stretches", "found", "false", "series without any: false"),
        rates_series.STALLS,
    ),
    "unsteady": Table(
        "Drift, dips, two modes",
        "*False*: noise about one level that is called a drift, dips, or two modes. *Found*: a "
        "rate that halves slowly, dips of 6 s to 40 % each minute (to the second), and stretches "
        "of 9 to 31 s at 100 % and 40 %, in the same noise.",
        ("series", "drift", "dips", "two modes"),
        rates_series.UNSTEADY,
    ),
    "modes": Table(
        "Two modes over runs",
        "*False*: runs at one level. *Found*: of the same runs 40 %, in any order, are at 40 % of "
        "the rate.",
        ("series", "false", "found"),
        rates_series.MODES,
    ),
    "refill": Table(
        "Buckets that refill",
        "Each disk that has a bucket, with seeded sequences of six steps: full load, light load "
        "(a part of the baseline), and pauses between them. *Mean*: steps at full load whose "
        "promised mean is within 2 % of the truth. *Cliff*: cliffs found within 2 s or 1 % of "
        "the truth. *False cliffs*: cliffs where there is none. *Empty*: steps for which the "
        "analysis, from the measured figures, correctly says whether the bucket holds more or "
        "less than 2 % at the start of the step.",
        ("disk", "mean", "worst", "cliff", "false cliffs", "empty"),
        rates_refill.LINES,
    ),
    "tail": Table(
        "Writes that end unwritten",
        "Buffered writes that end without a sync, on a disk of known rate. They write the given "
        "multiple of the memory. The kernel lets writers leave 15 to 20 % of the memory that is "
        "free or can be freed (here 80 to 100 % of all memory). *Before*: figures within 10 % of "
        "the disk's rate. *Corrected*: figures from which the unwritten part was subtracted; if "
        "more than a quarter may be unwritten, nothing is corrected and the page cache is named. "
        "*Right*: corrected figures within 10 %; then the median and the worst error.",
        ("bytes ÷ memory", "before", "corrected", "right", "median", "worst"),
        rates_series.TAILS,
    ),
}


def share(hits, of):
    """`12/200 (3.1–10.2%)`."""
    if not of:
        return "–"
    from scipy.stats import binomtest  # a second to import, for whoever only collects tests

    interval = binomtest(hits, of).proportion_ci(0.95, method="exact")
    return f"{hits:,}/{of:,} ({100 * interval.low:.1f}–{100 * interval.high:.1f}%)"


def line(table, name):
    """One line of a table as it stands on the page."""
    cells = [share(*cell) if isinstance(cell, tuple) else cell for cell in table.lines[name]()]
    return f"| {name} | {' | '.join(cells)} |"


def text(table):
    """A table as it stands on the page."""
    yield f"## {table.title}"
    yield ""
    yield textwrap.fill(table.about, 98)
    yield ""
    yield f"| {' | '.join(table.columns)} |"
    yield f"| --- |{' ---: |' * (len(table.columns) - 1)}"
    for name in table.lines:
        yield line(table, name)


HEAD = (
    "# Rates of false and missed findings",
    "",
    "<!-- try: {parsed: it takes minutes; tests compute its lines} -->",
    "Generated series whose answers are known: hits/cases, with the 95 % interval of the rate.",
    "`python -m benchmarks.rates --write` writes this page; tests compute its lines.",
    "",
)


def page():
    """The text of docs/evidence/rates.md."""
    parts = ["\n".join(text(table)) for table in TABLES.values()]
    return "\n".join(HEAD) + "\n" + "\n\n".join(parts) + "\n"


def main():
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--only", nargs="+", choices=tuple(TABLES))
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page(), "utf-8")
        return 0
    for name in options.only or TABLES:
        for row in text(TABLES[name]):
            print(row, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
