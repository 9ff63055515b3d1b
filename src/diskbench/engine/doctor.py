"""`diskbench doctor`: checks whether a run would work, without renting or changing anything."""

import contextlib
import ctypes
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from diskbench.engine.matrix.matrix_file import Pairs, load_matrix, outlook_of, seed_of
from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, Need, Quota, finding, refusal
from diskbench.model.rental import Scope
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore, Examinable, Host, Metered
from diskbench.providers.registry import Providers
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.database import database_state, parse_url, supply_unixepoch
from diskbench.store.evidence import open_evidence
from diskbench.store.schema_revision import HEAD
from diskbench.store.urls import database_file, database_url, evidence_directory
from diskbench.units import GIB, counted, format_bytes

HERE = "this machine"
_LITTLE_BYTES = 2 * GIB
"""Below this free space a warning is given: evidence of one long run with logs takes some hundred
MiB; our choice."""
_FIO = """\
fio --version || exit 4
cd / && fio --name=doctor --ioengine=null --size=64k --output-format=json >/dev/null
"""
_CHOOSE_DATABASE = "choose another place with --database-url or DISKBENCH_DATABASE_URL"


def examine_machine(host: Host, providers: Sequence[str]) -> list[Finding]:
    """Findings on the clock, fio and the SSH client of the machine on which diskbench runs."""
    done = host.run("ssh -V 2>&1")
    ssh = finding("ssh", HERE, "ok", done.text.partition(",")[0].strip())
    if done.exit:
        ssh = finding("ssh", HERE, "problem", "no SSH client", "apt-get install openssh-client")
    return [_clock(), _fio(host, providers), ssh]


def examine_stores(database_url: str, evidence_url: str) -> list[Finding]:
    """Findings on the database and the evidence store; a probe object is written to the store and
    removed."""
    return [*_database(database_url), *_evidence(evidence_url)]


def examine_providers(scopes: Sequence[Scope], needs: Sequence[Need] | None) -> list[Finding]:
    """The findings of each provider; `needs` are those of a matrix, if there is one."""
    with Providers() as providers:
        examined = all_of(
            lambda scope: examine_provider(providers.named(scope.provider), scope, needs), scopes
        )
    return [each for findings in examined for each in findings]


def examine_provider(
    adapter: object, scope: Scope, needs: Sequence[Need] | None = None
) -> list[Finding]:
    """The findings of one provider, `adapter`, on its credentials, APIs and quotas."""
    if not isinstance(adapter, Examinable):
        return [finding("account", scope.provider, "ok", "nothing to check: it rents nothing")]
    findings = list(adapter.examine(scope))
    refused = any(f.check == "credentials" and f.state == "problem" for f in findings)
    if isinstance(adapter, Metered) and not refused:
        findings += quota_findings(adapter, scope, needs)
    return findings


def examine_matrix(
    name_or_path: str, tags: Pairs = ()
) -> tuple[list[Finding], tuple[Need, ...], dict[str, str | None]]:
    """Whether every block of a matrix can be planned, by calls that change nothing; the most that
    it needs at the same time; and its providers, each with the first region that the matrix names
    for it. `tags` as load_matrix has them. Raises UserError for a matrix that cannot be read."""
    file = load_matrix(name_or_path, tags)
    outlook = outlook_of(file, open_books(), seed=seed_of(file.matrix), offline=False)
    where = outlook.name
    problems = [(block.block, block.problem) for block in outlook.blocks if block.problem]
    findings = [
        finding("matrix", where, "problem", f"{name}: {problem.message}", problem.advice)
        for name, problem in problems
    ]
    if not findings:
        cells = counted(len(outlook.cells), "cell")
        words = f"{cells} can be planned, {outlook.at_once} at most at once"
        findings = [finding("matrix", where, "ok", words)]
    places = {block.provider: block.region for block in reversed(outlook.blocks)}
    return findings, outlook.needs, places


def _clock() -> Finding:
    kept = None  # where the kernel does not say, for example in a container without the right
    if sys.platform == "linux":  # what the time daemon (timesyncd, chronyd, ntpd) set there
        buffer = ctypes.create_string_buffer(2 * _TIMEX_BYTES)  # modes = 0: nothing is changed
        state = int(ctypes.CDLL(None, use_errno=True).adjtimex(buffer))
        kept = None if state < 0 else state != _TIME_ERROR
    if kept is not False:
        words = "synchronised" if kept else "cannot tell whether it is synchronised"
        return finding("clock", HERE, "ok", words)
    return finding(
        "clock", HERE, "warning", "not synchronised (no NTP)",
        "start timesyncd or chronyd: timedatectl set-ntp true",
    )  # fmt: skip


def _fio(host: Host, providers: Sequence[str]) -> Finding:
    done = host.run(_FIO)
    version = next(iter(done.text.split()), "fio")
    if done.exit == 0:
        return finding("fio", HERE, "ok", f"{version} runs")
    words = done.stderr.decode(errors="replace").strip().splitlines()
    if done.exit != 4:
        why = words[0] if words else f"it ends with {done.exit}"
        return finding("fio", HERE, "problem", f"{version} does not run: {why}", "reinstall fio")
    needed = not providers or not {"local", "lab", "fake"}.isdisjoint(providers)
    return finding(
        "fio", HERE, "problem" if needed else "warning", "not installed",
        "apt-get install fio (rented machines get their own)",
    )  # fmt: skip


