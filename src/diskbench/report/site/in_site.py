"""The page of a trial in the site: a report (report/page/page.py) with links to its configuration
and the evidence of its runs; and the pages that lead from former addresses of runs to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.words import row_href
from diskbench.report.templates import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.report.site.index import Site

Files = tuple[tuple[str, str], ...]
"""The names of evidence files with their relative paths."""


@dataclass(frozen=True)
class Around:
    """The configuration of a trial: the key of its page, and its words."""

    key: str
    words: str


def trial_name(trial_id: str) -> str:
    """The file name of a trial's page within the site."""
    return f"trials/{trial_id}.html"


def run_href(trial_id: str, run_id: str) -> str:
    """The address of a run within the site: an anchor in the page of its trial."""
    return f"{trial_name(trial_id)}{row_href(run_id)}"


def in_site(html: str, site: Site, around: Around, files: Mapping[str, Files]) -> str:
    """A report's page with the site's links; `files` are the evidence files of each run."""
    parts: Any = environment().get_template("site_trial.html.j2").module
    values = {"site": site, "around": around, "files": files}
    html = _put(html, "<body>", str(parts.nav(**values)), after=True)
    return _put(html, "<footer>", str(parts.evidence(**values)), after=False)


def moved_page(trial_id: str, run_id: str) -> str:
    """The page at the address that a run's page had before trials had pages: it leads on."""
    return (
        environment()
        .get_template("site_moved.html.j2")
        .render(run_id=run_id, href=f"../{run_href(trial_id, run_id)}")
    )


def _put(html: str, mark: str, text: str, *, after: bool) -> str:
    before, matched, behind = html.partition(mark) if after else html.rpartition(mark)
    assert matched, f"the page of a trial has no {mark}"
    return f"{before}{mark}{text}{behind}" if after else f"{before}{text}{mark}{behind}"
