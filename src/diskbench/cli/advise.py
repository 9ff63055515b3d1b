"""`diskbench advise`: which disk to buy for a load."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from diskbench import units
from diskbench.catalog.books import Books, areas, regions, regions_in
from diskbench.catalog.cost import no_price_words, priced_region
from diskbench.catalog.shipped import clouds
from diskbench.cli import completion
from diskbench.cli.proof import write_proof
from diskbench.cli.recorded import load_of
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import TableOrJson, option, print_json, table_width, terminal_width
from diskbench.errors import InvalidValue, StoreUnavailable, UnknownName, check_known
from diskbench.model.expectation import Load
from diskbench.model.threshold import Threshold
from diskbench.plan.advise import Market, path_to
from diskbench.plan.advise import advise as advised
from diskbench.plan.demand import DAY_S, Demand, constant, recorded
from diskbench.report.charts.advice import advice_chart, advice_points
from diskbench.report.page.write_report import format_of, write_chart
from diskbench.report.terminal.advise_text import advice_lines, row_lines
from diskbench.report.terminal.layout import hanging
from diskbench.results.measured_disks import measured_disks
from diskbench.results.refreshed_catalogue import open_books

_load = partial(option, rich_help_panel="The load")
_where = partial(option, rich_help_panel="Where it is bought")


def advise(
    size: Annotated[float, option("GIB", "How much data the disk must hold, in GiB (2^30).")],
    iops: Annotated[float | None, _load("N", "I/Os per second, of --block each.")] = None,
    mb_per_s: Annotated[float | None, _load("N", "MB/s (10^6 bytes).")] = None,
    block: Annotated[
        str | None,
        _load(
            "SIZE",
            "Block size (default: 4k, or 1m with --mb-per-s; both rates together define it).",
        ),
    ] = None,
    mix: Annotated[
        str | None,
        _load("READS:WRITES", "Shares of reads and writes: 70:30 (default: reads only)."),
    ] = None,
    p99: Annotated[
        str | None, _load("LATENCY", "Latency that 99 % of I/Os must stay below: 2ms.")
    ] = None,
    for_: Annotated[
        str | None,
        _load(
            "--for",
            "TIME",
            "How long the load lasts: 30m or burst:30m is a daily peak that begins with full "
            "burst credit (default: 24h, a continuous load).",
        ),
    ] = None,
    load: Annotated[
        Path | None,
        _load(
            "FILE",
            "A recorded load instead: iostat -xt, sar -d, a fio log, blkparse, or a cloud's "
            "metrics as CSV.",
        ),
    ] = None,
    device: Annotated[str | None, _load("NAME", "Which device of the recorded load.")] = None,
    provider: Annotated[
        list[str] | None,
        _where(
            "NAME",
            "Only this provider; repeatable.",
            autocompletion=completion.providers_with_catalogue,
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        _where(
            "NAME",
            "A region, or europe or us; repeatable (default: regions with shipped prices).",
            autocompletion=completion.regions,
        ),
    ] = None,
    fits_vm: Annotated[
        str | None,
        _where(
            "TYPE",
            "The machine that you have (default: the cheapest that does not limit the load).",
        ),
    ] = None,
    prove: Annotated[
        Path | None,
        option(
            "FILE",
            "Write a matrix that measures the first rows, six machines each, with this load.",
        ),
    ] = None,
    top: Annotated[int, option("N", "How many rows --prove measures.", min=1, max=20)] = 3,
    chart: Annotated[
        Path | None,
        option("FILE", "Also draw price against the sustained rate: .png, .svg, .html."),
    ] = None,
    include_emulated: Annotated[
        bool, option("Count runs on emulated disks as measured, too.")
    ] = False,
    explain: Annotated[
        int | None, option("ROW", "Show everything about a row of the table.")
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Find the disks that carry a load, with the smallest machine that does not limit them.

    Lists the cheapest first, from documented limits, burst buckets and prices; no cloud is asked.
    The rows are not measured: `--prove` writes a matrix that measures them. Exits 0 even if no disk
    carries the load.
    """
    if load is not None:
        typed = {"--iops": iops, "--mb-per-s": mb_per_s, "--mix": mix, "--for": for_}
        demand, words = _recorded_demand(load, device, size, block, p99, typed)
    elif device is not None:
        raise InvalidValue("--device needs a recorded load", advice="add --load FILE")
    else:
        demand, words = _typed_demand(
            size, iops, mb_per_s, block, mix or "100:0", p99, for_ or "24h"
        )
    books = open_books()
    markets = _markets(books, provider or (), region or (), fits_vm)
    try:
        found = measured_disks(database(database_url), demand, emulated=include_emulated)
        markets = [replace(market, measured=found) for market in markets]
    except StoreUnavailable as error:  # the catalogue answers without it
        typer.echo(f"stored runs are left out: {error.message}", err=True)
    answer = advised(markets, demand).model_copy(update={"asked": words})
    if chart is not None:
        kind = format_of(chart, None)
        points = advice_points(answer, demand)
        write_chart(chart, advice_chart(answer, demand), points, kind, made="diskbench advise")
    if prove is not None:
        write_proof(prove, answer, demand, top=top, record=load, p99=p99)
    if explain is not None:
        if not 1 <= explain <= len(answer.rows):
            raise InvalidValue(
                f"--explain {explain}: the table has {units.counted(len(answer.rows), 'row')}",
                advice="give the number in the first column",
            )
        row = answer.rows[explain - 1]
        for line in row_lines(row, path_to(books, row).gates, demand, terminal_width()):
            typer.echo(line)
    elif output == "json":
        print_json(answer.model_dump_json(indent=2))
    else:
        today = datetime.now(UTC).date()
        for line in advice_lines(answer, demand, today=today, width=table_width()):
            typer.echo(line)
        if unpriced := [row for row in answer.rows if row.total_usd is None]:
            rows = f"{len(unpriced)} of {len(answer.rows)} rows"
            places = tuple(dict.fromkeys(row.region for row in unpriced))
            typer.echo(hanging("", no_price_words([rows], places)), err=True)


