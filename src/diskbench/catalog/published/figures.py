"""What others have published of cloud disks: every table of five well-known posts, as facts.

A figure is one cell of a table: which disk on which machine, measured with what, and the number in
our units beside what was printed. The files are data/published/SEED.yaml; their form is in
catalog/published/post_file.py. None of it was measured by diskbench, and none of it is a promise.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.model.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl


SEEDS = ("iaas-2018", "azure-caching", "ebs-types", "san-vs-local", "ebs-fio")
"""The posts, named like the matrix that repeats them where there is one."""

Metric = Literal["iops", "bytes_per_s", "lat_mean_ns", "lat_min_ns", "lat_max_ns"]
Statistic = Literal["mean", "min", "max", "stated"]
"""`mean` of n runs (of all I/Os for a latency), or what the text states without saying of what."""

PageCache = Literal["dropped", "kept", "bypassed"]
DoubtCode = Literal["served-from-cache", "client-bound", "burst", "mixed", "other-disk"]
"""`mixed`: the mean spans two regimes. `other-disk`: probably not the disk it is said to be."""


class PublishedDoubt(Frozen):
    """Why a figure does not say how fast the disk is."""

    code: DoubtCode
    words: str


class Post(Frozen):
    """Where figures were published. `date` is None where the text bears none."""

    title: str
    author: str | None
    publisher: str | None
    date: str | None
    file: str
    matrix: str | None = None

    @property
    def words(self) -> str:
        """`"Title", 2018-03-16`."""
        return f'"{self.title}", {self.date or "undated"}'


class Published(Frozen):
    """One figure. `value` is in the unit of `metric`: IOPS, bytes a second or nanoseconds;
    `printed` is the text in the post, in `unit`.

    `profile` and `step` are what repeats the workload, `parameters` the profile's where they are
    not its defaults. Direction `total` is reads and writes together. `size_gib` None: not known.
    `busiest_core` is how busy one core was, as a fraction, where the post says so.
    """

    id: str
    seed: str
    post: Post
    table: str
    table_words: str
    provider: str
    instance_type: str | None = None
    region: str | None = None
    machine: str
    cores: int | None = None
    memory_gib: float | None = None
    disk: str
    disk_type: str
    size_gib: float | None = None
    provisioned_iops: float | None = None
    cache: Literal["none", "readonly", "readwrite"] | None = None
    tool: str
    method: str
    page_cache: PageCache
    runtime_s: float | None = None
    profile: str
    step: str
    direction: Literal["read", "write", "total"]
    parameters: dict[str, float] = Field(default_factory=dict)
    metric: Metric
    value: float
    unit: str
    printed: str
    statistic: Statistic
    n: int | None = None
    samples: tuple[float, ...] = ()
    printed_samples: tuple[str, ...] = ()
    stddev: float | None = None
    printed_spread: str | None = None
    approximate: bool = False
    busiest_core: float | None = None
    doubt: PublishedDoubt | None = None
    notes: tuple[str, ...] = ()


class PublishedDocument(Frozen):
    """What `diskbench published … --output json` prints; `verdicts` by the ids of figures, where
    they are shown."""

    format: Literal[1] = 1
    published: tuple[Published, ...]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


@functools.cache
def load_published() -> tuple[Published, ...]:
    """All figures, post by post in the order of their tables. Reads package data only."""
    from diskbench.catalog.published.post_file import parse_post

    folder = resources.files("diskbench.catalog") / "data" / "published"
    return tuple(
        figure
        for seed in SEEDS
        for figure in parse_post((folder / f"{seed}.yaml").read_text(encoding="utf-8"), seed=seed)
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
            advice=_advice(figure_id, known, "diskbench published list"),
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
    matching = tuple(figures)
    if seed is not None:
        _known("post", seed, SEEDS)
        matching = tuple(f for f in matching if f.seed == seed)
    if provider is not None:
        _known("provider with published figures", provider, {f.provider for f in load_published()})
        matching = tuple(f for f in matching if f.provider == provider)
    if disk is not None:
        part = disk.casefold()
        matching = tuple(f for f in matching if f.disk_type == disk or part in f.disk.casefold())
        if not matching:
            raise UnknownName("published disk", disk, {f.disk_type for f in load_published()})
    return matching


def rows(figures: Iterable[Published]) -> list[dict[str, object]]:
    """Figures as flat rows: the post and the doubt in columns of their own."""
    return [_row(figure.model_dump(mode="json")) for figure in figures]


def _row(dumped: Mapping[str, object]) -> dict[str, object]:
    row = dict(dumped)
    post, doubt = row.pop("post"), row.pop("doubt")
    assert isinstance(post, dict)
    words = doubt if isinstance(doubt, dict) else {"code": None, "words": None}
    row |= {key: post[key] for key in ("title", "author", "publisher", "date", "file")}
    return row | {"doubt": words["code"], "doubt_words": words["words"]}


def _known(kind: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UnknownName(kind, value, known)


def _advice(name: str, known: Iterable[str], command: str) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}{command!r} shows all"


def published_frame() -> pl.DataFrame:
    """One row a figure, in the order of the posts and their tables."""
    import polars as pl

    flat = rows(load_published())
    for row in flat:
        row["parameters"] = json.dumps(row["parameters"])
    numbers = {
        "memory_gib", "size_gib", "provisioned_iops", "runtime_s", "value", "stddev",
        "busiest_core",
    }  # fmt: skip
    special: dict[str, pl.DataType] = {
        **dict.fromkeys(numbers, pl.Float64()),
        **dict.fromkeys(("cores", "n"), pl.Int64()),
        "samples": pl.List(pl.Float64()),
        "printed_samples": pl.List(pl.String()),
        "notes": pl.List(pl.String()),
        "approximate": pl.Boolean(),
    }
    return pl.DataFrame(flat, schema={name: special.get(name, pl.String()) for name in flat[0]})
