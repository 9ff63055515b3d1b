"""Typed flags to cells: one per host and replicate. Pure; every error names the bad value."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.fio.refused import ALLOWABLE
from diskbench.limits import CELLS, REPLICATES, RUNS, VALUE_CHARS
from diskbench.model.promise import Promise
from diskbench.model.rental import RentSpec
from diskbench.model.spec import Cell
from diskbench.model.threshold import Threshold
from diskbench.plan.rent_options import field_of
from diskbench.plan.requested_target import requested_target
from diskbench.plugins import plugin, plugins
from diskbench.units import parse_duration_s

_LONGEST_WAIT_S = 30 * 86400
"""The longest time that --if-busy accepts; for longer ones there is `wait`. Our choice."""
_LABEL_KEY = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")


@dataclass(frozen=True)
class Request:
    """The flags of one `diskbench run` as typed, before anything is looked up."""

    provider: str
    profile: str
    hosts: Sequence[str] = ()
    path: str | None = None
    devices: Sequence[str] = ()
    identities: Sequence[str] = ()
    size_gib: float | None = None
    filesystem: str | None = None
    rent: RentSpec | None = None
    parameters: Sequence[str] = ()
    labels: Sequence[str] = ()
    runs: int = 1
    replicates: int = 1
    promise: str | None = None
    if_busy: str = "wait"
    fail_if: Sequence[str] = ()
    allow: Sequence[str] = ()


def cells(request: Request) -> tuple[Cell, ...]:
    """Return the cells of a request. Raises InvalidValue for flags that contradict each other."""
    for name, count in (("--runs", request.runs), ("--replicates", request.replicates)):
        if count < 1:
            raise InvalidValue(
                f"{name} {count} measures nothing", advice="give 1 or more", field=field_of(name)
            )
    for name, count, most in (
        ("--runs", request.runs, RUNS),
        ("--replicates", request.replicates, REPLICATES),
    ):
        if count > most:
            raise InvalidValue(
                f"{name} {count:,} is more than diskbench plans",
                advice=f"at most {most:,}",
                field=field_of(name),
            )
    if (count := request.replicates * max(len(request.hosts), 1)) > CELLS:
        raise InvalidValue(
            f"{count:,} trials ({request.replicates:,} replicates of {len(request.hosts):,} hosts)",
            advice=f"at most {CELLS:,} are planned at once",
            field="replicates",
        )
    twice = {host for host in request.hosts if list(request.hosts).count(host) > 1}
    if twice:
        raise InvalidValue(
            f"--host {sorted(twice)[0]} is given twice",
            advice="a host measures one thing at a time; use --runs to repeat",
            field="host",
        )
    target = requested_target(request)
    parameters = key_values("--set", request.parameters)
    labels = key_values("--label", request.labels)
    promised = promise(request)
    busy = if_busy(request.if_busy)
    conditions = tuple(map(fail_if, request.fail_if))
    allowed = allowed_options(
        request.allow,
        provider=request.provider,
        host=request.hosts[0] if request.hosts else None,
        rents=request.rent is not None,
    )
    for key, _ in labels:
        if not _LABEL_KEY.match(key):
            raise InvalidValue(
                f"label key {key!r} holds something other than letters, digits, '_', '.' and '-'",
                field="labels",
            )
    return tuple(
        Cell(
            provider=request.provider,
            address=host,
            target=target,
            rent=request.rent,
            profile=request.profile,
            parameters=parameters,
            runs=request.runs,
            replicate=replicate,
            labels=labels,
            promise=promised,
            if_busy=busy,
            fail_if=conditions,
            allowed=allowed,
        )
        for replicate in range(request.replicates)
        for host in (request.hosts or (None,))
    )


def allowed_options(
    options: Sequence[str], *, provider: str, host: str | None, rents: bool
) -> tuple[str, ...]:
    """Return the options that `--allow` names, each once.

    Raises InvalidValue where the machine is rented or reached over SSH: others may use it, or are
    answerable for what runs there. Raises UnknownName for an option that cannot be allowed.
    """
    for option in options:
        if option not in ALLOWABLE:
            raise UnknownName("option to allow", option, ALLOWABLE, field="profile")
    if options and (rents or host is not None):
        where = (
            f"the machine of --provider {provider} is rented"
            if rents
            else f"{host} may be shared with other users"
        )
        raise InvalidValue(
            f"--allow {options[0]}: {where}; it is allowed only on this machine",
            advice=f"run diskbench on the machine itself, or take {options[0]} out of the job file",
            field="profile",
        )
    return tuple(dict.fromkeys(options))


def fail_if(text: str) -> Threshold:
    """Return the threshold of `--fail-if 'p99 > 10ms'`. Raises InvalidValue."""
    try:
        return Threshold.failing(text)
    except ValueError as error:
        raise InvalidValue(
            f"--fail-if {error}",
            advice="write [STEP:] [DIRECTION] METRIC < or > NUMBER[UNIT]: 'p99 > 10ms', "
            "'ratio < 0.9', 'rand-read-4k-qd32: iops < 2900'",
            field="fail_if",
        ) from None


def if_busy(text: str) -> str:
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


def promise(request: Request) -> Promise | None:
    """Return the promise of `--promise iops=5000,mb_per_s=100`. Raises InvalidValue."""
    text = request.promise
    if text is None:
        return None
    if not plugin(request.provider).promise_by_owner:
        raise InvalidValue(
            f"--promise cannot be used with --provider {request.provider}: its catalogue promises",
            advice=f"it is for {', '.join(p.name for p in plugins() if p.promise_by_owner)}",
            field="promise",
        )
    return read_promise(text)


def read_promise(text: str) -> Promise:
    """Parse `iops=5000,io_kib=32,mb_per_s=100`. Raises InvalidValue."""
    figures = key_values("--promise", text.split(","))
    try:
        read = {key: float(value) for key, value in figures}
        if any(not 0 < value < math.inf for value in read.values()):
            raise ValueError
        promised = Promise.model_validate(read)
        if read.keys() - Promise.model_fields.keys():
            raise ValueError
    except ValueError:
        raise InvalidValue(
            f"--promise {text!r} is not a promise of IOPS or MB/s",
            advice="write for example --promise iops=5000,mb_per_s=100; io_kib=32 beside iops says "
            "that a request above 32 KiB counts as several I/Os",
            field="promise",
        ) from None
    if promised.io_kib is not None and promised.iops is None:
        raise InvalidValue(
            f"--promise {text!r}: io_kib says how I/Os are counted, and no iops are promised",
            advice="add iops=N, or leave io_kib out",
            field="promise",
        )
    return promised


def key_values(flag: str, pairs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse `k=v` texts into sorted pairs. Raises InvalidValue for a missing or repeated key, and
    for a pair that is too long to be printed."""
    values: dict[str, str] = {}
    for pair in pairs:
        if len(pair) > VALUE_CHARS:
            raise InvalidValue(
                f"{flag} {pair[:40]}… has {len(pair):,} characters",
                advice=f"at most {VALUE_CHARS:,} are kept and printed with a run",
                field=field_of(flag),
            )
        key, sep, value = pair.partition("=")
        if not sep or not key.strip():
            raise InvalidValue(
                f"{flag} {pair!r} is not of the form key=value", field=field_of(flag)
            )
        if key.strip() in values:
            raise InvalidValue(f"{flag} {key.strip()} is given twice", field=field_of(flag))
        values[key.strip()] = value.strip()
    return tuple(sorted(values.items()))
