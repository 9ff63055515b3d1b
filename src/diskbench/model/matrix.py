"""A matrix: axes of cells, as a file says them, and the cells they make.

The form is that of a matrix of GitHub Actions: the product of the axes, without what `exclude`
matches, with what `include` adds. A value of an axis is one value of the field that the axis is
named after, or a mapping of several fields that go together.
"""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, Strict, model_validator

from diskbench.errors import InvalidValue, UserError
from diskbench.limits import REPLICATES, RUNS
from diskbench.model.base import Frozen
from diskbench.model.expectation import Promise
from diskbench.model.options import Value, option
from diskbench.model.spec import Cell
from diskbench.model.threshold import read_conditions
from diskbench.units import parse_duration_s

Order = Literal["random", "listed"]
DEFAULT_PROFILE = "default"
WHAT, HOW = "What is measured", "How it is measured"
"""Headings of options in the help."""
_what, _how = (partial(option, None, panel=panel) for panel in (WHAT, HOW))

FIRST_REPLICATES = 10
"""Before that many nothing is said of whether an interval is narrow enough (MR-7)."""
MAPPING_FIELDS = frozenset({"parameters", "labels", "tags", "promise"})
"""Fields whose value is itself a mapping; those of several places are merged key by key."""


def _seconds(value: object) -> object:
    """Seconds as a number, or with s, m, h or d."""
    if not isinstance(value, str):
        return value
    try:
        return parse_duration_s(value)
    except InvalidValue as error:
        raise ValueError(f"{error.message}; {error.advice}") from error


def _share(value: object) -> object:
    """A share as a number, or as a percentage: `5%`."""
    text = value.strip() if isinstance(value, str) else ""
    if not text.endswith("%"):
        return value
    try:
        return float(text[:-1]) / 100
    except ValueError:
        return value


