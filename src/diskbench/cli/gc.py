"""`diskbench gc`: give back what runs left behind."""

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from diskbench.cli import completion
from diskbench.cli.messages import print_problem
from diskbench.cli.scopes import Where, check_asked, scope_of, scoped
from diskbench.cli.selecting import ids
from diskbench.cli.sessions import opened, print_swept, sweep_code
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import argument, option, print_json
from diskbench.engine.cleanup.gc import sweep
from diskbench.engine.cleanup.orphans import sweep_provider
from diskbench.engine.work import abandoned_plans
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.ids import short
from diskbench.model.outcome import SweepDocument, Swept, Unlisted


@scoped
def gc(
    ids: Annotated[
        list[str] | None,
        argument(
            "ID",
            "Leases, trials or runs to give back now, expired or not: ids, long or "
            "short, or `last`. Leases that only --provider lists need their full id.",
            autocompletion=ids,
        ),
    ] = None,
    dry_run: Annotated[bool, option("--dry-run", "Only list what would be given back.")] = False,
    output: Annotated[Literal["text", "json"], option("What to print on stdout.")] = "text",
    provider: Annotated[
        str | None,
        option(
            "NAME",
            "Also list all diskbench resources at this provider; give back expired ones.",
            autocompletion=completion.providers,
        ),
    ] = None,
    region: Annotated[
        str | None,
        option(
            "NAME",
            "Region of --provider (default: all regions).",
            autocompletion=completion.regions,
        ),
    ] = None,
    not_mine: Annotated[
        bool,
        option(
            "--not-mine",
            "Also end an unexpired lease of another owner (its tag is not the setting "
            "`owner`) that this database does not know. Type its full id.",
        ),
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
    *,
    where: Where,
) -> None:
    """Give back resources of runs whose lease has expired.

    The exit code is 3 if something could not be given back.
    """
    named = list(ids or [])
    if not_mine and (provider is None or not named):
        raise InvalidValue(
            "--not-mine ends leases of others, and each must be named",
            advice="add --provider NAME and the full ids that it lists",
        )
    session = opened(database_url, evidence_url, gives_back=False)
    swept = sweep(session, named, dry_run=dry_run) if provider is None or not named else []
    unlisted: list[Unlisted] = []
    if provider is not None:
        check_asked(where, [provider], "leave it out, or name --provider NAME")
        scope = scope_of(where, provider, region=region)
        try:
            listed, unlisted = sweep_provider(
                session, scope, named, dry_run=dry_run, not_mine=not_mine
            )
        except DiskbenchError:
            if swept:
                _print(_document(swept, [], dry_run=dry_run), output)
            raise
        known_here = {item.lease_id for item in swept if item.outcome != "gave-back"}
        swept += [item for item in listed if item.copied or item.lease_id not in known_here]
    _print(_document(swept, unlisted, dry_run=dry_run), output)
    going = {item.lease_id for item in swept if item.outcome != "kept"}
    abandoned = [plan.trial_id for plan in abandoned_plans(session.database)]
    waiting = [trial_id for trial_id in abandoned if trial_id not in going]
    if waiting:
        print(
            f"{len(waiting)} suspended, not expired; resume with 'diskbench resume', or give back:"
            f"\n  diskbench gc {' '.join(map(short, waiting))}",
            file=sys.stderr,
        )
    raise typer.Exit(3 if unlisted else sweep_code(swept))


def _document(
    swept: Sequence[Swept], unlisted: Sequence[Unlisted], *, dry_run: bool
) -> SweepDocument:
    gone = [item for item in swept if item.outcome != "kept"]
    known = [item.cost.usd for item in gone if item.cost and item.cost.usd is not None]
    found = {"leases": tuple(swept), "unlisted": tuple(unlisted)}
    unpriced = len(gone) - len(known)
    return SweepDocument(dry_run=dry_run, usd=sum(known), unpriced=unpriced, **found)


def _print(document: SweepDocument, output: str) -> None:
    if output == "json":
        print_json(document.model_dump_json(indent=2))
    else:
        print_swept(document.leases, stream=sys.stdout)
        if sum(item.outcome != "kept" for item in document.leases) > 1:
            unpriced = f", and {document.unpriced} without a price" if document.unpriced else ""
            print(f"total about ${document.usd:,.2f}{unpriced}")
    for place in document.unlisted:
        print(f"not searched: {place.where}", file=sys.stderr)
        print_problem(place.problem)
    stays = all(item.outcome == "kept" and not item.problem for item in document.leases)
    if stays and not document.unlisted:
        print("nothing to give back", file=sys.stderr)