def _recorded_demand(
    path: Path,
    device: str | None,
    size: float,
    block: str | None,
    p99: str | None,
    typed: Mapping[str, object],
) -> tuple[Demand, str]:
    if given := [name for name, value in typed.items() if value is not None]:
        raise InvalidValue(
            f"{given[0]} and --load both define the load", advice="leave one of them out"
        )
    found = load_of(path, device, block)
    target = None if p99 is None else _milliseconds(p99)
    demand = recorded(found, _gib(size), target)
    most = max(sample.ios for sample in found.samples)
    mean = sum(s.ios * s.seconds for s in found.samples) / found.seconds
    rate = f"{units.format_iops(mean)} IOPS on average, {units.format_iops(most)} at most"
    parts = [
        f"{path.name}, {found.device}: {units.format_duration_s(found.seconds)}, {rate}",
        f"{demand.read_share:.0%} reads",
        f"{demand.size_gib:,} GiB",
        *found.notes,
    ]
    return demand, "; ".join(parts)


def _gib(size: float) -> int:
    if not 0 < size <= 1e7:
        raise InvalidValue(f"--size {size:g} is not a size", advice="give GiB above 0")
    return math.ceil(size)


def _typed_demand(
    size: float,
    iops: float | None,
    mb_per_s: float | None,
    block: str | None,
    mix: str,
    p99: str | None,
    for_: str,
) -> tuple[Demand, str]:
    gib = _gib(size)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*[:/]\s*(\d+(?:\.\d+)?)", mix.strip())
    reads, writes = map(float, match.groups()) if match else (0.0, 0.0)
    if not reads + writes:
        raise InvalidValue(
            f"--mix {mix!r} is not a mix", advice="write the shares of reads and writes: 70:30"
        )
    load, in_bytes = _typed_load(iops, mb_per_s, block, reads / (reads + writes))
    seconds = units.parse_duration_s(for_.removeprefix("burst:"))
    if not seconds:
        raise InvalidValue("--for 0 is not a duration", advice="write 24h, 30m or burst:30m")
    target = None if p99 is None else _milliseconds(p99)
    demand = constant(load, gib, seconds, target, in_mb_per_s=in_bytes)
    rate = load.max_per_s or 0.0
    moved = units.format_mb_per_s(rate * load.block_bytes)
    parts = [
        f"{units.format_iops(rate)} IOPS of {units.format_bytes(load.block_bytes)} ({moved} MB/s)",
        f"{load.read_share:.0%} reads",
        f"{gib:,} GiB",
        "continuous" if seconds >= DAY_S else f"{units.format_duration_s(seconds)} a day",
    ]
    return demand, ", ".join(parts + ([] if p99 is None else [f"p99 below {p99}"]))


