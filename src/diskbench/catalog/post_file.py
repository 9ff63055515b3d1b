"""The form of data/published/SEED.yaml: a post, its machines, disks, workloads, and its tables.

A table's row names a machine and a disk of the file, and each of its figures a workload; so what is
the same for a hundred cells stands once. `parse_post` joins them to one `Published` a cell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from diskbench.catalog.yaml_loader import read_yaml
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


UNITS: dict[str, tuple[float, frozenset[str]]] = {
    "IOPS": (1, frozenset({"iops"})),
    "MB/s": (10**6, frozenset({"bytes_per_s"})),
    "MiB/s": (MIB, frozenset({"bytes_per_s"})),
    "ms": (10**6, frozenset({"lat_mean_ns", "lat_min_ns", "lat_max_ns"})),
}
"""Printed unit → how many of ours it is, and the metrics that it may stand for."""


class PostSource(Frozen):
    """The post. `undated` says so where `date` is None."""

    title: str
    author: str | None
    publisher: str | None
    date: dt.date | None
    undated: str | None = None
    file: str
    matrix: str | None

    @model_validator(mode="after")
    def _dated_or_said_not_to_be(self) -> PostSource:
        if (self.date is None) == (self.undated is None):
            raise ValueError("a source has a date, or says under `undated` why there is none")
        return self


class PublishedMachine(Frozen):
    """What it was measured on."""

    words: str
    provider: str
    instance_type: str | None = None
    region: str | None = None
    cores: int | None = None
    memory_gib: float | None = None
    note: str | None = None


class PublishedDisk(Frozen):
    """What was measured: `words` as the post calls it, `type` as the catalogue does."""

    words: str
    type: str
    size_gib: float | None = Field(default=None, gt=0)
    iops: float | None = Field(default=None, gt=0)
    cache: Literal["none", "readonly", "readwrite"] | None = None


class Workload(Frozen):
    """How, and with which step of which profile it is repeated."""

    tool: str
    method: str
    profile: str
    step: str
    direction: Literal["read", "write", "total"]
    metric: Metric
    unit: Literal["IOPS", "MB/s", "MiB/s", "ms"]
    statistic: Statistic | None = None
    page_cache: PageCache
    runtime_s: float | None = Field(default=None, gt=0)
    parameters: dict[str, float] = Field(default_factory=dict)
    doubt: PublishedDoubt | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _unit_is_of_the_metric(self) -> Workload:
        if self.metric not in UNITS[self.unit][1]:
            raise ValueError(f"{self.unit} is not a unit of {self.metric}")
        return self


class PublishedValue(Frozen):
    """One number, in our unit and as printed."""

    value: float = Field(gt=0)
    printed: str
    samples: tuple[float, ...] = ()
    printed_samples: tuple[str, ...] = ()
    stddev: float | None = None
    printed_spread: str | None = None
    statistic: Statistic | None = None
    n: int | None = None
    approximate: bool | None = None

    @model_validator(mode="after")
    def _each_sample_was_printed(self) -> PublishedValue:
        if len(self.samples) != len(self.printed_samples):
            raise ValueError("as many samples as printed ones")
        return self


class Row(Frozen):
    """The cells of one disk on one machine."""

    disk: str
    machine: str
    busiest_core: float | None = Field(default=None, gt=0, le=1)
    doubt: PublishedDoubt | None = None
    figures: dict[str, PublishedValue]


class PublishedTable(Frozen):
    """One table, or what a paragraph states. The statistic is the workload's where it has one."""

    name: str
    words: str
    statistic: Statistic | None = None
    n: int | None = None
    approximate: bool = False
    rows: tuple[Row, ...]


class PostFile(Frozen):
    """One file."""

    format: Literal[1]
    source: PostSource
    machines: dict[str, PublishedMachine]
    disks: dict[str, PublishedDisk]
    workloads: dict[str, Workload]
    tables: tuple[PublishedTable, ...]

    @model_validator(mode="after")
    def _names_are_listed(self) -> PostFile:
        for table in self.tables:
            for row in table.rows:
                missing = {f"disk {row.disk!r}"} if row.disk not in self.disks else set()
                missing |= (
                    {f"machine {row.machine!r}"} if row.machine not in self.machines else set()
                )
                missing |= {f"workload {name!r}" for name in row.figures.keys() - self.workloads}
                if missing:
                    raise ValueError(f"table {table.name}: no {', no '.join(sorted(missing))}")
        return self


def parse_post(text: str, *, seed: str) -> tuple[Published, ...]:
    """The figures of a file, in its order. Raises InvalidValue naming every fault."""
    try:
        file = PostFile.model_validate(read_yaml(text))
        return tuple(_figures(file, seed))
    except (yaml.YAMLError, ValidationError) as error:
        raise InvalidValue(
            f"{seed}.yaml holds no published figures: {value_faults(error, 'file')}",
            advice="its form is in diskbench/catalog/post_file.py",
        ) from error


def _figures(file: PostFile, seed: str) -> Iterator[Published]:
    post = Post(**file.source.model_dump(mode="json", exclude={"undated"}))
    for table in file.tables:
        for row in table.rows:
            for name, cell in row.figures.items():
                yield _published(file, seed, post, table, row, name, cell)


def _published(
    file: PostFile,
    seed: str,
    post: Post,
    table: PublishedTable,
    row: Row,
    name: str,
    cell: PublishedValue,
) -> Published:
    machine, disk, work = file.machines[row.machine], file.disks[row.disk], file.workloads[name]
    fields = (
        machine.model_dump(exclude={"words", "note"})
        | disk.model_dump(exclude={"words", "type", "iops"})
        | work.model_dump(exclude={"statistic", "doubt", "note"})
        | cell.model_dump(exclude={"statistic", "n", "approximate"})
    )
    return Published(
        id=f"{seed}/{table.name}/{row.disk}/{name}",
        seed=seed,
        post=post,
        table=table.name,
        table_words=table.words,
        machine=machine.words,
        disk=disk.words,
        disk_type=disk.type,
        provisioned_iops=disk.iops,
        statistic=cell.statistic or work.statistic or table.statistic or "stated",
        n=cell.n or table.n,
        busiest_core=row.busiest_core,
        approximate=table.approximate if cell.approximate is None else cell.approximate,
        doubt=row.doubt or work.doubt,
        notes=tuple(note for note in (machine.note, work.note) if note),
        **fields,
    )
