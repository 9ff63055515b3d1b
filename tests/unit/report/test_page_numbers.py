"""Every number on a page equals the store's: rows are saved, the page is made of what the store
gives back, and its tables are read as a reader does, with no word of how they were written."""

from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.began import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.searching import examples
from tests.unit.report.made import row
from tests.unit.report.reported import report, trial

from diskbench.analysis.figure import middle
from diskbench.model.result import StepResult
from diskbench.report.page.page import page
from diskbench.store.database import open_database
from diskbench.store.step_rows import load_results, save_step

pytestmark = pytest.mark.slow

NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
RUNS = ("01kq8z6rj0bbbbbbbbbbbbbbb1", "01kq8z6rj0bbbbbbbbbbbbbbb2", "01kq8z6rj0bbbbbbbbbbbbbbb3")
COLUMNS = ("iops", "bytes_per_s", "lat_mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "lat_max_ns")


class Tables(HTMLParser):
    """The text of every cell, table by table; what is small stands apart."""

    def __init__(self):
        super().__init__()
        self.tables, self.into, self.small = {}, None, False

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.table = self.tables.setdefault(dict(attrs).get("class", ""), [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.into = ["", ""]
            self.table[-1].append(self.into)
        elif tag == "small":
            self.small = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.into = None
        elif tag == "small":
            self.small = False

    def handle_data(self, data):
        if self.into is not None:
            self.into[self.small] += data.strip()


def read(text):
    """A number as it stands there, in the unit of the store, and half of its last digit."""
    number, _, unit = text.partition(" ")
    digits = number.replace(",", "")
    _, _, decimals = digits.partition(".")
    factor = NS[unit] if unit else 1.0
    return float(digits) * factor, 0.5 * 10.0 ** -len(decimals) * factor


def shows(text, value, factor=1.0):
    """Whether a text is this value, rounded as its own digits say and to three of them at least."""
    told, half = read(text)
    value = value / factor
    return abs(told - value) <= half * 1.001 and (
        half <= 0.005 * abs(value) * 1.001 or half <= 0.5 or value < 1
    )


rates = st.floats(min_value=0.5, max_value=3e6)
times = st.floats(min_value=200.0, max_value=9e9)


@st.composite
def figures(draw):
    """One row's figures, of which quantiles may be missing."""
    mean = draw(times)
    quantiles = sorted(draw(st.lists(times, min_size=3, max_size=3)))
    known = draw(st.integers(0, 3))
    return {
        "iops": draw(rates),
        "bytes_per_s": draw(st.floats(min_value=1e4, max_value=2e10)),
        "lat_mean_ns": mean,
        "lat_max_ns": int(draw(times)),
        **dict(zip(COLUMNS[3:6], [*quantiles[:known], *[None] * (3 - known)], strict=True)),
    }


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    found = open_database(f"sqlite:///{tmp_path_factory.mktemp('db')}/rows.db")
    save_plan(found, make_plan(RUNS), "file:///e")
    for run_id in RUNS:
        begin_run(found, run_id)
    yield found
    found.dispose()


@given(of_runs=st.lists(figures(), min_size=1, max_size=3))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_number_of_the_tables_is_the_stores(database, of_runs):
    ids = RUNS[: len(of_runs)]
    for run_id, values in zip(ids, of_runs, strict=True):
        save_step(database, run_id, step_of(run_id, values))
    stored = [
        one for steps in load_results(database, *ids).values() for one in steps[0].measurements
    ]
    parser = Tables()
    parser.feed(page(report(trial(stored, count=len(ids)))))
    _, (step, direction, *cells) = parser.tables["figures"]
    assert (step[0], direction[0]) == ("rand-read-4k-qd32", "read")
    for name, (text, small) in zip(COLUMNS, cells, strict=False):
        values = [getattr(one, name) for one in stored]
        factor = 1e6 if name == "bytes_per_s" else 1.0
        if None in values:
            assert text == "–"
            continue
        worst_is_high = name not in ("iops", "bytes_per_s")
        told = middle(values, worst_is_high=worst_is_high)
        assert shows(text, told, factor), (name, text, values)
        if small:
            low, _, high = small.partition("–")
            unit = high.partition(" ")[2]
            low = low if " " in low or not unit else f"{low} {unit}"
            assert shows(low, min(values), factor), (name, small, values)
            assert shows(high, max(values), factor), (name, small, values)
    _, (step, iops, mb_per_s, *_) = parser.tables["restack results"]
    assert shows(iops[0], middle([one.iops for one in stored]))
    assert shows(mb_per_s[0], middle([one.bytes_per_s for one in stored]), 1e6)


def step_of(run_id, values):
    one = row(run_id=run_id, step_index=0, **values)
    return StepResult(
        step_index=0, step=one.step, role="measure", started_at="a", finished_at="b", fio_exit=0,
        fio_version="fio-3.33", measurements=(one,),
    )  # fmt: skip
