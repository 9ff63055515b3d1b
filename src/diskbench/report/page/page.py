"""A report as one HTML file (or a PDF of it) that needs only a browser: no network access, and
readable without its script, which the content security policy allows by its hash and nothing else.
Charts are SVG whose colours follow the reader's mode. All foreign text is escaped.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from markupsafe import Markup

from diskbench.errors import InvalidValue
from diskbench.extras import missing
from diskbench.report.assemble.report_view import Report
from diskbench.report.charts.figure import ChartFigure, in_light, svg, unbroken
from diskbench.report.templates import asset, environment, styled

WIDE_PX = 520
"""A drawing wider than this, in pixels, gets a row of the page to itself: two cards beside each
other have room for narrower ones."""


def drawn(
    figures: Sequence[ChartFigure], *, first: int = 1, paper: bool = False
) -> list[dict[str, Any]]:
    """Each `figure` with its drawing (`svg`) on the axis that suits its data, its alternative text,
    the `width` that vega wrote into it, and whether it is `wide`. Those without an id are numbered
    from `first`. On paper colours are fixed."""
    charts = []
    for number, one in enumerate(figures, first):
        subtitle, id_ = unbroken(one.subtitle), one.id or f"chart-{number}"
        figure = replace(one, subtitle=subtitle, id=id_)
        drawing = in_light(svg(figure)) if paper else svg(figure)
        found = re.search(r' width="([0-9.]+)"', drawing)
        width = round(float(found[1])) if found else 0
        charts.append(
            {
                "figure": figure,
                "svg": Markup(drawing),  # noqa: S704 - Vega escapes every text
                "alt": figure.alt or f"{figure.title}.",
                "width": width,
                "wide": width > WIDE_PX,
            }
        )
    return charts


NOTHING = Markup()


def page(
    report: Report, *, paper: bool = False, nav: Markup = NOTHING, evidence: Markup = NOTHING
) -> str:
    """The report as HTML; for `paper` with fixed colours and without a script. A site has its links
    above, and below the files of `evidence` that it copied."""
    single = report.single
    return environment().get_template("page.html.j2").render(
        report=report,
        single=single,
        trials=report.trials if single or report.folded else (),
        over=drawn(report.over, first=len(report.inside) + 1, paper=paper),
        inside=drawn(report.inside, paper=paper),
        inside_of=report.inside_of if report.runs > 1 else "",
        inside_first=bool(single and single.fell and single.fell.run_id),
        nav=nav,
        evidence=evidence,
        **styled("page.css", *([] if paper else [asset("page.js")])),
    )  # fmt: skip


MOST_TRIALS = 40
"""With more trials only the common tables and charts are printed: a thousand pages are too many to
read."""


def pdf(report: Report) -> bytes:
    """The page as PDF, A4. Raises ExtraMissing without WeasyPrint, InvalidValue without Pango."""
    try:
        import weasyprint
    except ImportError as error:
        raise missing("pdf", "PDF needs WeasyPrint") from error
    except OSError as error:
        packages = "apt-get install libpango-1.0-0 libpangoft2-1.0-0"
        advice = f"{packages}; or write .html and print it from a browser"
        raise InvalidValue(f"PDF needs Pango: {error}", advice=advice) from error
    # WeasyPrint warns about each CSS property of the page that it does not support.
    for chatty in ("weasyprint", "fontTools"):
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    if len(report.trials) > MOST_TRIALS:
        report = replace(report, folded=False)
    html = weasyprint.HTML(string=page(report, paper=True), url_fetcher=_refused)
    return bytes(html.write_pdf(stylesheets=[weasyprint.CSS(string=asset("pdf.css"))]))


def _refused(url: str, *_: object, **__: object) -> NoReturn:
    """Refuse every fetch: a report is complete in itself."""
    raise ValueError(f"a report fetches nothing; it asked for {url}")
