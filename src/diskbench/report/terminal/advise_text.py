"""The answer of `diskbench advise` for a terminal: one table, why the next cheaper disks fail, and
everything about one row."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from diskbench.catalog.lookup import burst_words
from diskbench.catalog.path import Gate
from diskbench.catalog.terms import MORE_WORDS
from diskbench.model.expectation import LIMIT_WORDS
from diskbench.plan.advise import Advice, Answer
from diskbench.plan.demand import Demand
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.layout import aligned, wrapped
from diskbench.units import format_iops, format_mb_per_s, format_usd

SHOWN_REFUSED = 5
"""How many cheaper disks that fail stand below the table: the dearest, which are the nearest."""
_HEAD = ("#", "disk", "GiB", "buy", "carries", "p99", "disk $", "machine", "both $")
_DISK, _MACHINE = 1, 7
_RIGHT = (0, 2, 3, 4, 6, 8)
_YEAR = timedelta(days=365)
_P99 = {"met": "yes", "measure": "?", "not documented": "–", None: ""}


def advice_lines(
    answer: Answer, demand: Demand, *, today: date, width: int | None
) -> Iterator[str]:
    """The table and what stands below it. `today` tells old prices."""
    yield from _wrapped("", answer.asked, width)
    where = ", ".join(f"{cloud} {region}" for cloud, region in answer.regions.items())
    yield from _wrapped("", f"US dollars a month, on demand: {where}", width)
    yield ""
    if answer.rows:
        yield from _table(answer.rows, demand, today, width)
        yield ""
        yield from _legend(answer.rows, demand, today, width)
    else:
        yield "No disk in the catalogue carries this load."
    yield from _refused(answer, width)
    if names := ", ".join(answer.left_out):
        text = f"Left out, because their data is lost when the machine stops: {names}. "
        yield from _wrapped("", f"{text}Host caches do not count.", width)


def _table(rows: Sequence[Advice], demand: Demand, today: date, width: int | None) -> Iterator[str]:
    """A line a row. Where they would be longer than `width`, the machine, whose name is to be
    copied, stands below its row."""
    cells = [_HEAD, *(_cells(n, row, demand, today) for n, row in enumerate(rows, 1))]
    lines = list(aligned(cells, right=_RIGHT))
    below = width is not None and max(map(len, lines)) > width
    if below:
        kept = [[*row[:_MACHINE], *row[_MACHINE + 1 :]] for row in cells]
        fit = partial(cut, middle=True)
        right = (*_RIGHT[:-1], _MACHINE)
        lines = list(aligned(kept, right=right, least={_DISK: 10}, width=width, fit=fit))
    unpriced = next((n for n, row in enumerate(rows, 1) if row.total_usd is None), None)
    for number, line in enumerate(lines):
        if number == unpriced:
            yield "cost unknown:"
        yield line
        if below and number:
            yield f"    on {cells[number][_MACHINE]}"


def _cells(number: int, row: Advice, demand: Demand, today: date) -> tuple[str, ...]:
    disk = row.disk
    name = disk.disk_type + (f" +{_SHORT[disk.more]}" if disk.more else "")
    bought = [f"{disk.iops:,}"] if disk.iops is not None else []
    if row.buys_throughput:
        bought.append(f"{disk.throughput:,}")
    old = "~" if row.total_usd is not None and is_old(row, today) else ""
    return (
        str(number),
        name,
        f"{disk.size_gib:,}",
        "/".join(bought),
        carried(row, demand) + ("*" if row.measured else ""),
        _P99[row.latency.target],
        _dollars(row.disk_usd),
        (row.machine or "unknown") + ("†" if row.retires else ""),
        _dollars(row.total_usd) + old,
    )


_SHORT = {"performance_plus": "plus", "bursting": "burst"}


def carried(row: Advice, demand: Demand) -> str:
    """What a row carries in the unit of the demand, or by how much a recorded load may grow."""
    if demand.rate is None:
        return f"{row.headroom:,.2f} ×"
    iops = row.headroom * demand.rate
    if demand.in_mb_per_s:
        return format_mb_per_s(iops * demand.loads[0].block_bytes)
    return format_iops(iops)


def is_old(row: Advice, today: date) -> bool:
    """Whether a price is more than a year old, or nothing says how old it is."""
    if row.disk_usd is None and row.machine_usd is None:
        return False
    return row.priced_on[:10] < (today - _YEAR).isoformat()


def _dollars(usd: float | None) -> str:
    return "–" if usd is None else f"{usd:,.0f}" if usd >= 10 else f"{usd:.2f}"


def _legend(
    rows: Sequence[Advice], demand: Demand, today: date, width: int | None
) -> Iterator[str]:
    unit = "MB/s" if demand.in_mb_per_s else "IOPS"
    said = [f"carries: {unit} of this load that disk and machine sustain"]
    if demand.rate is None:
        said = ["carries: how many times the recorded load, from full burst credit"]
    if any(row.disk.iops is not None for row in rows):
        throughput = "/MB/s, as sold" if any(row.buys_throughput for row in rows) else ""
        said.insert(0, f"buy: IOPS{throughput}")
    kinds = {row.latency.target for row in rows}
    marks = (
        ("p99 yes: promised worst case", "met" in kinds),
        ("?: usually met, but not promised: measure", "measure" in kinds),
        ("–: undocumented: measure", "not documented" in kinds),
        ("* measured here", any(row.measured for row in rows)),
        ("+plus: performance plus", any(row.disk.more == "performance_plus" for row in rows)),
        ("† retires", any(row.retires for row in rows)),
        ("~ a price is more than a year old, or undated", any(is_old(row, today) for row in rows)),
    )
    said += [words for words, applies in marks if applies]
    yield from _wrapped("", "; ".join(said) + ".", width)
    for number, row in enumerate(rows, 1):
        if row.disk.more == "bursting" and row.burst_ios:
            text = f"{number}: bursts are billed by use: {row.burst_ios:,.0f} transactions a month"
            text += ", plus a flat fee; the price is unknown."
            yield from _wrapped("", text, width)
        if (found := row.measured) is not None:
            p99 = "" if found.p99_ms is None else f", p99 {found.p99_ms:.3g} ms"
            text = f"{number}: measured {format_iops(found.iops)} IOPS{p99}, {found.words}."
            yield from _wrapped("", text, width)


def _refused(answer: Answer, width: int | None) -> Iterator[str]:
    dearest = max((row.disk_usd or 0.0 for row in answer.rows[:1]), default=float("inf"))
    cheaper = [
        (one, one.disk_usd)
        for one in answer.refused
        if not one.most and one.disk_usd is not None and one.disk_usd <= dearest
    ]
    if cheaper:
        yield ""
        yield "Cheaper disks, and why they fail:" if answer.rows else "The nearest:"
    for one, usd in cheaper[:SHOWN_REFUSED]:
        yield from _wrapped("  ", f"{one.disk.words()}, {format_usd(usd)}: {one.why}", width)
    never = [one for one in answer.refused if one.most]
    if never:
        words = "; ".join(f"{one.disk.disk_type} ({one.why})" for one in never)
        yield ""
        yield from _wrapped("", f"Too slow in any size: {words}.", width)


def row_lines(row: Advice, gates: Sequence[Gate], demand: Demand, width: int) -> Iterator[str]:
    """Everything about one row: its limits and what the load uses of each, prices, sources."""
    yield from _wrapped("", f"{row.disk.cloud} {row.disk.words()}, {row.region}", width)
    if row.machine:
        retires = f", retires {row.retires}" if row.retires else ""
        yield f"  machine  {row.machine}{retires}"
    else:
        yield "  machine  no limits of a machine towards this disk are documented"
    yield f"  carries  {carried(row, demand)} ({row.headroom:.2f} × the load)"
    for gate in gates:
        yield from _wrapped("  ", _gate_words(gate, demand), width)
    of = row.latency
    known = {"best": of.best_ms, "usual": of.usual_ms, "worst": of.worst_ms}
    told = ", ".join(f"{name} {ms:g} ms" for name, ms in known.items() if ms is not None)
    yield f"  latency  {'not documented: measure' if of.worst_ms is None else told}"
    prices = {"disk": row.disk_usd, "machine": row.machine_usd, "both": row.total_usd}
    told = ", ".join(
        f"{name} {'cost unknown' if usd is None else format_usd(usd)}"
        for name, usd in prices.items()
    )
    yield f"  price    {told} a month"
    if row.disk.more:
        yield f"  bought   {MORE_WORDS[row.disk.more]}"
    if row.burst_ios is not None:
        yield f"  bursts   {row.burst_ios:,.0f} transactions a month, price unknown"
    for source in row.sources:
        yield from _wrapped("  source   ", source, width)


def _gate_words(gate: Gate, demand: Demand) -> str:
    shown = format_iops if gate.counts == "ios" else format_mb_per_s
    unit = "I/Os" if gate.counts == "ios" else "MB"
    most = max(used for _, used in demand.used_of(gate))
    words = f"the load uses {shown(most)} of {shown(gate.allowance.baseline)}"
    words += burst_words(gate.allowance, shown)
    covers = "" if gate.covers == "both" else f" ({gate.covers})"
    return f"{LIMIT_WORDS[gate.limit]}: {words} {unit}/s{covers}"


def _wrapped(lead: str, text: str, width: int | None) -> list[str]:
    return wrapped(lead, text, width or 100_000, indent=len(lead) + 2)
