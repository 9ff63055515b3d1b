"""What a storage engineer would say of each row of the scoreboard, read from its files."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

ROWS = Path(__file__).parent / "scoreboard_rows"
ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "cases" / "limiter"


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
        name: (yaml.safe_load((CASES / f"{name}.yaml").read_text()), expected(row))
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
    return yaml.safe_load((ROWS / name).read_text(encoding="utf-8"))


def _several(value):
    return tuple(value) if isinstance(value, list) else (value,)