def _database(url: str) -> Iterator[Finding]:
    """The database; and which SQLite this Python has, and whether DBOS's clock is its own or
    supplied to it, where the database is one of SQLite and its URL can be read."""
    yield _state_of(url)
    with contextlib.suppress(DiskbenchError):  # reported by `_state_of`
        if parse_url(url).get_backend_name() == "sqlite":
            with contextlib.closing(sqlite3.connect(":memory:")) as connection:
                supplied = supply_unixepoch(connection)
            words = f"SQLite {sqlite3.sqlite_version}"
            if supplied:
                words += " lacks unixepoch('subsec') (SQLite 3.42); diskbench supplies it"
            yield finding("sqlite", HERE, "ok", words)


def _state_of(url: str) -> Finding:
    try:
        shown, has_schema = database_state(url)
    except DiskbenchError as error:
        return refusal("database", HERE, error)
    words = f"reached, {f'schema {HEAD}' if has_schema else 'empty until the first run'}"
    if has_schema is None:
        file = database_file(database_url(url))
        if blocked := _cannot_make(file) if file else "":
            return finding("database", HERE, "problem", f"{shown}: {blocked}", _CHOOSE_DATABASE)
        words = "does not exist yet; the first run creates it"
    return finding("database", HERE, "ok", f"{shown}: {words}")


def _evidence(url: str) -> list[Finding]:
    directory = evidence_directory(url)
    if directory is not None and not directory.exists():
        blocked = _cannot_make(directory)
        if blocked:
            advice = "choose another place with --evidence-url or DISKBENCH_EVIDENCE_URL"
            return [finding("evidence", HERE, "problem", f"{directory}: {blocked}", advice)]
        words = f"{directory}: does not exist yet; the first run creates it"
        return [finding("evidence", HERE, "ok", words), *_room(_nearest(directory))]
    try:
        store: EvidenceStore = open_evidence(url)
        store.check_writable()
    except DiskbenchError as error:
        return [refusal("evidence", HERE, error)]
    room = [] if directory is None else _room(directory)
    return [finding("evidence", HERE, "ok", f"{store.url}: readable and writable"), *room]


def _room(directory: Path) -> list[Finding]:
    free = shutil.disk_usage(directory).free
    if free >= _LITTLE_BYTES:
        return []
    text = f"{format_bytes(free)} free for evidence"
    return [finding("evidence", HERE, "warning", text, "free some space, or move it elsewhere")]


def _nearest(path: Path) -> Path:
    """The nearest parent directory that exists."""
    return next(parent for parent in path.absolute().parents if parent.exists())


def _cannot_make(path: Path) -> str:
    """Why a file or directory could not be created there; "" when it could."""
    above = _nearest(path)
    if not above.is_dir():
        return f"{above} is not a directory"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"{above} is not writable"


_TIMEX_BYTES = 208
"""sizeof(struct timex) on 64-bit Linux (linux/timex.h); a larger buffer serves the others."""
_TIME_ERROR = 5
"""What adjtimex(2) returns for a clock that is not synchronised."""


_RAISE = "request a higher one (docs/renting.md), or give back what is not needed (diskbench gc)"

_LOOK = "check in the cloud's console whether that is enough (docs/renting.md)"


def quota_findings(provider: Metered, scope: Scope, needs: Sequence[Need] | None) -> list[Finding]:
    """One finding per quota, in the regions of the matrix, or without a matrix in the scope's."""
    theirs = [need for need in needs or () if need.provider == scope.provider]
    regions: list[str | None] = [*sorted({need.region for need in theirs if need.region})]
    findings: list[Finding] = []
    for region in regions or [scope.region]:
        here = scope.model_copy(update={"region": region})
        try:
            quotas = provider.quotas(here)
        except DiskbenchError as error:
            refused = refusal("quota", _where(scope.provider, region), error)
            # An account that may not read its quotas may still be allowed to rent.
            findings.append(refused.model_copy(update={"state": "warning"}))
            continue
        findings += compared(scope.provider, quotas, None if needs is None else theirs)
    return findings


def compared(provider: str, quotas: Sequence[Quota], needs: Sequence[Need] | None) -> list[Finding]:
    """One finding per quota that matters: whether it suffices for `needs`, or, without a matrix,
    whether any of it is left."""
    findings = []
    for quota in quotas:
        # A total covers all families and types; needs without a family count against totals only.
        needed = sum(
            need.amount
            for need in needs or ()
            if need.region == quota.region
            and need.kind == quota.kind
            and (not quota.of or need.of in quota.of)
        )
        where, takes = _where(provider, quota.region), f"the matrix takes {needed:,.0f} at once"
        if quota.limit is None:
            if needed:
                text = f"{quota.name}: unknown; {takes}"
                findings.append(finding("quota", where, "warning", text, _LOOK))
            continue
        left = quota.limit - (quota.used or 0)
        text = f"{quota.name}: {left:,.0f} of {quota.limit:,.0f} left"
        if quota.used is None:
            text = f"{quota.name}: {quota.limit:,.0f}; the usage is not reported"
        if needed > left:
            advice = f"lower max_parallel, or {_RAISE}"
            findings.append(finding("quota", where, "problem", f"{text}, {takes}", advice))
        elif needed:
            findings.append(finding("quota", where, "ok", f"{text}, {takes}"))
        elif left <= 0 and needs is None and not _is_idle_family(quota):
            full = f"{text}: none can be rented until something is given back"
            findings.append(finding("quota", where, "warning", full, _RAISE))
        elif needs is None and not _is_idle_family(quota):
            findings.append(finding("quota", where, "ok", text))
    return findings


def _is_idle_family(quota: Quota) -> bool:
    """Whether it is the quota of one of about 100 machine families, none of whose machines run."""
    is_family = quota.kind.endswith("vcpus") and bool(quota.of) and not quota.common
    return is_family and not quota.used


def _where(provider: str, region: str | None) -> str:
    return f"{provider} {region}" if region else provider
