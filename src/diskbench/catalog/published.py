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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from diskbench.catalog.lookup import dated_limits
from diskbench.errors import DiskbenchError, InvalidValue, UnknownName, check_known, did_you_mean
from diskbench.model.base import Frozen
from diskbench.model.expectation import Load
from diskbench.model.value_fault import value_faults
from diskbench.model.verdict import Verdict
from diskbench.units import KIB, MIB
from diskbench.yaml_lines import Document, Mistake, Place, packaged

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
    date: str | None = Field(pattern=r"^\d{4}-\d\d-\d\d$")
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
    cores: int | None = Field(default=None, gt=0, lt=1e9)
    memory_gib: float | None = Field(default=None, gt=0, lt=1e9)
    disk: str
    disk_type: str
    size_gib: float | None = Field(default=None, gt=0, lt=1e9)
    provisioned_iops: float | None = Field(default=None, gt=0, lt=1e9)
    cache: Literal["none", "readonly", "readwrite"] | None = None
    tool: str
    method: str
    page_cache: Literal["dropped", "kept", "bypassed"]
    runtime_s: float | None = Field(default=None, gt=0)
    profile: str
    step: str = Field(max_length=80)
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
    def labels(self) -> dict[str, str]:
        """What the post says of its disk and machine, as a user says it of an imported run. A disk
        of no known size, or that no cloud sells, has no documented limits."""
        stated = {"published": self.group, "machine": f"{self.seed}: {self.machine}"}
        post = self.post
        where = (post.words, post.author, post.publisher, post.file, f"table {self.table}")
        stated["source"] = f"{self.tool} in {', '.join(filter(None, where))}"
        size, iops = self.size_gib, self.provisioned_iops
        with suppress(DiskbenchError):
            if size is not None and dated_limits(
                self.provider, self.disk_type, size, iops, None, day=post.date
            ):
                bought = f":iops={iops:.15g}" if iops else ""
                bought += f":cache={self.cache}" if self.cache else ""
                stated["as_disk"] = f"{self.provider}:{self.disk_type}:{size:.15g}{bought}"
        named = {"as_machine": self.instance_type, "measured_on": post.date}
        return stated | {name: value for name, value in named.items() if value is not None}

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


LOADS = {
    "rand-512-9to1": Load(block_bytes=512, read_share=0.9, direct=False),
    "seq-read-64k": Load(block_bytes=64 * KIB, random=False, direct=False),
    "seq-write-64k": Load(block_bytes=64 * KIB, read_share=0.0, random=False, direct=False),
    "buffered-reads-t": Load(block_bytes=2 * MIB, random=False, direct=False),
    "dd-write": Load(block_bytes=4 * KIB, read_share=0.0, random=False, direct=False),
    "randrw80-4k-qd64": Load(block_bytes=4 * KIB, read_share=0.8, depth=64),
}
"""GoBonnieGo's steps (bench/bench.go), hdparm's -t, dd's and those of the fio line that was
published, by their names in our profiles. GoBonnieGo's queue depth is unknown."""
GOBONNIEGO_STEPS = {"seqwrite": "seq-write-64k", "seqread": "seq-read-64k", "iops": "rand-512-9to1"}
"""Steps of an imported GoBonnieGo file → those of the profile that repeats it."""


RATES = frozenset({"iops", "bytes_per_s"})


def both_rates(
    figures: Mapping[Metric, float], load: Load | None
) -> tuple[float | None, float | None]:
    """IOPS and bytes a second among figures; the one from the other where the load is known."""
    iops, moved = figures.get("iops"), figures.get("bytes_per_s")
    if load is not None and iops is None and moved is not None:
        iops = moved / load.block_bytes
    elif load is not None and moved is None and iops is not None:
        moved = iops * load.block_bytes
    return iops, moved


class PublishedDocument(Frozen):
    """What `diskbench published … --output json` prints; `verdicts` by the ids of figures, where
    they are shown."""

    format: Literal[1] = 1
    published: tuple[Published, ...]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


def parse_post(document: Document, name: str) -> tuple[Published, ...]:
    """The figures of a file, called `name`, in its order; their ids begin with the name's stem.
    Raises InvalidValue naming the line and the fault."""
    return tuple(_PostFile(document, name).figures().values())


_KINDS: dict[type, str] = {dict: "a mapping", list: "a list", str: "text"}
_Kind = TypeVar("_Kind")
_Part = tuple[Place, dict[str, Any]]
"""A mapping of the file, and its place."""


