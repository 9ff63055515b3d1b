"""The form of data/published/SEED.yaml: a post, its machines, disks, workloads, and its tables.

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

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from diskbench.errors import InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.value_fault import value_faults
from diskbench.units import MIB

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
    size_gib: float | None = Field(default=None, gt=0)
    provisioned_iops: float | None = Field(default=None, gt=0)
    cache: Literal["none", "readonly", "readwrite"] | None = None
    tool: str
    method: str
    page_cache: PageCache
    runtime_s: float | None = Field(default=None, gt=0)
    profile: str
    step: str
    direction: Literal["read", "write", "total"]
    parameters: dict[str, float] = Field(default_factory=dict)
    metric: Metric
    value: float = Field(gt=0)
    unit: Literal["IOPS", "MB/s", "MiB/s", "ms"]
    printed: str
    statistic: Statistic
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


UNITS: dict[str, tuple[float, frozenset[str]]] = {
    "IOPS": (1, frozenset({"iops"})),
    "MB/s": (10**6, frozenset({"bytes_per_s"})),
    "MiB/s": (MIB, frozenset({"bytes_per_s"})),
    "ms": (10**6, frozenset({"lat_mean_ns", "lat_min_ns", "lat_max_ns"})),
}
"""Printed unit → how many of ours it is, and the metrics that it may stand for."""


def parse_post(file: Mapping[str, Any], seed: str) -> tuple[Published, ...]:
    """The figures of a file, in its order. Raises InvalidValue naming the fault."""
    try:
        return tuple(_figures(file, seed))
    except ValidationError as error:
        raise _refused(seed, value_faults(error, "file")) from error


def _refused(seed: str, fault: str) -> InvalidValue:
    return InvalidValue(
        f"{seed}.yaml holds no published figures: {fault}",
        advice="its form is in diskbench/catalog/post_file.py",
    )


def _figures(file: Mapping[str, Any], seed: str) -> Iterator[Published]:
    source = dict(file["source"])
    if (source["date"] is None) == (source.pop("undated", None) is None):
        fault = "a source has a date, or says under `undated` why there is none"
        raise _refused(seed, fault)
    post = Post.model_validate(source | {"date": source["date"] and str(source["date"])})

    def known(kind: str, name: str, table: str) -> dict[str, Any]:
        if name not in file[f"{kind}s"]:
            raise _refused(seed, f"table {table}: no {kind} {name!r}")
        return dict(file[f"{kind}s"][name])

    for of_table in file["tables"]:
        table = dict(of_table)
        name, words, rows = table.pop("name"), table.pop("words"), table.pop("rows")
        for of_row in rows:
            row = dict(of_row)
            disk_name, figures = row.pop("disk"), row.pop("figures")
            machine = known("machine", row.pop("machine"), name)
            disk = known("disk", disk_name, name)
            for work_name, cell in figures.items():
                work = known("workload", work_name, name)
                notes = [note for of in (machine, work) if (note := of.get("note"))]
                layers = ({"statistic": "stated"}, table, work, machine, disk, row, cell)
                fields = {
                    key: value
                    for layer in layers
                    for key, value in layer.items()
                    if value is not None and key not in ("words", "note", "type", "iops")
                }
                fields |= {
                    "id": f"{seed}/{name}/{disk_name}/{work_name}",
                    "seed": seed,
                    "post": post,
                    "table": name,
                    "table_words": words,
                    "machine": machine["words"],
                    "disk": disk["words"],
                    "disk_type": disk["type"],
                    "provisioned_iops": disk.get("iops"),
                    "notes": notes,
                }
                try:
                    yield Published.model_validate(fields)
                except ValidationError as error:
                    raise _refused(seed, f"{fields['id']}: {value_faults(error, 'it')}") from error
