"""A report as PDF, rendered by WeasyPrint from the HTML page, without a browser."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from diskbench.errors import InvalidValue
from diskbench.extras import missing
from diskbench.report.page.page import page

if TYPE_CHECKING:
    from diskbench.report.assemble.report_view import Report

MOST_TRIALS = 40
"""With more trials only the common tables and charts are printed: a thousand pages are too many to
read."""

NO_GRIDS = """
main, .parts { display: block !important }
main > *, .parts > * { margin-bottom: 1rem !important }
"""
"""WeasyPrint repeats the layout of a grid for every enclosing grid: twelve trials took minutes."""


def pdf(report: Report) -> bytes:
    """The page as PDF, A4. Raises ExtraMissing without WeasyPrint, InvalidValue without Pango."""
    try:
        import weasyprint
    except ImportError as error:
        raise missing("pdf", "PDF needs WeasyPrint") from error
    except OSError as error:
        raise InvalidValue(
            f"PDF needs Pango: {error}",
            advice="apt-get install libpango-1.0-0 libpangoft2-1.0-0; or write .html and print it "
            "from a browser",
        ) from error
    # WeasyPrint warns about each CSS property of the page that it does not support.
    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    logging.getLogger("fontTools").setLevel(logging.CRITICAL)
    if len(report.trials) > MOST_TRIALS:
        report = replace(report, folded=False)
    html = weasyprint.HTML(string=page(report, paper=True), url_fetcher=_refused)
    return bytes(html.write_pdf(stylesheets=[weasyprint.CSS(string=NO_GRIDS)]))


def _refused(url: str, *_: object, **__: object) -> NoReturn:
    """Refuse every fetch: a report is complete in itself."""
    raise ValueError(f"a report fetches nothing; it asked for {url}")
