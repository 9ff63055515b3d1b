"""The matrix of `diskbench advise --prove`: the first rows, six machines each, with a profile that
has the load."""

from pathlib import Path
from typing import Any

import typer
import yaml

from diskbench.errors import InvalidValue
from diskbench.files import write_whole
from diskbench.plan.advise import Advice, Answer
from diskbench.plan.demand import Demand

REPLICATES = 6
"""Machines for an interval of the median (MR-5, MR-6)."""


def write_proof(
    path: Path, answer: Answer, demand: Demand, *, top: int, record: Path | None, p99: str | None
) -> None:
    """Write the matrix and say how to see its cost and to run it. Raises InvalidValue."""
    rows = [row for row in answer.rows if row.machine is not None][:top]
    if not rows:
        raise InvalidValue(
            "no row can be measured", advice="lower the requirements, or ask other providers"
        )
    if record is not None and demand.rate is None:
        raise InvalidValue(
            "a recorded load has no single rate to search for",
            advice=f"diskbench profiles from-load {record} > mine.fio.j2 makes a profile of it",
        )
    load = {"profile": "sla", "parameters": _parameters(demand, p99)}
    document = {
        "name": path.stem.lower().replace("_", "-"),
        "title": f"What was advised for {answer.asked}",
        "defaults": {"replicates": REPLICATES, **load},
        "axes": {"advised": [_cell(row) for row in rows]},
    }
    head = f"# Measures what `diskbench advise` found for {answer.asked}.\n"
    try:
        write_whole(path, (head + yaml.safe_dump(document, sort_keys=False)).encode())
    except OSError as error:
        failed = f"{path} cannot be written: {error.strerror}"
        raise InvalidValue(failed, advice="name a file in a folder of yours") from error
    costs = f"what they cost: diskbench matrix plan {path} --offline"
    cells = f"{path}: {len(rows) * REPLICATES} cells"
    typer.echo(f"{cells}; {costs}; then: diskbench matrix run {path}", err=True)


def _parameters(demand: Demand, p99: str | None) -> dict[str, Any]:
    load = demand.loads[0]
    found: dict[str, Any] = {"bs": str(load.block_bytes)}
    if p99 is not None:
        found["target"] = f"p99 < {p99}"
    if load.read_share == 0:
        found["rw"] = "randwrite"
    elif load.read_share < 1:
        found |= {"rw": "randrw", "rwmixread": round(load.read_share * 100)}
    return found


def _cell(row: Advice) -> dict[str, Any]:
    disk = row.disk
    cell = {
        "provider": disk.cloud,
        "region": row.region,
        "disk": disk.disk_type,
        "size": disk.size_gib,
        "iops": disk.iops,
        "throughput": disk.throughput,
        "instance_type": row.machine,
        disk.more or "": True if disk.more else None,
    }
    return {name: value for name, value in cell.items() if value is not None}
