"""The charts that are redrawn for each post, by the name that `report --chart` takes.

The text of each chart says what it shows and which drawing of the post it redraws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from diskbench.catalog.post_file import Published
from diskbench.catalog.published import SEEDS
from diskbench.errors import UnknownName

Kind = Literal["bars", "multiples", "instances", "latency", "samples", "runs", "promised", "price"]
Named = Literal["disk", "disk and step", "disk and direction", "workload"]


@dataclass(frozen=True)
class PublishedFall:
    """A fall that a post reports: the run in which it happened, and how many runs are drawn."""

    run: int
    runs: int
    words: str


@dataclass(frozen=True)
class PostChart:
    """One chart of one post. `figures` are patterns of the ids to draw, without the post, in
    order; `metric` and `direction` filter them (None: all)."""

    post: str
    name: str
    kind: Kind
    heading: str
    words: str
    figures: tuple[str, ...]
    metric: str | None = None
    direction: str | None = None
    named: Named = "disk"
    fall: PublishedFall | None = None

    def of(self, figures: Iterable[Published]) -> tuple[Published, ...]:
        """The figures that the chart draws, pattern by pattern."""
        of_post = [figure for figure in figures if figure.seed == self.post]
        return tuple(
            figure
            for pattern in self.figures
            for figure in of_post
            if fnmatchcase(figure.id, f"{self.post}/{pattern}")
            and self.metric in (None, figure.metric)
            and self.direction in (None, figure.direction)
        )


_ALL = ("results/*",)
_CLOUDS = tuple(
    f"results/{disk}/*"
    for disk in ("standard", "gp2", "io1-1000", "standard-20", "premium-256", "pd-standard-20",
                 "pd-standard-256", "pd-ssd-20", "pd-ssd-256")
)  # fmt: skip
_IAAS = (
    PostChart(
        "iaas-2018", "iops", "bars", "IOPS of twelve disks, 2018",
        "the post's IOPS chart, with the local SSDs that it had to leave out",
        _ALL, "iops", "total",
    ),
    PostChart(
        "iaas-2018", "read", "bars", "Sequential reads of twelve disks, 2018",
        "the post's read chart, with the local SSDs", _ALL, "bytes_per_s", "read",
    ),
    PostChart(
        "iaas-2018", "write", "bars", "Sequential writes of twelve disks, 2018",
        "the post's write chart, with the local SSDs", _ALL, "bytes_per_s", "write",
    ),
    PostChart(
        "iaas-2018", "aws", "multiples", "Three disks of AWS, 2018",
        "the post's AWS chart with its two axes, as panels side by side",
        ("results/standard/*", "results/gp2/*", "results/io1-1000/*"),
    ),
    PostChart(
        "iaas-2018", "azure", "multiples", "Disks of Azure with and without host caching, 2018",
        "the post's Azure chart with its two axes, as panels side by side",
        ("results/standard-20/*", "azure-caching/*", "results/premium-256/*"),
    ),
    PostChart(
        "iaas-2018", "throttling", "runs", "Google's pd-standard 20 GiB falls in its fifth run",
        "the post's chart of Google's throttling over ten runs, IOPS, read and write",
        ("before-the-fall/pd-standard-20/*", "after-the-fall/pd-standard-20/*"),
        fall=PublishedFall(
            5, 10, "the post: performance fell after four runs, about twenty minutes"
        ),
    ),
    PostChart(
        "iaas-2018", "throttling-aws", "runs", "AWS gp2 20 GiB falls in its 34th run",
        "the post's chart of AWS's throttling over forty runs, with the predicted cliff",
        ("results/gp2/iops",),
        fall=PublishedFall(34, 40, "the post: performance fell in the 34th run, after three hours"),
    ),
    PostChart(
        "iaas-2018", "local", "multiples", "Local SSDs against Google's fastest disk, 2018",
        "the post's chart of local disks",
        ("results/pd-ssd-256/*", "results/sata-ssd/*", "results/nvme-ssd/*"),
    ),
    PostChart(
        "iaas-2018", "promised", "promised", "IOPS measured in 2018 against promises",
        "the post's Azure IOPS against the 1,100 expected, for every disk of the catalogue",
        _CLOUDS, "iops",
    ),
    PostChart(
        "iaas-2018", "overview", "multiples", "IOPS, read and write of twelve disks, 2018",
        "the post's table as one picture", _ALL,
    ),
    PostChart(
        "iaas-2018", "google", "multiples", "Four disks of Google, 2018",
        "as the post has it of AWS and Azure",
        ("results/pd-standard-20/*", "results/pd-standard-256/*",
         "results/pd-ssd-20/*", "results/pd-ssd-256/*"),
    ),
    PostChart(
        "iaas-2018", "price", "price", "What IOPS cost",
        "the post's words about price, drawn", _CLOUDS, "iops",
    ),
    PostChart(
        "iaas-2018", "price-read", "price", "What sequential reads cost",
        "the same of throughput", _CLOUDS, "bytes_per_s", "read",
    ),
    PostChart(
        "iaas-2018", "bonnie", "multiples", "The faster of two SSDs looks slower with bonnie++",
        "the post's table of bonnie++, which one core could not keep up with", ("bonnie/*",),
    ),
)  # fmt: skip
_AZURE = (
    PostChart(
        "azure-caching", "latency", "latency", "Latencies of disks of Azure",
        "the post's table: mean, shortest and longest, reads and writes",
        ("latencies/*",), named="disk and direction",
    ),
    PostChart(
        "azure-caching", "read", "latency", "Read latencies of disks of Azure",
        "its reads", ("latencies/*",), direction="read", named="disk and direction",
    ),
    PostChart(
        "azure-caching", "write", "latency", "Write latencies of disks of Azure",
        "its writes", ("latencies/*",), direction="write", named="disk and direction",
    ),
)  # fmt: skip
_EBS_TYPES = (
    PostChart(
        "ebs-types", "reads", "instances", "Buffered reads of seven disks on two machines, 2017",
        "both tables of hdparm -t side by side: on m3.medium the machine is the limit",
        ("m3.medium-read/*/buffered", "c3.8xlarge-read/*/buffered"),
    ),
    PostChart(
        "ebs-types", "writes", "instances", "dd onto seven disks of two machines, 2017",
        "both tables of dd side by side", ("m3.medium-write/*", "c3.8xlarge-write/*"),
    ),
    PostChart(
        "ebs-types", "samples", "samples", "Five samples of buffered reads, c3.8xlarge, 2017",
        "every sample in the post", ("c3.8xlarge-read/*/buffered",),
    ),
    PostChart(
        "ebs-types", "cached", "instances", "hdparm -T: reads of memory, not of disks, 2017",
        "the cached reads, which are the same for all disks of a machine",
        ("m3.medium-read/*/cached", "c3.8xlarge-read/*/cached"),
    ),
)  # fmt: skip
_SAN = (
    PostChart(
        "san-vs-local", "iops", "bars", "A SAN against one SATA disk, 2009",
        "the post's four charts in one: linear and logarithmic, aberrant figures marked",
        ("stated/*", "aberrant/*"), "iops", named="disk and step",
    ),
    PostChart(
        "san-vs-local", "believable", "bars", "A SAN against one SATA disk, 2009, no cache",
        "its charts without the two aberrant figures", ("stated/*",), "iops", named="disk and step",
    ),
    PostChart(
        "san-vs-local", "read", "bars", "Reads of a SAN against one SATA disk, 2009",
        "its throughput", ("stated/*",), "bytes_per_s", named="disk and step",
    ),
)  # fmt: skip
_EBS_FIO = (
    PostChart(
        "ebs-fio", "burst", "bars", "gp2 with a file of 25 MB and one of 250 MB",
        "a second on credit, and more", ("fio/*",), "iops", named="workload",
    ),
)  # fmt: skip

POST_CHARTS: tuple[PostChart, ...] = (*_IAAS, *_AZURE, *_EBS_TYPES, *_SAN, *_EBS_FIO)


def charts_of(post: str) -> tuple[PostChart, ...]:
    """The charts of one post. Raises UnknownName."""
    if post not in SEEDS:
        raise UnknownName("post", post, SEEDS)
    return tuple(chart for chart in POST_CHARTS if chart.post == post)


def find_chart(post: str, name: str) -> PostChart:
    """One chart of a post by its name. Raises UnknownName for an unknown post or chart."""
    charts = charts_of(post)
    for chart in charts:
        if chart.name == name:
            return chart
    raise UnknownName(
        "chart",
        name,
        [chart.name for chart in charts],
        advice=f"`diskbench report --post {post} --chart list` shows all",
    )
