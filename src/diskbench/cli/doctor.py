"""`diskbench doctor`: whether a run would work, before anything is rented."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._click import Command

from diskbench.cli import completion
from diskbench.cli.lazy import command_of
from diskbench.cli.run_command import Request, asked_for, with_run_options
from diskbench.cli.scopes import Where, check_asked, scope_of, scoped
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import TableOrJson, option, print_json, terminal_width
from diskbench.engine import doctor as examined
from diskbench.engine.live import check_live
from diskbench.errors import StoreUnavailable, UnknownName
from diskbench.files import write_whole
from diskbench.hosts.ssh import host_at
from diskbench.model.finding import DoctorDocument, Finding, worst_state
from diskbench.plugin import working
from diskbench.ports import Governed
from diskbench.providers.registry import provider as provider_of
from diskbench.providers.registry import provider_names
from diskbench.report.terminal.status_text import finding_lines
from diskbench.results.refreshed_catalogue import open_books
from diskbench.settings import load_settings
from diskbench.units import counted

_LIVE = "--live"
_HOW_TO_CHECK = "With --live it takes the options of diskbench run: diskbench doctor --live --help"


Live = Annotated[
    bool,
    option(
        _LIVE, "Check a rental with dry-run calls: takes the options of run, writes a recording."
    ),
]
RecordingFile = Annotated[
    Path | None,
    option(
        "--recording",
        "FILE",
        "With --live: where the recording goes (diskbench-live-PROVIDER.json).",
    ),
]


def command_for(arguments: Sequence[str]) -> Command:
    """`doctor`; with --live it takes the options of `run` for the provider that is named. Raises
    UnknownName."""
    if _LIVE not in arguments:
        return command_of(doctor, end_of_help=_HOW_TO_CHECK)
    command = partial(live, words=tuple(arguments))
    command.__name__, command.__doc__ = "doctor", live.__doc__  # type: ignore[attr-defined]
    made = with_run_options(command, arguments, _of_live)
    made.epilog = None
    return made


def _of_live(live: Live = False, recording: RecordingFile = None) -> None:
    """Options of `doctor --live` that `run` has not."""


def live(*, words: tuple[str, ...], recording: Path | None, **typed: Any) -> None:  # noqa: ANN401 - the options of `run`
    """Try what a run would rent without renting it, and record what the cloud answers.

    Costs nothing. The flags are those of `diskbench run`. Exit 2: a problem.
    """
    cell, *_ = asked_for(Request(**typed))
    findings, made = check_live(cell, open_books(), words, typed)
    file = recording or Path(f"diskbench-live-{made.provider}.json")
    try:
        write_whole(file, made.model_dump_json(indent=1).encode() + b"\n")
    except OSError as error:
        raise StoreUnavailable(
            f"the recording cannot be written to {file}: {error.strerror}",
            advice="name another file: --recording FILE",
        ) from error
    requests = counted(len(made.exchanges), "request")
    told = f"{file}: {requests} with their answers, private data removed"
    advice = "read it before you attach it to an issue"
    kept = Finding(check="recording", where="this machine", state="ok", told=told, advice=advice)
    findings.append(kept)
    _print(findings, "json" if typed["output"] == "json" else "table")


@scoped
def doctor(
    provider: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Also check this provider: credentials, permissions, quota.",
            autocompletion=completion.providers,
        ),
    ] = None,
    region: Annotated[
        str | None,
        option(
            "NAME",
            "Region to check (default: the cloud's own configuration).",
            autocompletion=completion.regions,
        ),
    ] = None,
    matrix: Annotated[
        str | None, option("FILE", "Check the quotas that this matrix needs: a file or a name.")
    ] = None,
    print_policy: Annotated[
        str | None,
        option("PROVIDER", "Print the smallest policy that the provider must allow, and exit."),
    ] = None,
    live: Live = False,  # noqa: ARG001 - `command_for` has another command for it
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
    *,
    where: Where,
) -> None:
    """Check this machine, the stores and providers; rents nothing.

    The exit code is 2 if a check finds a problem.
    """
    if print_policy is not None:
        named: object = provider_of(print_policy)
        if not isinstance(named, Governed):
            made = working(provider_names(), provider_of)
            known = [name for name, known in made.items() if isinstance(known, Governed)]
            raise UnknownName("provider with a policy", print_policy, known)
        print(named.policy(region).rstrip("\n"))
        return
    settings = load_settings({"database_url": database_url, "evidence_url": evidence_url})
    planned, needs, places = (
        ([], None, {}) if matrix is None else examined.examine_matrix(matrix, settings.tags)
    )
    names = dict.fromkeys([*(provider or ()), *places])
    scopes = [scope_of(where, name, region=region or places.get(name)) for name in names]
    check_asked(where, names, "add --provider NAME")
    findings = [
        *examined.examine_machine(host_at(""), list(names)),
        *examined.examine_stores(settings.database_url.get_secret_value(), settings.evidence_url),
        *planned,
        *examined.examine_providers(scopes, needs),
    ]
    _print(findings, output)


def _print(findings: Sequence[Finding], output: str) -> None:
    state = worst_state(tuple(findings))
    if output == "json":
        document = DoctorDocument(state=state, findings=tuple(findings))
        print_json(document.model_dump_json(indent=2))
    else:
        lines = finding_lines(findings, width=terminal_width())
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if state == "problem":
        raise typer.Exit(2)