def _text(value: object) -> object:
    """Some clouds' zones are numbers, which YAML reads as such."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number = Annotated[float, Strict()]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
Zone = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | int)]
Seconds = Annotated[Number, BeforeValidator(_seconds, json_schema_input_type=str | float)]
Share = Annotated[Number, BeforeValidator(_share, json_schema_input_type=str | float)]
Parameter = Annotated[bool, Strict()] | Annotated[int, Strict()] | Annotated[float, Strict()] | str


_LONGEST_WAIT_S = 30 * 86400
"""The longest time that --if-busy accepts; for longer ones there is `wait`. Our choice."""


def _wait(text: str) -> str:
    """Return `--if-busy` as a cell stores it: wait, fail, share, or whole seconds."""
    if text in ("wait", "fail", "share"):
        return text
    try:
        seconds = parse_duration_s(text)
    except UserError:
        seconds = -1.0
    if not 1 <= seconds <= _LONGEST_WAIT_S:
        raise InvalidValue(
            f"--if-busy {text!r} is not wait, fail, share or a time",
            advice="wait until the disk is free, fail at once, share the disk (the result "
            "then has a doubt), or wait for a limited time: 30m",
            field="if_busy",
        )
    return f"{seconds:.0f}"


class CellFields(Frozen):
    """Fields of a cell: each that is an `option` is a flag of `diskbench run`, too.

    What to rent (RentSpec) and options that a provider has of its own stand beside them;
    plan/matrix_form.py checks those of a file against what the installed providers take.
    """

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, Value]

    provider: str | None = _what(
        "Where the machine comes from.",
        metavar="NAME",
        more=" (default: ssh with --host, else local).",
    )
    host: str | None = _what(
        "Machine to measure over SSH.",
        metavar="USER@HOST[:PORT]",
        repeats=True,
        only="there",
        more="; several are measured at once.",
    )
    path: str | None = _what(
        "Directory to measure.",
        metavar="DIR",
        only="there",
        more=" (plan: default is the current directory).",
    )
    device: str | None = _what(
        "Block device to measure; ALL DATA ON IT IS DESTROYED.",
        metavar="PATH",
        repeats=True,
        only="there",
        more=". Repeat it for each device that a job file names, in the same order.",
    )
    destroy_data: str | None = _what(
        "The device's identity, as `diskbench devices` prints it.",
        metavar="IDENTITY",
        in_key="no",
        repeats=True,
        only="there",
        more="; one for each --device.",
    )
    size: Number | None = _what(
        "How much of the target to use, or the size of the disk to rent, in GiB (2^30).",
        metavar="GIB",
        gt=0,
    )
    filesystem: str | None = _what(
        "Make this filesystem on the device first.", metavar="none|ext4|xfs"
    )
    promise: Promise | None = _what(
        "The rates that you expect of a disk that is not in the catalogue.",
        metavar="iops=N,mb_per_s=N",
        in_key="no",
        rare=True,
    )
    zone: Zone | None = Field(None, description="The only zone to rent in.")
    zones: tuple[Zone, ...] | None = Field(
        None, min_length=1, description="Zones that may be tried, in this order."
    )
    tags: dict[str, Parameter] | None = Field(
        None, description="Tags of your own on everything that is rented, like --tag of `run`."
    )

    profile: str | None = _how(
        "A profile's name (`diskbench profiles list`) or a .fio file.",
        metavar="NAME",
        usual=DEFAULT_PROFILE,
    )
    parameters: dict[str, Parameter] | None = _how(
        "Profile parameter.", flag="--set", metavar="KEY=VALUE"
    )
    runs: Whole | None = _how(
        "Consecutive fio runs on the same machine and disk.", metavar="N", usual=1, ge=1, le=RUNS
    )
    replicates: Whole | None = _how(
        "Repeat on this many new machines with new disks (rented ones).",
        metavar="N",
        usual=1,
        only="rented",
        ge=1,
        le=REPLICATES,
    )
    if_busy: str | None = _how(
        "If another trial is measuring the same disk: wait, fail, share it (doubted), or wait at "
        "most this long (30m).",
        metavar="wait|fail|share|TIME",
        in_key="no",
        usual="wait",
        rare=True,
        read=_wait,
    )
    labels: dict[str, Parameter] | None = _how(
        "A label kept with the rows.", flag="--label", metavar="KEY=VALUE", in_key="no"
    )
    fail_if: tuple[str, ...] | None = _how(
        "Exit 1 if a figure meets this condition: 'p99 > 10ms', 'ratio < 0.9', "
        "'STEP: iops < 2900'.",
        metavar="CONDITION",
        in_key="no",
        judges=True,
        of_cells="Exit 1 if a figure of a cell meets this condition: 'p99 > 10ms', 'ratio < 0.9'.",
        read=partial(read_conditions, flag="--fail-if"),
        min_length=1,
    )
    route: str | None = Field(
        None, description="Only workers that serve PROVIDER/ROUTE measure it (a site)."
    )

    def given(self) -> dict[str, Any]:
        """The fields that are given, in the order of this class; then providers' own options."""
        return {name: value for name, value in self if value is not None}