def _typed_load(
    iops: float | None, mb_per_s: float | None, block: str | None, read_share: float
) -> tuple[Load, bool]:
    """The load, and whether it was asked in MB/s."""
    for name, value in (("--iops", iops), ("--mb-per-s", mb_per_s)):
        if value is not None and not 0 < value < 1e9:
            raise InvalidValue(f"{name} {value:g} is not a rate", advice="give a number above 0")
    given = None if block is None else units.parse_size_bytes(block)
    if given is not None and not 512 <= given <= 64 * units.MIB:
        raise InvalidValue(f"--block {block} is not a block size", advice="give 512 to 64m")
    if iops is None and mb_per_s is None:
        what = "give --iops, --mb-per-s, both, or --load FILE"
        raise InvalidValue("advise needs a load", advice=what)
    if iops is not None and mb_per_s is not None:
        made = mb_per_s * 1e6 / iops
        if given is not None and not 0.9 <= made / given <= 1.1:
            raise InvalidValue(
                f"--iops {iops:,g} of --block {block} are {iops * given / 1e6:,.4g} MB/s, not "
                f"{mb_per_s:,g}",
                advice="any two of the three define the third: leave one out",
            )
        if not 512 <= made <= 64 * units.MIB:
            raise InvalidValue(
                f"--mb-per-s {mb_per_s:,g} with --iops {iops:,g} makes blocks of {made:,.0f} bytes",
                advice="give figures that make blocks of 512 bytes to 64 MiB",
            )
        given = given or round(made)
    size = given or (4 * units.KIB if iops is not None else units.MIB)
    rate = (mb_per_s or 0.0) * 1e6 / size if iops is None else iops
    return Load(block_bytes=size, read_share=read_share, max_per_s=rate), iops is None


def _milliseconds(text: str) -> float:
    try:
        limit = Threshold.parse(f"p99 < {text}").limit / 1e6
    except ValueError:
        limit = 0.0
    if not limit:
        form = "write a number with its unit: 2ms"
        raise InvalidValue(f"--p99 {text!r} is not a latency", advice=form)
    return limit


def _markets(
    books: Books, providers: Sequence[str], places: Sequence[str], machine: str | None
) -> list[Market]:
    """The regions of the providers that are asked for; of an area those with known prices, else
    its first. Raises UnknownName."""
    sold = clouds()
    for name in providers:
        check_known("provider with disks in the catalogue", name, sold)
    chosen = providers or sold
    if machine is not None:
        chosen = _of_machine(books, chosen, machine)
    for place in places:
        if not any(regions_in(cloud, place) for cloud in chosen):
            known = {name for cloud in chosen for name in regions(cloud)} | areas()
            raise UnknownName("region", place, known, field="region")
    markets = []
    for cloud in chosen:
        named = [name for place in places for name in regions_in(cloud, place)]
        if not places and (home := priced_region(cloud)):
            named = [home]
        priced = [name for name in named if books.of(cloud).prices_in(name).region == name]
        markets += [Market(books, cloud, name, machine) for name in priced or named[:1]]
    return markets


def _of_machine(books: Books, chosen: Sequence[str], machine: str) -> list[str]:
    named: dict[str, set[str]] = {}
    for cloud in chosen:
        book = books.of(cloud)
        priced = {name for of_source in book.prices.machines.values() for name in of_source}
        named[cloud] = {*book.machines.types, *priced}
    in_series = [cloud for cloud in chosen if books.of(cloud).machines.series_of(machine)]
    having = [cloud for cloud in chosen if machine in named[cloud] or cloud in in_series]
    if not having:
        raise UnknownName("machine", machine, set().union(*named.values()))
    return having
