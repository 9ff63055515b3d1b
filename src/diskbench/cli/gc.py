"""`diskbench gc`: give back what runs left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from diskbench.cli.foreground import print_error
from diskbench.cli.rent import (
    CaFile,
    EndpointUrl,
    Insecure,
    ProfileName,
    Project,
    Subscription,
    account_of,
)
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.engine.sweep import Swept


def gc(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Leases, trials or runs to give back now, expired or not."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    provider: Annotated[
        str | None,
        typer.Option(help="Also list what this provider has of anybody's, and take the expired."),
    ] = None,
    region: Annotated[str | None, typer.Option(help="Its region (default: all of them).")] = None,
    profile_name: ProfileName = None,
    subscription: Subscription = None,
    project: Project = None,
    endpoint_url: EndpointUrl = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Take away what runs left that outlived their lease. Exit 3: some of it stays."""
    import sys

    from diskbench.cli.foreground import leave
    from diskbench.engine.session import open_session
    from diskbench.engine.sweep import sweep, sweep_provider
    from diskbench.engine.takeover import abandoned_plans
    from diskbench.model.rental import Scope
    from diskbench.settings import load_settings

    settings = load_settings({"database_url": database_url, "evidence_url": evidence_url}).settings
    session = open_session(settings.database_url.get_secret_value(), settings.evidence_url)
    swept = sweep(session, ids or [], dry_run=dry_run)
    accounts = {"profile_name": profile_name, "subscription": subscription, "project": project}
    if provider is not None:
        scope = Scope(
            provider=provider,
            account=account_of(provider, accounts),
            region=region,
            endpoint=endpoint_url,
            ca_file=ca_file,
            insecure=insecure,
        )
        swept += sweep_provider(session, scope, dry_run=dry_run)
    print_swept(swept, stream=sys.stdout, dry_run=dry_run)
    if not swept:
        print("nothing to give back", file=sys.stderr)
    waiting = [plan.trial_id for plan in abandoned_plans(session.database, None)]
    if waiting and not dry_run:
        print(
            f"{len(waiting)} abandoned, not expired; go on with 'diskbench resume', or give back:"
            f"\n  diskbench gc {' '.join(waiting)}",
            file=sys.stderr,
        )
    leave(session, sweep_code(swept))


def print_swept(swept: Sequence[Swept], *, stream: TextIO, dry_run: bool = False) -> None:
    """One line a lease: what was given back, where, and why."""
    for item in swept:
        verb = _verb(failed=item.error is not None, dry_run=dry_run)
        print(f"{verb} {', '.join(item.paths)} on {item.where}: {item.reason}", file=stream)
        if item.error:
            print_error(item.error)


def sweep_code(swept: Sequence[Swept]) -> int:
    """3 when something could not be given back, else 0."""
    return 3 if any(item.error for item in swept) else 0


def _verb(*, failed: bool, dry_run: bool) -> str:
    if dry_run:
        return "would give back"
    return "could not give back" if failed else "gave back"