class Limits(Frozen):
    """How much may happen at once, and how much may be spent. Times are in seconds, or with
    s, m, h or d behind them."""

    model_config = ConfigDict(populate_by_name=True)

    max_parallel: Whole = Field(4, ge=1, description="Cells that run at once, in total.")
    per: dict[str, Annotated[Whole, Field(ge=1)]] = Field(
        default_factory=dict,
        description="Cells that run at once in a provider or a region of it: "
        "{PROVIDER: 4, PROVIDER/REGION: 2}.",
    )
    calls_per_minute: dict[str, Annotated[Whole, Field(ge=1)]] = Field(
        default_factory=dict,
        description="Cells that begin in a minute, by provider or region, against API throttling.",
    )
    budget_usd: Number | None = Field(
        None,
        alias="budget",
        gt=0,
        description="The most that the matrix may cost in total, in US dollars.",
    )
    deadline_s: Seconds | None = Field(
        None, alias="deadline", gt=0, description="A cell begins only if it can end in this time."
    )
    max_cell_s: Seconds | None = Field(
        None, alias="max_cell_time", gt=0, description="The longest that one cell may take."
    )
    assume_price_usd_per_hour: Number | None = Field(
        None,
        alias="assume_price",
        gt=0,
        description="US dollars an hour for a cell whose price is unknown.",
    )
    attempts: Whole = Field(
        3, ge=1, description="Attempts for a cell that finds no capacity or is throttled."
    )
    until_ci: Share | None = Field(
        None,
        ge=0.001,
        lt=1,
        description="Add replicates to each block until the median's interval is within this "
        "share of it, in every step: 5%. Use instead of `replicates`.",
    )
    min_replicates: Whole = Field(
        FIRST_REPLICATES,
        ge=FIRST_REPLICATES,
        le=REPLICATES,
        description="The fewest replicates with `until_ci`.",
    )
    max_replicates: Whole = Field(
        30, ge=FIRST_REPLICATES, le=REPLICATES, description="The most replicates with `until_ci`."
    )


class Matrix(Frozen):
    """A matrix of disk measurements: the product of its axes, each cell a run of diskbench."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$",
        description="Short name: lower-case letters, digits, dots and dashes.",
    )
    title: str = Field("", description="What the matrix is for, in one line.")
    defaults: CellFields = Field(
        CellFields(),
        description="Fields of every cell, unless an axis or `include` says otherwise.",
    )
    axes: dict[str, tuple[CellFields, ...]] = Field(
        default_factory=dict,
        description="All combinations of these are measured. A value is a value of the field that "
        "the axis is named after, or a mapping of several fields.",
    )
    include: tuple[CellFields, ...] = Field(
        (),
        description="Added to the combinations whose axes it does not contradict; if there is "
        "none, it is a cell of its own.",
    )
    exclude: tuple[CellFields, ...] = Field(
        (), description="Combinations that match all these fields are left out."
    )
    labels: dict[str, Parameter] = Field(
        default_factory=dict, description="Labels stored with every row."
    )
    tags: dict[str, Parameter] = Field(
        default_factory=dict,
        description="Tags of your own on everything that the matrix rents, like --tag of `run`.",
    )
    limits: Limits = Field(Limits(), description="Limits of parallel cells, cost and time.")
    order: Order = Field(
        "random",
        description="random: round by round, each cell once a round, in a seeded random order; "
        "listed: as the file says.",
    )
    seed: Whole | None = Field(
        None, ge=0, description="Seed of the random order; a new one is drawn without it."
    )
    reuse_host: Flag = Field(
        default=False, description="Cells of one provider, region and instance type share one VM."
    )
    route: str | None = Field(
        None, description="The route of all cells that do not name their own."
    )

    @model_validator(mode="before")
    @classmethod
    def _values_are_fields(cls, data: object) -> object:
        """Turn each value of an axis into the fields that it sets."""
        if not isinstance(data, dict) or not isinstance(data.get("axes"), dict):
            return data

        def fields(axis: str, value: object) -> object:
            several = isinstance(value, dict) and (axis not in MAPPING_FIELDS or axis in value)
            return value if several or isinstance(value, CellFields) else {axis: value}

        axes = dict(data["axes"])
        for name, values in axes.items():
            if isinstance(values, list | tuple):
                axes[name] = [fields(name, value) for value in values]
        return {**data, "axes": axes}


class MatrixCell(Frozen):
    """One cell of a matrix, in its place.

    `key` is a readable name, unique within the matrix and the same each time that it is expanded;
    `block` is the key without the replicate: what is compared. `zones` may be tried, in order; none
    leaves it to the provider. `route` is what workers listen to, `partition` what limits count by.
    Cells with the same `machine` use one in turn; None: each its own.
    """

    position: int = Field(ge=0)
    key: str
    block: str
    cell: Cell
    zones: tuple[str, ...] = ()
    route: str
    partition: str
    machine: str | None = None
