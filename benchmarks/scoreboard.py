"""The scoreboard: the verdict that a storage engineer would give beside diskbench's, row by row.

    python -m benchmarks.scoreboard            counts and failures
    python -m benchmarks.scoreboard --write    docs/evidence/scoreboard.md

The expected verdicts were written by hand (benchmarks/scoreboard_rows). A row is

    right     limiter, regime and trust are all expected
    partly    the limiter is right and regime, trust or words are not; or it is left `unknown`
    wrong     a limiter is named that is not the one
    absurd    a wrong limiter with trust `yes`, or trust `yes` where it should be `no`
"""

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks import scoreboard_ours
from benchmarks.scoreboard_ours import NOTHING, Ours

from diskbench.catalog.published import load_published
from diskbench.yaml_lines import plain_yaml

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(__file__).parent / "scoreboard_rows"
CASES = ROOT / "tests" / "cases" / "limiter"
PAGE = ROOT / "docs" / "evidence" / "scoreboard.md"
MARKS = ("right", "partly", "wrong", "absurd")
_NEAR_S = 30
"""A cliff found so near is found (MR-4); of runs one run."""


@dataclass(frozen=True)
class Expected:
    """The expected verdict; each of the three lists what counts as right. The printed verdict has
    all words of `says` and none of `never`."""

    limiter: tuple
    regime: tuple
    trust: tuple
    why: str
    cliff: float | None = None
    says: tuple = ()
    never: tuple = ()


@dataclass(frozen=True)
class Row:
    """One row: a source, a name, what is expected, and what diskbench says."""

    source: str
    name: str
    expected: Expected
    ours: Ours

    @property
    def mark(self):
        """One of MARKS."""
        want, got = self.expected, self.ours
        limiter = got.limiter in want.limiter
        words = all(text in got.text for text in want.says)
        words = words and not any(text in got.text for text in want.never)
        if limiter and got.regime in want.regime and got.trust in want.trust and words:
            return "right"
        if got.trust == "yes" and "yes" not in want.trust and "no" in want.trust:
            return "absurd"
        if limiter or got.limiter == "unknown":
            return "partly"
        return "absurd" if got.trust == "yes" else "wrong"

    @property
    def cliff(self):
        """`found`, `missed`, `false` or `none`; a cliff found elsewhere is missed and false."""
        want, got = self.expected.cliff, self.ours.cliff
        if want is None:
            return "none" if got is None else "false"
        if got is None:
            return "missed"
        near = 1 if want < _NEAR_S * 2 else _NEAR_S
        return "found" if abs(got - want) <= near else "missed"


def rows():
    """All rows, in order. Raises ValueError where a row or its expectation is missing."""
    figures = load_published()
    wanted = of_published(figures)
    found = [
        Row("published", figure.id, wanted[figure.id], scoreboard_ours.of_published(figure))
        for figure in figures
    ]
    for name, (case, expected) in of_cases().items():
        found.append(Row("case", name, expected, scoreboard_ours.of_case(case)))
    for name, (series, expected) in of_series().items():
        found.append(Row("series", name, expected, scoreboard_ours.of_series(series)))
    for name, (trial, expected) in of_trials().items():
        found.append(Row("trial", name, expected, scoreboard_ours.of_trial(trial)))
    imports = of_imports()
    ours = scoreboard_ours.of_imports({name: row[:2] for name, row in imports.items()})
    for name, (_, _, each) in imports.items():
        for at, expected in enumerate(each):
            verdict = ours[name][at] if at < len(ours[name]) else NOTHING
            numbered = name if len(each) == 1 else f"{name}, {at + 1}"
            found.append(Row("import", numbered, expected, verdict))
    return found


def expected(row):
    """The expected verdict from a row of a file."""
    return Expected(
        *(_several(row[name]) for name in ("limiter", "regime", "trust")),
        why=" ".join(row["why"].split()),
        cliff=row.get("cliff_s") or row.get("fall_run"),
        says=tuple(row.get("says", ())),
        never=tuple(row.get("never", ())),
    )


def of_published(figures):
    """The expectation of each published figure, by its id. Raises ValueError where a figure has no
    row or more than one, or a row has no figure."""
    rows = _read("published.yaml")
    found, used = {}, set()
    for figure in figures:
        fits = [
            (number, pattern)
            for number, row in enumerate(rows)
            for pattern in row["ids"]
            if fnmatchcase(figure.id, pattern)
        ]
        if len(fits) != 1:
            raise ValueError(f"{figure.id}: {len(fits)} rows of published.yaml match; write one")
        used.add(fits[0])
        found[figure.id] = expected(rows[fits[0][0]])
    unused = [
        pattern
        for number, row in enumerate(rows)
        for pattern in row["ids"]
        if (number, pattern) not in used
    ]
    if unused:
        raise ValueError(f"published.yaml: no figure matches {', '.join(unused)}")
    return found


def of_cases():
    """Each recorded case with its expectation, by its name. Raises ValueError where a case has no
    row, or a row has no case."""
    rows = _read("cases.yaml")
    names = {path.stem for path in CASES.glob("*.yaml")}
    if apart := names ^ rows.keys():
        raise ValueError(f"cases.yaml and {CASES.name} differ in {', '.join(sorted(apart))}")
    return {
        name: (plain_yaml((CASES / f"{name}.yaml").read_text()), expected(row))
        for name, row in sorted(rows.items())
    }


