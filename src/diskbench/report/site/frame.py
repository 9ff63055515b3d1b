"""What the pages of a site share: its values, the addresses of its pages, and their HTML frame. A
page contains its style and script, and its policy forbids all network requests: it works from a
file as well as from any host."""

from dataclasses import dataclass

import diskbench
from diskbench.report.assemble.words import row_href, utc_moment
from diskbench.report.templates import asset, environment, styled

METRIC_TITLES = {
    "iops": "IOPS",
    "bytes_per_s": "MB/s",
    "lat_mean_ns": "mean latency",
    "p50_ns": "p50 latency",
    "p99_ns": "p99 latency",
    "p99_9_ns": "p99.9 latency",
}


@dataclass(frozen=True)
class Site:
    """The options of a site, which all its pages share. `url` is its public address (with a
    trailing `/`; empty: not known), `evidence_base` the readers' URL of the evidence store (without
    one), `evidence_url` the store given on the command line."""

    title: str = "Disk benchmarks"
    url: str = ""
    anonymous: bool = False
    with_evidence: bool = False
    evidence_base: str | None = None
    evidence_url: str | None = None
    full: bool = False


def trial_name(trial_id: str) -> str:
    """The file name of a trial's page within the site."""
    return f"trials/{trial_id}.html"


def run_href(trial_id: str, run_id: str) -> str:
    """The address of a run within the site: an anchor in the page of its trial."""
    return f"{trial_name(trial_id)}{row_href(run_id)}"


def configuration_name(key: str) -> str:
    """The file name of a configuration's page within the site."""
    return f"configurations/{key}.html"


def moment(utc: str) -> str:
    """`2026-11-21 10:00` in UTC, because readers are anywhere; words for an unknown time."""
    return utc_moment(utc).removesuffix(" UTC")


def day(utc: str) -> str:
    """`2026-11-21`, in UTC."""
    return moment(utc)[: len("2026-11-21")]


def days(first: str, last: str) -> str:
    """`2026-11-21 to 2026-11-23`, in UTC; one day alone."""
    return day(first) if day(first) == day(last) else f"{day(first)} to {day(last)}"


def render(
    template: str, site: Site, *, here: str = "", up: str = "", charts: bool = False, **more: object
) -> bytes:
    """A page of the site in UTF-8; `charts`: it contains charts. All text from users and machines
    is escaped."""
    scripts = [asset("site.js"), *([asset("page.js")] if charts else [])]
    of_site = {"site_title": site.title, "version": diskbench.__version__}
    values = {"here": here, "up": up, "charts": charts, **styled("site.css", *scripts), **more}
    return environment().get_template(template).render(of_site | values).encode()
