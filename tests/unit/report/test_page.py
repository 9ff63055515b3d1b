import dataclasses
from html.parser import HTMLParser

import pytest
from tests.unit.report.made import plan, row

from diskbench.analysis.phases import step_phases
from diskbench.analysis.synthetic import Noise, steps
from diskbench.errors import InvalidValue
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.report.page import page, write_report
from diskbench.report.seconds import step_seconds
from diskbench.report.subject import subject_of_plan

pytestmark = pytest.mark.slow
EVIL = "<script>alert('x')</script>&\""


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


def series(name: str = "rand-read-4k-qd32", count: int = 10):
    return step_seconds(
        {"step": name, "step_index": 2, "second": n, "direction": "read", "iops": 100.0 + n}
        for n in range(count)
    )


def test_the_page_needs_nothing_from_elsewhere_and_runs_no_script():
    html = page(subject_of_plan(plan()), [row()], (), series())
    for tag, attributes in tags(html):
        assert tag not in ("script", "link", "iframe", "object", "img")
        assert not {"src", "href"} & attributes.keys()
    assert "@import" not in html
    assert "url(http" not in html


def test_it_has_light_and_dark_and_the_charts_follow():
    html = page(subject_of_plan(plan()), [row()], (), series())
    assert "prefers-color-scheme: dark" in html
    assert 'fill="var(--read)"' in html
    svg = html[html.index("<svg") : html.rindex("</svg>")]
    assert 'fill="#' not in svg, "a fixed colour would vanish in one of the modes"


def test_every_chart_has_a_title_the_unit_and_n():
    rows = [row(run_id="a"), row(run_id="b", iops=9000.0)]
    html = page(subject_of_plan(plan(runs=2)), rows, (), series())
    captions = [part.split("</figcaption>")[0] for part in html.split("<figcaption>")[1:]]
    assert len(captions) == 3 == html.count("<svg")
    assert "operations per second" in captions[0]
    assert "n = 2 runs" in captions[0]
    assert "time of one operation" in captions[1]
    assert "n = 2 runs" in captions[1]
    assert "IOPS in each second, n = 10 s" in captions[2]


def test_what_users_and_machines_wrote_is_text():
    subject = dataclasses.replace(subject_of_plan(plan()), title=EVIL, machine=EVIL, disk=EVIL)
    doubt = Warning(code=EVIL, message=EVIL, advice=EVIL, step=EVIL)
    html = page(subject, [row(EVIL)], [doubt], series(EVIL))
    assert "<script>alert" not in html
    assert "script" not in {tag for tag, _ in tags(html)}
    assert "&lt;script&gt;" in html


def test_ranges_name_their_unit_once_and_vanish_where_there_is_none():
    rows = [row(run_id="a", lat_mean_ns=2.5e6), row(run_id="b", lat_mean_ns=2.6e6)]
    html = page(subject_of_plan(plan(runs=2)), rows, ())
    assert "<small>2.50–2.60 ms</small>" in html
    assert "<small>41.0" not in html


def test_a_run_without_rows_still_has_a_page():
    assert "No measured step finished" in page(subject_of_plan(plan()), [], ())


def test_pictures_are_what_their_ending_says(tmp_path):
    subject = subject_of_plan(plan())
    for ending, magic in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!doctype html>")):
        path = tmp_path / f"result{ending}"
        write_report(path, subject, [row()], ())
        assert path.read_bytes().lstrip().startswith(magic)


def test_another_ending_or_an_unwritable_place_is_the_users_error(tmp_path):
    subject = subject_of_plan(plan())
    with pytest.raises(InvalidValue, match=r"cannot write a \.pdf file"):
        write_report(tmp_path / "result.pdf", subject, [row()], ())
    with pytest.raises(InvalidValue, match="cannot write"):
        write_report(tmp_path / "missing" / "result.html", subject, [], ())


def test_phases_stand_on_the_page_instead_of_a_mean_across_them():
    series = steps([(3000, 1862), (100, 600)], Noise(sd=0.0), seed=1)
    found = step_phases(series, series * 4096).model_copy(update={"step": "rand-read-4k-qd32"})
    html = page(subject_of_plan(plan()), [row(iops=2293.0)], (), (), phases=[found])
    assert "baseline 31:02–41:02    100 IOPS" in html
    assert "burst 3,000 for 31:02 of rand-read-4k-qd32, then baseline 100" in html
    assert "<td>mixed</td>" in html
    assert "<td>2,293</td>" not in html