def of_series():
    """Each made series with its expectation, by its name."""
    return {row["name"]: (row, expected(row["expect"])) for row in _read("series.yaml")}


def of_trials():
    """Each made trial with its expectation, by its name."""
    return {row["name"]: (row, expected(row["expect"])) for row in _read("trials.yaml")}


def of_imports():
    """Each import with the expectation of each of its steps, by its name and form."""
    found = {}
    for row in _read("imports.yaml"):
        for form in row["forms"]:
            wanted = row.get(form, row["expect"])
            limiters = row.get("each", [wanted["limiter"]])
            each = [expected(wanted | {"limiter": limiter}) for limiter in limiters]
            found[f"{row['name']} ({form})"] = (row, form, each)
    return found


def stages():
    """The counts of earlier stages, oldest first."""
    return _read("stages.yaml")


def _read(name):
    return plain_yaml((ROWS / name).read_text(encoding="utf-8"))


def _several(value):
    return tuple(value) if isinstance(value, list) else (value,)


def page(found):
    """The text of docs/evidence/scoreboard.md."""
    lines = [
        "# Scoreboard",
        "",
        "<!-- try: {parsed: tests/docs/test_references.py computes it} -->",
        "The verdict of a storage engineer beside today's verdict of diskbench. Expected verdicts",
        "were written by hand before the rules (`benchmarks/scoreboard_rows`). Rows are published",
        "figures that ship, recorded cases (`tests/cases/limiter`), computed series, trials, and",
        "imported reports of fio.",
        "`python -m benchmarks.scoreboard --write` writes this page; a test compares it.",
        "",
        "- **right**: limiter, regime, trust and words are all as expected",
        "- **partly**: the limiter is right but not all else, or the limiter is unknown",
        "- **wrong**: diskbench names another limiter than the expected one",
        "- **absurd**: the same with trust `yes`, or trust `yes` where `no` is expected",
        "",
        "## Counts",
        "",
        *_counts(found),
        "",
        "Counts of all rows at earlier stages, with the rows that existed then:",
        "",
        *_history(),
        "",
        "## Limiters",
        "",
        "How often diskbench named another limiter than the expected one.",
        "",
        *_confusion(found),
        "",
        "## Cliffs",
        "",
        "Only for the series. A cliff counts as found if it is within 30 s of the truth (over",
        "runs: within one run).",
        "",
        *_cliffs(found),
        "",
        "## Rows that fail",
        "",
        *_failures(found),
    ]
    return "\n".join(lines) + "\n"


def _counts(found):
    yield "| rows | n | " + " | ".join(MARKS) + " |"
    yield "| --- | ---: |" + " ---: |" * len(MARKS)
    sources = dict.fromkeys(row.source for row in found)
    for name in (*sources, "all"):
        part = [row for row in found if name in (row.source, "all")]
        marks = Counter(row.mark for row in part)
        cells = " | ".join(f"{marks[mark]} ({marks[mark] / len(part):.0%})" for mark in MARKS)
        yield f"| {name} | {len(part)} | {cells} |"


def _history():
    yield "| stage | n | " + " | ".join(MARKS) + " |"
    yield "| --- | ---: |" + " ---: |" * len(MARKS)
    for stage in stages():
        cells = " | ".join(str(stage[mark]) for mark in MARKS)
        yield f"| {stage['stage']} | {sum(stage[mark] for mark in MARKS)} | {cells} |"


def _confusion(found):
    pairs = Counter(
        (_or(row.expected.limiter), row.ours.limiter)
        for row in found
        if row.ours.limiter not in row.expected.limiter
    )
    yield "| expected | named | rows |"
    yield "| --- | --- | ---: |"
    for (want, got), count in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"| {want} | {got} | {count} |"


def _cliffs(found):
    marks = Counter(row.cliff for row in found if row.source == "series")
    yield "| found | missed | false | correctly none |"
    yield "| ---: | ---: | ---: | ---: |"
    cells = " | ".join(str(marks[name]) for name in ("found", "missed", "false", "none"))
    yield f"| {cells} |"


def _failures(found):
    """One row for all that fail alike for one reason."""
    alike = defaultdict(list)
    for row in sorted(found, key=lambda row: -MARKS.index(row.mark)):
        if row.mark != "right":
            want, got = row.expected, row.ours
            expected = f"{_or(want.limiter)}, {_or(want.regime)}, {_or(want.trust)}"
            named = f"{got.limiter}, {got.regime}, {got.trust}"
            alike[row.mark, expected, named, want.why].append(row.name)
    yield "| rows | mark | expected | diskbench | why |"
    yield "| --- | --- | --- | --- | --- |"
    for cells, names in alike.items():
        yield f"| {', '.join(names)} | {' | '.join(cells)} |"


def _or(words):
    return " or ".join(words)


def main():
    """Print the counts, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    found = rows()
    if options.write:
        PAGE.write_text(page(found), encoding="utf-8")
    for part in (_counts, _confusion, _cliffs, _failures):
        print("\n".join(part(found)), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
