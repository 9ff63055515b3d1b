"""The tables in docs/evidence say what today's rules say: a fixed part always, all of it in the
thorough run."""

import pytest
from benchmarks import identify_lab, rates, scoreboard

QUICK = (
    ("splits", "100 runs, φ 0.44, sd 15 %"),
    ("refill", "`aws:gp2:20`"),
    ("tail", "0.5"),
    ("tail", "1"),
)
AGAIN = "run python -m benchmarks.rates --write and read what changed"


@pytest.mark.parametrize(("table", "name"), QUICK)
def test_a_line_of_the_rates_is_up_to_date(table: str, name: str) -> None:
    wanted = rates.line(rates.TABLES[table], name)
    assert wanted in rates.PAGE.read_text(encoding="utf-8").splitlines(), AGAIN


def test_every_line_of_the_rates_stands_on_the_page() -> None:
    written = rates.PAGE.read_text(encoding="utf-8")
    names = [name for table in rates.TABLES.values() for name in table.lines]
    assert [name for name in names if f"\n| {name} |" not in written] == [], AGAIN


@pytest.mark.thorough
def test_the_rates_are_up_to_date() -> None:
    assert rates.PAGE.read_text(encoding="utf-8") == rates.page(), AGAIN


@pytest.mark.parametrize("name", ["aws:gp2:123", "aws:sc1:2048", "azure:Premium_LRS:64"])
def test_a_line_of_identify_is_up_to_date(name: str) -> None:
    disk = next(one for one in identify_lab.DISKS if one.name == name)
    found = identify_lab.answer(disk, identify_lab.kept()[name])
    wanted = list(identify_lab.table([found]))[-1]
    assert wanted in identify_lab.PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.thorough
def test_the_table_of_identify_is_up_to_date() -> None:
    written = identify_lab.PAGE.read_text(encoding="utf-8")
    assert written == identify_lab.page(), "run python -m benchmarks.identify_lab --write"


def test_the_scoreboard_is_up_to_date_and_has_no_absurd_verdict() -> None:
    found = scoreboard.rows()
    assert not [row.name for row in found if row.mark == "absurd"]
    wanted = scoreboard.page(found)
    written = scoreboard.PAGE.read_text(encoding="utf-8")
    assert written == wanted, "run python -m benchmarks.scoreboard --write and read what changed"
