"""What processes and PostgreSQL used, as benchmarks/cells.py counts it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_TICKS = os.sysconf("SC_CLK_TCK")
COUNTED = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all")
"""The settings of a PostgreSQL server whose statements are counted."""


@dataclass(frozen=True)
class Counted:
    """What PostgreSQL counted: statements, transactions, CPU seconds of its processes."""

    statements: int
    transactions: int
    cpu_s: float

    def since(self, before: Counted) -> Counted:
        """What was added since `before`."""
        return Counted(
            self.statements - before.statements,
            self.transactions - before.transactions,
            self.cpu_s - before.cpu_s,
        )


@dataclass(frozen=True)
class Sessions:
    """The connections to PostgreSQL without this process's, and how many of them wait for a lock
    of another."""

    connections: int
    waiting: int


def cpu_of(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / _TICKS, children / _TICKS


def peak_mb(pid: int) -> float:
    """The largest resident set of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def orphans_s() -> float:
    """CPU seconds of the processes that workers detached and that became children of this one."""
    total = 0.0
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return total
        if not pid:
            return total
        total += usage.ru_utime + usage.ru_stime


def counted(database: str) -> Counted:
    """What PostgreSQL has counted so far."""
    ((statement_count,),) = ask(database, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements")
    ((transactions,),) = ask(
        database,
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()",
    )
    ((backend,),) = ask(database, "SELECT pg_backend_pid()")
    (postmaster,) = {int(stat[1]) for pid, stat in _processes() if pid == backend} or {0}
    ours = [stat for pid, stat in _processes() if int(stat[1]) == postmaster or pid == postmaster]
    # utime and stime of all, with those of the children that the postmaster has reaped.
    ticks = sum(int(stat[11]) + int(stat[12]) for stat in ours)
    ticks += sum(int(s[13]) + int(s[14]) for pid, s in _processes() if pid == postmaster)
    return Counted(int(statement_count), int(transactions), ticks / _TICKS)


def _processes() -> list[tuple[int, list[str]]]:
    """Each process with the fields of its stat after the name (proc(5), field 3 on)."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            processes.append((int(path.parent.name), path.read_text().rpartition(")")[2].split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return processes


def statements(database: str, most: int) -> list[Any]:
    """The statements that were sent most often: calls, milliseconds, text."""
    query = (
        "SELECT calls, total_exec_time, regexp_replace(left(query, 150), '\\s+', ' ', 'g')"
        " FROM pg_stat_statements ORDER BY calls DESC"
    )
    return list(ask(database, query))[:most]


def sizes_of(database: str, evidence: Path) -> Counter[str]:
    """Bytes of the checkpoints (their text), of DBOS's tables and of ours, indexes included, and of
    the evidence; and the number of checkpoints."""
    table = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN"
    table += " pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND "
    queries = {
        "checkpoints": "SELECT coalesce(sum(octet_length(coalesce(output, ''))), 0)"
        " FROM dbos.operation_outputs",
        "steps": "SELECT count(*) FROM dbos.operation_outputs",
        "dbos_tables": f"{table} n.nspname = 'dbos'",
        "our_tables": f"{table} n.nspname = 'public'",
    }
    sizes = Counter({name: int(ask(database, query)[0][0]) for name, query in queries.items()})
    files = (path for path in evidence.rglob("*") if path.is_file())
    sizes["evidence"] = sum(path.stat().st_size for path in files)
    return sizes


def sessions(database: str) -> Sessions:
    """The sessions of the database now."""
    query = (
        "SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock') FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    ((connections, waiting),) = ask(database, query)
    return Sessions(int(connections), int(waiting))


def is_over(database: str) -> bool:
    """Whether the matrix has ended."""
    return not ask(database, "SELECT 1 FROM diskbench_matrix WHERE state <> 'done'")


def states(database: str) -> Counter[str]:
    """How many cells are in each state."""
    query = "SELECT state, count(*) FROM diskbench_cell GROUP BY state"
    return Counter(dict(ask(database, query)))


def ask(database: str, query: str) -> Sequence[Any]:
    """The rows of a query, or none of a command."""
    with _engine(database).begin() as connection:
        answer = connection.execute(sa.text(query))
        return answer.all() if answer.returns_rows else ()


@cache
def _engine(database: str) -> sa.Engine:
    return sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
