"""The tables of the clouds' errors, and their one reader."""

import re
from string import Formatter

import pytest

from diskbench import errors
from diskbench.errors import AccessDenied, NoCapacity, QuotaExceeded, RentalFailed, Throttled
from diskbench.plugin import plugins, resolve
from diskbench.providers.error_table import ErrorRow, ErrorTable, error_of

GIVEN = {"said", "code", "action", "told"}
"""What the reader fills by itself."""
ADDED = {
    "aws": {"flag"}, "azure": {"namespace"}, "gcp": set(), "vsphere": {"privilege", "datastore"},
}  # fmt: skip
"""What a cloud's own code adds."""
TABLES: dict[str, ErrorTable] = {one.name: resolve(one.errors) for one in plugins() if one.errors}


def names_of(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("cloud", sorted(ADDED))
def test_a_table_answers_everything_and_no_row_hides_another(cloud):
    table = TABLES[cloud]
    last = table[-1]
    assert (last.codes, last.statuses, last.action) == ((), (), ""), "it matches everything"
    for position, row in enumerate(table[:-1]):
        assert row.codes or row.statuses or row.said, "every other row says when it matches"
        for code in (one for one in row.codes if re.fullmatch(r"\w+", one)):
            before = [r for r in table[:position] if not r.said and r.action in {"", row.action}]
            patterns = [pattern for one in before for pattern in one.codes]
            hidden = any(re.fullmatch(pattern, code) for pattern in patterns)
            assert not hidden, f"{code} never reaches its row"


@pytest.mark.parametrize("cloud", sorted(ADDED))
def test_every_template_can_be_filled_whatever_the_cloud_says(cloud):
    for row in TABLES[cloud]:
        captured = {name for pattern in row.codes for name in re.compile(pattern).groupindex}
        filled = GIVEN | ADDED[cloud] | captured | set(row.otherwise)
        assert names_of(row.message) | names_of(row.advice) <= filled
        for template in row.otherwise.values():
            assert names_of(template) <= GIVEN | ADDED[cloud]


def test_every_cloud_has_a_table_with_the_classes_that_decide_what_happens_next():
    """Each public cloud tells capacity, quota, rights, throttling, values and the rest apart."""
    assert set(TABLES) == set(ADDED)
    for cloud in ("aws", "azure", "gcp"):
        kinds = {row.kind for row in TABLES[cloud]}
        told = {NoCapacity, QuotaExceeded, AccessDenied, Throttled, RentalFailed}
        assert told | {errors.InvalidValue} <= kinds, cloud


TABLE: ErrorTable = (
    ErrorRow(NoCapacity, "full: {told}", "elsewhere", codes=("Full",), action="machines.make"),
    ErrorRow(QuotaExceeded, "quota {what} of {whom}", codes=("(?P<what>.*)Limit",),
             found=("by (?P<whom>\\w+)",), otherwise={"whom": "{action}"}),
    ErrorRow(Throttled, "later: {said}", "look at the page", statuses=range(500, 600)),
    ErrorRow(RentalFailed, "refused: {told}", "its own reason"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("code", "said", "action", "status", "kind", "message"),
    [
        ("Full", "no", "machines.make", 400, NoCapacity, "full: no (Full)"),
        ("Full", "no", "disks.make", 400, RentalFailed, "refused: no (Full)"),
        ("DiskLimit", "set by ann", "x", 400, QuotaExceeded, "quota Disk of ann"),
        ("DiskLimit", "no", "x", 400, QuotaExceeded, "quota Disk of x"),
        ("", "{braces}", "x", 503, Throttled, "later: {braces}"),
        ("", "no", "x", 404, RentalFailed, "refused: no (404)"),
    ],
)
def test_the_first_row_that_matches_makes_the_error(code, said, action, status, kind, message):
    error = error_of(TABLE, (code,), said, action, status)
    assert (type(error), error.message) == (kind, message)


def test_what_to_look_at_stands_before_the_way_to_resume_and_a_row_matches_any_of_its_codes():
    error = error_of(TABLE, ("",), "x", "y", 500)
    assert isinstance(error, Throttled)
    assert error.look_at == "look at the page"
    assert error.advice == "look at the page, then diskbench resume"
    table = (ErrorRow(AccessDenied, "{code}", codes=("Base",)), ErrorRow(RentalFailed, "the rest"))
    error = error_of(table, ("Derived", "Base"), "x", "y")
    assert (type(error), error.message) == (AccessDenied, "Derived")
