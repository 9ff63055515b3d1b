"""`diskbench doctor`: whether a run would work, before anything is rented."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diskbench.cli.scopes import Where, scoped
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import print_json, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.finding import Finding


@scoped
def doctor(
    provider: Annotated[
        list[str] | None,
        typer.Option(help="Examine this provider too: credentials, permissions, quota."),
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="Look there (default: the cloud's own configuration).")
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Hold quotas against this matrix: a file or a name."),
    ] = None,
    print_policy: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER", help="Print the least that the provider must allow, and end."
        ),
    ] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
    ] = "table",
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
    *,
    where: Where,
) -> None:
    """Examine this machine, the stores and providers; nothing is rented. Exit 2: a problem."""
    if print_policy is not None:
        print(policy_of(print_policy))
        return
    from diskbench.engine.doctor import (
        examine_machine,
        examine_matrix,
        examine_providers,
        examine_stores,
    )
    from diskbench.engine.session import host_at
    from diskbench.settings import load_settings

    settings = load_settings({"database_url": database_url, "evidence_url": evidence_url}).settings
    planned = None if matrix is None else examine_matrix(matrix)
    places = planned.places if planned else {}
    names = dict.fromkeys([*(provider or ()), *places])
    scopes = [where.scope(name, region=region or places.get(name)) for name in names]
    where.check_asked(frozenset(names), "add --provider NAME")
    findings = [
        *examine_machine(host_at(""), list(names)),
        *examine_stores(settings.database_url.get_secret_value(), settings.evidence_url),
        *(planned.findings if planned else ()),
        *examine_providers(scopes, planned.needs if planned else None),
    ]
    _print(findings, output)


def policy_of(name: str) -> str:
    """The policy of a provider. Raises UnknownName for one that needs none."""
    from diskbench.errors import UnknownName
    from diskbench.ports import Governed
    from diskbench.providers.registry import provider, provider_names

    found: object = provider(name)
    if isinstance(found, Governed):
        return found.policy().rstrip("\n")
    known = [name for name in provider_names() if isinstance(provider(name), Governed)]
    raise UnknownName("provider with a policy", name, known)


def _print(findings: Sequence[Finding], output: str) -> None:
    import sys

    from diskbench.model.finding import DoctorDocument, worst_state
    from diskbench.report.terminal.findings import finding_lines

    state = worst_state(tuple(findings))
    if output == "json":
        document = DoctorDocument(state=state, findings=tuple(findings))
        print_json(document.model_dump_json(indent=2))
    else:
        lines = finding_lines(findings, width=terminal_width())
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if state == "problem":
        raise typer.Exit(2)