@dataclass(frozen=True)
class _PostFile:
    document: Document
    name: str

    def refused(self, place: Place, fault: str) -> InvalidValue:
        mistake = Mistake(self.document.line_of(place), fault)
        advice = "diskbench/catalog/published.py describes its form"
        return InvalidValue(mistake.text_in(self.name), advice=advice)

    def _at(self, kind: type[_Kind], *place: str | int) -> _Kind:
        """What lies at a place below one that was asked for before."""
        value: Any = self.document.data
        for key in place:  # an index of a list is of an entry that is there
            value = value.get(key) if isinstance(value, dict) else value[key]
        if not isinstance(value, kind):
            given = "is missing, which is" if value is None else "is not"
            words = f"{'.'.join(map(str, place)) or 'the file'} {given} {_KINDS[kind]}"
            raise self.refused(place, words)
        return value

    def _named(self, kind: str, wanted: str, place: Place) -> _Part:
        if wanted not in self._at(dict, f"{kind}s"):
            raise self.refused(place, f"no {kind} {wanted!r}")
        return (f"{kind}s", wanted), self._at(dict, f"{kind}s", wanted)

    def _post(self) -> Post:
        self._at(dict)
        source = dict.fromkeys(("author", "publisher", "date")) | self._at(dict, "source")
        if (source["date"] is not None) == (source.pop("undated", None) is not None):
            words = "a source has a date, or says under `undated` why there is none"
            raise self.refused(("source",), words)
        try:
            return Post.model_validate(source)
        except ValidationError as error:
            at = ("source", *error.errors()[0]["loc"])
            raise self.refused(at, f"source: {value_faults(error, 'it')}") from error

    def figures(self) -> dict[str, Published]:
        """Each figure by its id."""
        post, figures = self._post(), dict[str, Published]()
        for number, _ in enumerate(self._at(list, "tables")):
            table: _Part = ("tables", number), self._at(dict, "tables", number)
            for index, _ in enumerate(self._at(list, "tables", number, "rows")):
                at = (*table[0], "rows", index)
                row: _Part = at, self._at(dict, *at)
                machine, disk = (
                    self._named(kind, self._at(str, *at, kind), (*at, kind))
                    for kind in ("machine", "disk")
                )
                for name in self._at(dict, *at, "figures"):
                    cell = (*at, "figures", name)
                    work = self._named("workload", name, cell)
                    parts = (table, work, machine, disk, row, (cell, self._at(dict, *cell)))
                    figure = self._figure(post, name, parts)
                    if figure.id in figures:
                        raise self.refused(cell, f"{figure.id} is given twice")
                    figures[figure.id] = figure
        return figures

    def _figure(self, post: Post, name: str, parts: Sequence[_Part]) -> Published:
        """The figure in these parts of the file; a later one decides."""
        table, work, machine, disk, row, _ = parts
        fields: dict[str, Any] = {"statistic": "stated"}
        for _, part in parts:
            fields |= {key: part[key] for key in part.keys() - _NOT_OF_A_FIGURE}
        seed, of = PurePath(self.name).stem, self._at(str, *table[0], "name")
        fields |= {
            "id": f"{seed}/{of}/{row[1]['disk']}/{name}",
            "seed": seed,
            "post": post,
            "table": of,
            "table_words": self._at(str, *table[0], "words"),
            "machine": self._at(str, *machine[0], "words"),
            "disk": self._at(str, *disk[0], "words"),
            "disk_type": self._at(str, *disk[0], "type"),
            "provisioned_iops": disk[1].get("iops"),
            "notes": [note for _, one in (machine, work) if (note := one.get("note"))],
        }
        try:
            return Published.model_validate(fields)
        except ValidationError as error:
            loc = error.errors()[0]["loc"]
            place = next((at for at, one in reversed(parts) if loc and loc[0] in one), parts[-1][0])
            words = f"{fields['id']}: {value_faults(error, 'it')}"
            raise self.refused((*place, *loc), words) from error


_NOT_OF_A_FIGURE = frozenset(
    {"name", "words", "note", "type", "iops", "rows", "figures", "machine", "disk"}
)
"""Keys of the parts of a file that are no fields of a figure, or not as they stand there."""


def post_file(seed: str) -> str:
    """The file of a shipped post, below the package of the catalogue."""
    return f"data/published/{seed}.yaml"


@functools.cache
def load_published() -> tuple[Published, ...]:
    """All figures, post by post in the order of their tables. Reads package data only."""
    return tuple(
        figure
        for seed in SEEDS
        for figure in parse_post(Document(packaged("diskbench.catalog", post_file(seed))), seed)
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
    check_known("post", seed, SEEDS)
    check_known("provider with published figures", provider, {f.provider for f in every})
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
