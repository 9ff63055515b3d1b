"""The page of a run in the site: a report (report/page/page.py) with links to its configuration,
its evidence and the other runs of its trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.report.templates import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.report.site.index import Site


@dataclass(frozen=True)
class Around:
    """The links of a run: its configuration (key and words) and the other runs of its trial."""

    key: str
    words: str
    others: Sequence[tuple[str, str]] = ()


def in_site(html: str, site: Site, around: Around, files: Sequence[tuple[str, str]] = ()) -> str:
    """A report's page with the site's links; `files` are its evidence files with relative paths."""
    parts: Any = environment().get_template("site_run.html.j2").module
    values = {"site": site, "around": around, "files": files}
    html = _put(html, "<body>", str(parts.nav(**values)), after=True)
    return _put(html, "<footer>", str(parts.evidence(**values)), after=False)


def _put(html: str, mark: str, text: str, *, after: bool) -> str:
    before, matched, rest = html.partition(mark) if after else html.rpartition(mark)
    assert matched, f"the page of a run has no {mark}"
    return f"{before}{mark}{text}{rest}" if after else f"{before}{text}{mark}{rest}"
