"""A report as one HTML file that needs only a browser: no network access, and readable without
its script.

Charts are embedded as SVG whose colours are CSS variables, so they follow the reader's light or
dark mode. The only script shows the words of a mark (assets/page.js); the content security policy
allows that script by its hash and nothing else. Text from a user, a machine or a cloud is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.report.page.charts import drawn
from diskbench.report.templates import asset, environment, styled

if TYPE_CHECKING:
    from diskbench.report.assemble.report_view import Report

MOST_TABLES = 6
"""Up to this many subjects get a table each; more share one table with a row per step."""


def page(report: Report, *, paper: bool = False) -> str:
    """The report as HTML; for `paper` with fixed colours and without a script."""
    return environment().get_template("page.html.j2").render(**_words(report, paper=paper))


def _words(report: Report, *, paper: bool) -> dict[str, Any]:
    single = report.single
    return styled("page.css", "" if paper else asset("page.js")) | {
        "report": report,
        "single": single,
        "trials": report.trials if single or report.folded else (),
        "compact": len(report.groups) > MOST_TABLES,
        "over": drawn(report.over, first=len(report.inside) + 1, paper=paper),
        "inside": drawn(report.inside, paper=paper),
        "inside_of": report.inside_of if report.runs > 1 else "",
        "inside_first": bool(single and single.fell and single.fell.run_id),
    }
