"""What all parts of one build of a site share."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from rich.progress import Progress

from diskbench.report.site.shown_runs import ShownRuns, shown_runs_of
from diskbench.report.terminal.screen import screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import AskedRun
    from diskbench.report.site.index import Site
    from diskbench.store.site_folder import SiteFolder
    from diskbench.store.where import Filter


@dataclass(frozen=True)
class SiteBuild:
    """The rows, the folder, and what the user asked for. `common` is a digest of what all pages
    depend on; `all_runs` are those of an anonymous site."""

    database: Engine
    folder: SiteFolder
    filters: Sequence[Filter]
    site: Site
    common: str
    all_runs: ShownRuns | None

    def shown(self, rows: Sequence[AskedRun]) -> ShownRuns:
        """What the site shows of these runs, newest first."""
        return shown_runs_of(rows, anonymous=False) if self.all_runs is None else self.all_runs


def configuration_name(key: str) -> str:
    """The file name of a configuration's page within the site."""
    return f"configurations/{key}.html"


def digest_of(*parts: object) -> str:
    """A digest of values that JSON can hold."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@contextmanager
def progress(pages: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress on a terminal; nothing for few pages, and nothing without a terminal."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    # If redirected, other output would reach rich before it is made visible.
    with Progress(
        console=screen(error=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(pages, total=total)
        yield lambda: bar.advance(task)
