import dataclasses
import hashlib
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.measured import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result
from tests.rigs.searching import examples
from tests.unit.report.made import plan, row
from tests.unit.report.reported import fallen, group, judged, report, reported, trial, verdict

from diskbench.analysis.figure import middle
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.assemble.lines import lines
from diskbench.report.assemble.subject import RunFacts, subject_of_plan
from diskbench.report.charts.palette import LIGHT
from diskbench.report.charts.summary import latency_chart, rate_charts
from diskbench.report.page.page import page, pdf
from diskbench.store.database import open_database
from diskbench.store.step_rows import load_results, save_step

pytestmark = pytest.mark.slow
EVIL = "<script>alert('x')</script>&\"</style>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(html)
    return parser.seen


def charts(rows):
    return (*rate_charts(lines(rows)), latency_chart(lines(rows)))


def test_the_page_needs_nothing_from_elsewhere_and_only_its_own_script_may_run():
    html = page(report(trial(verdicts=(fallen(),)), over=charts([row()])))
    for tag, attributes in tags(html):
        assert tag not in ("link", "iframe", "object", "img", "base")
        assert "src" not in attributes
        assert not (attributes.get("href") or "#").startswith("http")
    assert "@import" not in html
    assert "url(http" not in html
    html = page(report())
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    policy = next(a["content"] for tag, a in tags(html) if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    allowed = re.search(r"script-src 'sha256-([^']+)'", policy)
    assert b64decode(allowed.group(1)) == hashlib.sha256(script.encode()).digest()


def test_it_has_light_and_dark_and_the_charts_follow():
    html = page(report(over=charts([row()])))
    assert "prefers-color-scheme: dark" in html
    assert 'fill="var(--read)"' in html
    svg = html[html.index("<svg") : html.rindex("</svg>")]
    assert 'fill="#' not in svg, "a fixed colour would vanish in one of the modes"


def test_every_chart_has_a_title_the_unit_and_n_and_words_for_who_cannot_see_it():
    rows = [row(run_id="a"), row(run_id="b", iops=9000.0)]
    html = page(report(over=charts(rows)))
    captions = [part.split("</figcaption>")[0] for part in html.split("<figcaption>")[1:]]
    assert len(captions) == 2
    assert "operations per second" in captions[0]
    assert "n\u00a0=\u00a02 runs" in captions[0]
    assert "time of one operation" in captions[1]
    drawings = [a for _, a in tags(html) if "drawing" in (a.get("class") or "").split()]
    assert all(one["aria-label"] for one in drawings)


def test_a_pdf_has_the_drawings_of_the_page():
    rates, latency = charts([row(), row("b", step_index=1)])
    told = trial(verdicts=(fallen(),))
    data = pdf(report(told, inside=(rates, latency), over=(rates,)))
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    drawn = b"".join(map(zlib.decompress, filter(lambda one: one[:1] == b"x", streams)))
    red, green, blue = (int(LIGHT["--read"][at : at + 2], 16) / 255 for at in (1, 3, 5))
    fills = re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg", drawn)
    marks = [one for one in fills if list(map(float, one)) == pytest.approx([red, green, blue])]
    assert len(marks) == 2 * 2 + 2 * 4, "bars of both steps, twice, and their latencies"


def test_what_users_and_machines_wrote_is_text():
    subject = dataclasses.replace(
        subject_of_plan(plan()), title=EVIL, machine=EVIL, disk=EVIL, question=EVIL, target=EVIL
    )
    doubt = Warning(code=EVIL, message=EVIL, advice=EVIL, step=EVIL)
    told = trial(
        [row(EVIL)], subject=subject, warnings=(doubt,), notes=(EVIL,), job=EVIL, again=EVIL,
        labels=((EVIL, EVIL), ("colour", "red;}</style><script>alert(1)</script>")),
        place=EVIL, cost=EVIL, versions=((EVIL, EVIL),),
        runs=(RunFacts("r", "failed", error=EVIL, advice=EVIL, evidence=f"javascript:{EVIL}"),),
        verdicts=(verdict(judged(1.0, evidence=(EVIL,)), step=EVIL, trust="no"),),
    )  # fmt: skip
    html = page(report(told, words=EVIL, over=charts([row(EVIL)]), left_out=(EVIL,), made=EVIL))
    both = page(report(told, dataclasses.replace(told, trial_id="b"), words=EVIL))
    for shown in (html, both):
        assert "<script>alert" not in shown
        assert [tag for tag, _ in tags(shown)].count("script") == 1
        assert shown.count("</style>") == 1
        assert "&lt;script&gt;" in shown
        assert not any((a.get("href") or "").startswith("javascript:") for _, a in tags(shown))


def test_ranges_name_their_unit_once_and_vanish_where_there_is_none():
    rows = [row(run_id="a", lat_mean_ns=2.5e6), row(run_id="b", lat_mean_ns=2.6e6)]
    html = page(report(trial(rows, count=2)))
    assert "<small>2.50–2.60 ms</small>" in html
    assert "<small>41.0" not in html


def test_evidence_is_a_link_only_where_a_browser_can_open_it():
    places = {"a": "https://e.example/runs/a/", "b": "s3://bucket/runs/b/"}
    runs = tuple(RunFacts(name, "done", evidence=place) for name, place in places.items())
    html = page(report(dataclasses.replace(trial(), runs=runs)))
    assert f'<a href="{places["a"]}">' in html
    assert f"<code>{places['b']}</code>" in html


def test_several_trials_are_folded_under_a_table_of_all():
    first = trial(trial_id="01a", verdicts=(verdict(judged(3000.0, 3000.0)),))
    second = trial(trial_id="01b", verdicts=(verdict(judged(1500.0, 3000.0)),))
    html = page(report(first, second))
    assert "2 trials: last" in html
    assert "2 trials, 2 runs, 2 machines" in html
    overview = html[html.index('id="row-group-1') : html.index("<details")]
    assert all(words in overview for words in ("2,250", "1,500–3,000", "no interval (n = 2)"))
    assert html.count('<details class="card trial"') == 2


def test_many_subjects_stand_in_one_table_and_lead_to_what_each_tells():
    def one(n):
        told = trial(trial_id=f"01t{n}", verdicts=(verdict(judged(1000.0 + n, 3000.0)),))
        return group(f"aws gp2 {n} GiB, quick", told, short=f"gp2 {n} GiB", number=n)

    html = page(reported(map(one, range(7)), common="aws, quick"))
    table = html[html.index('<table class="together">') : html.index("<details")]
    assert "In common: aws, quick." in html
    assert "Each trial is shown in full below the charts; click its name." in html
    assert table.count("<tr id=") == 7
    for n in range(7):
        assert f'<a href="#row-01t{n}">gp2 {n} GiB</a>' in table
        assert f'id="row-01t{n}"' in html
        assert f'<td class="n">1,00{n}</td>' in table
    assert "no interval (n = 1)" in table
    groups = (group(f"{n}{EVIL}", trial(trial_id=f"01t{n}"), number=n) for n in range(7))
    html = page(reported(groups, common=EVIL))
    assert "<script>alert(" not in html
    assert html.count("alert(&#39;x&#39;)") >= 8


# Every number on a page equals the store's: rows are saved, the page is made of what the store
# gives back, and its tables are read as a reader does, with no word of how they were written.


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
        save_step(database, run_id, a_result(row(run_id=run_id, step_index=0, **values)))
    stored = [one for of in load_results(database, *ids).values() for one in of[0].measurements]
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
