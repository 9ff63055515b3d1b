"""Charts of posts as pages: in the dark, on a phone, by keyboard, without a script."""

import pytest
from tests.browser.watched import hard_to_read, overflowing, serious_violations

from diskbench.cli.main import main
from diskbench.report.published.draw import POST_CHARTS

KINDS = {chart.kind: chart for chart in reversed(POST_CHARTS)}
"""One of each kind."""


@pytest.fixture(scope="package")
def chart_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")

    def made(post, name):
        file = folder / f"{post}-{name}.html"
        if not file.exists():
            assert main(["report", "--post", post, "--chart", name, "-o", str(file), "-q"]) == 0
        return file

    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_every_kind_of_chart_is_readable_everywhere(opened, chart_page, kind, width, dark):
    chart = KINDS[kind]
    page = opened(chart_page(chart.post, chart.name), width=width, dark=dark)
    assert overflowing(page) == 0
    assert hard_to_read(page) == []
    assert serious_violations(page) == []
    assert page.locator("figure .drawing:visible [role=graphics-symbol][aria-label]").count()
