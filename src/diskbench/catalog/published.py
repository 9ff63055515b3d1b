"""What others have published of cloud disks: every table of five well-known posts, as facts.

A figure is one cell of a table: which disk on which machine, measured with what, and the number in
our units beside what was printed. None of it was measured by diskbench, and none of it is a
promise. The files are data/published/SEED.yaml:

    source      title, author, publisher, date (or `undated`: why there is none), file, matrix
    machines    by name: words, provider, and what is known of it (instance_type, region, cores …)
    disks       by name: words of the post, type as the catalogue has it, size_gib, iops, cache
    workloads   by name: tool, method, and the profile and step that repeat it, metric and unit
    tables      name, words; rows of a disk on a machine, with a value for each of some workloads

What is the same for a hundred cells stands once: `parse_post` joins them to one `Published` a cell,
whose fields stand in the file under their own names. What a table says (statistic, n) holds where
its workload, row and cell say nothing else.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, model_validator

from diskbench.errors import InvalidValue, UnknownName, did_you_mean
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_faults
from diskbench.model.verdict import Verdict
from diskbench.units import MIB
from diskbench.yaml_lines import packaged

if TYPE_CHECKING:
    import polars as pl

SEEDS = ("iaas-2018", "azure-caching", "ebs-types", "san-vs-local", "ebs-fio")
"""The posts, named like the matrix that repeats them where there is one."""

Metric = Literal["iops", "bytes_per_s", "lat_mean_ns", "lat_min_ns", "lat_max_ns"]


class PublishedDoubt(Frozen):
    """Why a figure does not say how fast the disk is. `mixed`: the mean spans two regimes;
    `other-disk`: probably not the disk it is said to be."""

    code: Literal["served-from-cache", "client-bound", "burst", "mixed", "other-disk"]
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
    `statistic`: the mean of `n` runs (of all I/Os for a latency), or what the text states without
    saying of what. `busiest_core` is how busy one core was, as a fraction, where the post says so.
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
    size_gib: float | None = Field(default=None, gt=0)
    provisioned_iops: float | None = Field(default=None, gt=0)
    cache: Literal["none", "readonly", "readwrite"] | None = None
    tool: str
    method: str
    page_cache: Literal["dropped", "kept", "bypassed"]
    runtime_s: float | None = Field(default=None, gt=0)
    profile: str
    step: str
    direction: Literal["read", "write", "total"]
    parameters: dict[str, float] = Field(default_factory=dict)
    metric: Metric
    value: float = Field(gt=0)
    unit: Literal["IOPS", "MB/s", "MiB/s", "ms"]
    printed: str
    statistic: Literal["mean", "min", "max", "stated"]
    n: int | None = None
    samples: tuple[float, ...] = ()
    printed_samples: tuple[str, ...] = ()
    stddev: float | None = None
    printed_spread: str | None = None
    approximate: bool = False
    busiest_core: float | None = Field(default=None, gt=0, le=1)
    doubt: PublishedDoubt | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_of_one_piece(self) -> Published:
        if self.metric not in UNITS[self.unit][1]:
            raise ValueError(f"{self.unit} is not a unit of {self.metric}")
        if len(self.samples) != len(self.printed_samples):
            raise ValueError("as many samples as printed ones")
        return self

    @property
    def group(self) -> str:
        """The beginning of an id that all figures of one disk in one table share."""
        return self.id.rpartition("/")[0]

    @property
    def prefixes(self) -> tuple[str, ...]:
        """All names that `find_published` takes for it: its seed, table, disk, and itself."""
        parts = self.id.split("/")
        return tuple("/".join(parts[:end]) for end in range(1, len(parts) + 1))


UNITS: dict[str, tuple[float, frozenset[str]]] = {
    "IOPS": (1, frozenset({"iops"})),
    "MB/s": (10**6, frozenset({"bytes_per_s"})),
    "MiB/s": (MIB, frozenset({"bytes_per_s"})),
    "ms": (10**6, frozenset({"lat_mean_ns", "lat_min_ns", "lat_max_ns"})),
}
"""Printed unit → how many of ours it is, and the metrics that it may stand for."""


class PublishedDocument(Frozen):
    """What `diskbench published … --output json` prints; `verdicts` by the ids of figures, where
    they are shown."""

    format: Literal[1] = 1
    published: tuple[Published, ...]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


def parse_post(file: Mapping[str, Any], seed: str) -> tuple[Published, ...]:
    """The figures of a file, in its order. Raises InvalidValue naming the fault."""
    try:
        return tuple(_figures(file, seed))
    except ValidationError as error:
        raise _refused(seed, value_faults(error, "file")) from error


def _refused(seed: str, fault: str) -> InvalidValue:
    return InvalidValue(
        f"{seed}.yaml holds no published figures: {fault}",
        advice="its form is in diskbench/catalog/published.py",
    )


def _figures(file: Mapping[str, Any], seed: str) -> Iterator[Published]:
    source = dict(file["source"])
    if (source["date"] is None) == (source.pop("undated", None) is None):
        raise _refused(seed, "a source has a date, or says under `undated` why there is none")
    post = Post.model_validate(source | {"date": source["date"] and str(source["date"])})

    def known(kind: str, name: str) -> dict[str, Any]:
        if name not in file[f"{kind}s"]:
            raise _refused(seed, f"table {table['name']}: no {kind} {name!r}")
        return dict(file[f"{kind}s"][name])

    for table in file["tables"]:
        of_table = {key: table[key] for key in table.keys() - {"name", "words", "rows"}}
        for row in table["rows"]:
            machine, disk = (known(kind, row[kind]) for kind in ("machine", "disk"))
            of_row = {key: row[key] for key in row.keys() - {"machine", "disk", "figures"}}
            for name, cell in row["figures"].items():
                work = known("workload", name)
                layers = ({"statistic": "stated"}, of_table, work, machine, disk, of_row, cell)
                fields = {
                    key: value
                    for layer in layers
                    for key, value in layer.items()
                    if value is not None and key not in ("words", "note", "type", "iops")
                }
                fields |= {
                    "id": f"{seed}/{table['name']}/{row['disk']}/{name}",
                    "seed": seed,
                    "post": post,
                    "table": table["name"],
                    "table_words": table["words"],
                    "machine": machine["words"],
                    "disk": disk["words"],
                    "disk_type": disk["type"],
                    "provisioned_iops": disk.get("iops"),
                    "notes": [note for of in (machine, work) if (note := of.get("note"))],
                }
                try:
                    yield Published.model_validate(fields)
                except ValidationError as error:
                    raise _refused(seed, f"{fields['id']}: {value_faults(error, 'it')}") from error


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
    matches = tuple(figure for figure in load_published() if figure_id in figure.prefixes)
    if not matches:
        known = {prefix for figure in load_published() for prefix in figure.prefixes}
        raise UnknownName(
            "published figure",
            name,
            known,
            advice=f"{did_you_mean(figure_id, known)}'diskbench published list' shows all",
        )
    return matches


def filtered(
    *, seed: str | None = None, provider: str | None = None, disk: str | None = None
) -> tuple[Published, ...]:
    """The figures that meet all that is not None. `disk` is a type (`gp2`) or a part of the disk's
    words, in any case."""
    every = load_published()
    if seed is not None and seed not in SEEDS:
        raise UnknownName("post", seed, SEEDS)
    if provider is not None and provider not in (known := {f.provider for f in every}):
        raise UnknownName("provider with published figures", provider, known)
    part = (disk or "").casefold()
    matching = tuple(
        figure
        for figure in every
        if seed in (None, figure.seed)
        and provider in (None, figure.provider)
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
