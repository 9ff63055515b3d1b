"""What others have published of cloud disks: every table of five well-known posts, as facts.

A figure is one cell of a table: which disk on which machine, measured with what, and the number in
our units beside what was printed. The files are data/published/SEED.yaml; their form is in
catalog/post_file.py. None of it was measured by diskbench, and none of it is a promise.

Which published figures are of the same disk and workload as a run, or why none is.

A figure matches a run when all of these agree, in this order:

    workload     the profile that repeats it, and the parameters that the figure names
    cloud        whose disk it is
    disk type    in the cloud's own name
    caching      the host's, where the figure says how it was set
    IOPS         provisioned, within a factor of 2 where both are known
    size         within a factor of 2 where both are known

The two factors are our choice. What is not known on either side does not part them: it is listed as
a reason why they may differ. Of several machines that match, those of the run's own instance type
are preferred. Where nothing matches, the nearest figures are those that part latest in this order.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from diskbench.catalog.post_file import Published, parse_post
from diskbench.errors import UnknownName, did_you_mean
from diskbench.model.base import Frozen
from diskbench.model.verdict import Verdict
from diskbench.yaml_lines import packaged

if TYPE_CHECKING:
    import polars as pl


SEEDS = ("iaas-2018", "azure-caching", "ebs-types", "san-vs-local", "ebs-fio")
"""The posts, named like the matrix that repeats them where there is one."""


class PublishedDocument(Frozen):
    """What `diskbench published … --output json` prints; `verdicts` by the ids of figures, where
    they are shown."""

    format: Literal[1] = 1
    published: tuple[Published, ...]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


@functools.cache
def load_published() -> tuple[Published, ...]:
    """All figures, post by post in the order of their tables. Reads package data only."""
    return tuple(
        figure
        for seed in SEEDS
        for figure in parse_post(packaged("diskbench.catalog", f"data/published/{seed}.yaml"), seed)
    )


def find_published(name: str) -> tuple[Published, ...]:
    """The figures of an id, or of the beginning of ids up to a slash: `iaas-2018`,
    `iaas-2018/results/gp2`. Raises UnknownName."""
    figure_id = name.strip().rstrip("/")
    figures = load_published()
    matches = tuple(f for f in figures if f.id == figure_id or f.id.startswith(f"{figure_id}/"))
    if not figure_id or not matches:
        known = {prefix for f in figures for prefix in prefixes(f.id)}
        raise UnknownName(
            "published figure",
            name,
            known,
            advice=f"{did_you_mean(figure_id, known)}'diskbench published list' shows all",
        )
    return matches


def prefixes(figure_id: str) -> tuple[str, ...]:
    """All names that `find_published` takes for a figure: its seed, table, disk, and itself."""
    parts = figure_id.split("/")
    return tuple("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def filtered(
    figures: Iterable[Published],
    *,
    seed: str | None = None,
    provider: str | None = None,
    disk: str | None = None,
) -> tuple[Published, ...]:
    """Those that meet all that is not None. `disk` is a type (`gp2`) or a part of the disk's words,
    in any case."""
    every = load_published()
    if seed is not None and seed not in SEEDS:
        raise UnknownName("post", seed, SEEDS)
    if provider is not None and provider not in (known := {f.provider for f in every}):
        raise UnknownName("provider with published figures", provider, known)
    part = (disk or "").casefold()
    matching = tuple(
        figure
        for figure in figures
        if (seed is None or figure.seed == seed)
        and (provider is None or figure.provider == provider)
        and (figure.disk_type == disk or part in figure.disk.casefold())
    )
    if disk is not None and not matching:
        raise UnknownName("published disk", disk, {f.disk_type for f in every})
    return matching


def published_frame() -> pl.DataFrame:
    """One row a figure, in the order of the posts and their tables: the post and the doubt in
    columns of their own."""
    import polars as pl

    rows = []
    for figure in load_published():
        row = figure.model_dump(mode="json", exclude={"post", "doubt"})
        post = figure.post.model_dump(include={"title", "author", "publisher", "date", "file"})
        doubt = figure.doubt
        told = {"doubt": doubt and doubt.code, "doubt_words": doubt and doubt.words}
        rows.append(row | {"parameters": json.dumps(row["parameters"])} | post | told)
    return pl.DataFrame(rows, infer_schema_length=None)


FACTOR = 2.0
"""Sizes and provisioned IOPS within it are taken for the same disk. Our choice."""

NEAREST = 3
_CRITERIA = ("workload", "cloud", "disk type", "caching", "IOPS", "size")


@dataclass(frozen=True)
class RunSubject:
    """What a run was of. None is unknown; `parameters` are the profile's as used. `by_tool`: the
    tool itself measured it, and fio did not repeat it."""

    profile: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    cloud: str | None = None
    disk_type: str | None = None
    size_gib: float | None = None
    iops: float | None = None
    cache: str | None = None
    instance_type: str | None = None
    region: str | None = None
    memory_gib: float | None = None
    by_tool: bool = False


@dataclass(frozen=True)
class Parted:
    """Where a figure and a run part first: one of the criteria, and the words."""

    criterion: str
    words: str


class NearFigure(Frozen):
    """A published disk that does not match, named by the prefix of its ids, and why.

    `same_workload`: it was measured with the run's workload, so it is compared when it is named.
    """

    name: str
    why: str
    same_workload: bool


@dataclass(frozen=True)
class Match:
    """The figures of the same disk and workload; where there is none, why, and the nearest."""

    figures: tuple[Published, ...]
    why_not: str = ""
    nearest: tuple[NearFigure, ...] = ()


def match(asked: RunSubject, figures: Iterable[Published]) -> Match:
    """The published figures that a run may be set beside."""
    parted = [(figure, part(asked, figure)) for figure in figures]
    if matched := tuple(figure for figure, where in parted if where is None):
        same = tuple(f for f in matched if f.instance_type == asked.instance_type)
        return Match(same or matched)
    apart = [(figure, where) for figure, where in parted if where is not None]
    if not apart:
        return Match((), "nothing is published")

    def distance(pair: tuple[Published, Parted]) -> tuple[int, float]:
        """The later they part, the nearer; then by size."""
        theirs, ours = pair[0].size_gib, asked.size_gib
        size = 0.0 if theirs is None or ours is None else _octaves(theirs, ours)
        return -_CRITERIA.index(pair[1].criterion), size

    apart.sort(key=distance)
    nearest: dict[str, NearFigure] = {}
    for figure, where in apart:
        name, alike = group(figure), where.criterion != "workload"
        nearest.setdefault(name, NearFigure(name=name, why=where.words, same_workload=alike))
    return Match((), _why_not(asked, apart[0][1]), tuple(nearest.values())[:NEAREST])


def group(figure: Published) -> str:
    """The beginning of an id that all figures of one disk in one table share."""
    return figure.id.rpartition("/")[0]


def part(asked: RunSubject, figure: Published) -> Parted | None:
    """Where the two part first; None where they do not."""
    checks = (
        _workload(asked, figure),
        _same(figure.provider, asked.cloud, "a disk of {}"),
        _same(figure.disk_type, asked.disk_type, "of type {}"),
        figure.cache and asked.cache and _same(figure.cache, asked.cache, "with host caching {}"),
        _within(figure.provisioned_iops, asked.iops, "with {:,g} IOPS provisioned"),
        _within(figure.size_gib, asked.size_gib, "of {:,g} GiB"),
    )
    parted = (Parted(name, said) for name, said in zip(_CRITERIA, checks, strict=True) if said)
    return next(parted, None)


def _workload(asked: RunSubject, figure: Published) -> str | None:
    if figure.profile != asked.profile:
        return f"theirs is repeated by profile {figure.profile}, ours ran {asked.profile}"
    for name, value in figure.parameters.items():
        used = asked.parameters.get(name)
        if used is not None and used != value:
            return f"theirs is with {name}={value:g}, ours ran with {name}={used}"
    return None


def _same(theirs: str, ours: str | None, form: str) -> str | None:
    if theirs == ours:
        return None
    ours_words = "is not known" if ours is None else f"is {form.format(ours)}"
    return f"theirs is {form.format(theirs)}, ours {ours_words}"


def _within(theirs: float | None, ours: float | None, form: str) -> str | None:
    if theirs is None or ours is None or _octaves(theirs, ours) <= math.log2(FACTOR):
        return None
    return f"theirs is {form.format(theirs)}, ours {form.format(ours)}"


def _octaves(first: float, second: float) -> float:
    return abs(math.log2(first / second))


def _why_not(asked: RunSubject, nearest: Parted) -> str:
    match nearest.criterion:
        case "workload":
            return f"no figure was measured as profile {asked.profile} does, with its parameters"
        case "cloud" | "disk type" if asked.disk_type is None:
            return "which disk it was is not known: it was not rented for the run"
        case "cloud":
            return f"no published figure has this workload on a disk of {asked.cloud}"
        case "disk type":
            return f"no published figure has this workload on {asked.disk_type} of {asked.cloud}"
        case "caching":
            return f"{asked.disk_type} was published with other host caching only"
        case "IOPS":
            return f"{asked.disk_type} was published with other provisioned IOPS only"
        case _:
            return f"{asked.disk_type} was published in other sizes only"
