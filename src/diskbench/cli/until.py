"""`diskbench run --until-ci`: replicates of one cell until their interval is narrow (MR-7).

It is a matrix of one block, so that 'diskbench matrix resume' continues it after its
process was killed.
"""

import json
import sys
from pathlib import Path
from typing import NoReturn

import typer

from diskbench.cli.matrix_foreground import begun, foreground, matrix_detached
from diskbench.cli.run_command import Request, check_judges
from diskbench.cli.terminal import Output, print_json
from diskbench.engine.matrix.campaign import check_outlook
from diskbench.engine.matrix.matrix_file import MatrixFile, outlook_of, seed_of
from diskbench.engine.session import Session
from diskbench.errors import InvalidValue
from diskbench.limits import REPLICATES
from diskbench.model.matrix import FIRST_REPLICATES, CellFields, Limits, Matrix
from diskbench.model.options import options_of_model, own_options, rent_options
from diskbench.model.outcome import Problem
from diskbench.plan.cells import read_promise
from diskbench.plan.matrix import expand
from diskbench.plan.outlook import MatrixOutlook
from diskbench.plan.rent_options import key_values
from diskbench.plugin import plugin
from diskbench.report.terminal.compare_text import replicate_lines
from diskbench.report.terminal.layout import wrapped
from diskbench.report.terminal.matrix_text import render_outlook
from diskbench.report.terminal.status_text import until_words
from diskbench.results.exported_rows import rows_as_csv
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.replicate_set import replicates_of, until_statuses
from diskbench.settings import load_settings
from diskbench.store.campaigns import CampaignRow, find_campaign
from diskbench.store.profile_file import find_profile
from diskbench.store.where import Filter
from diskbench.units import format_share, parse_duration_s, parse_share
from diskbench.visible import json_escaped


def _bounds(request: Request) -> dict[str, float | int]:
    """What `--until-ci` and its bounds say, as fields of a matrix's limits. Raises InvalidValue."""
    most, least = request.max_replicates, request.typed["replicates"]
    check_judges(
        request.typed,
        "cannot judge the replicates of --until-ci",
        "leave out {flag} or --until-ci",
    )
    share = parse_share("--until-ci", request.until_ci or "", least=0.001)
    least = FIRST_REPLICATES if least == 1 else least
    most = Limits().max_replicates if most is None else most
    if least < FIRST_REPLICATES:
        raise InvalidValue(
            f"--replicates {least} with --until-ci: fewer than {FIRST_REPLICATES} are too "
            "few to judge the interval",
            advice="leave it out, or write 10 or more",
            field="replicates",
        )
    for flag, value in (("--replicates", least), ("--max-replicates", most)):
        if value > REPLICATES:
            too_many = f"{flag} {value:,} is more than diskbench plans"
            raise InvalidValue(too_many, advice=f"at most {REPLICATES:,}")
    if most < least:
        raise InvalidValue(
            f"--max-replicates {most} is less than the minimum of {least}",
            advice="give that many or more",
        )
    return {"until_ci": share, "min_replicates": least, "max_replicates": most}


_LIMITS = {"max_cost": "budget", "assume_price": "assume_price", "deadline": "deadline"}
"""Option of `run` → limit of a matrix, as a file names it."""


def start_until(request: Request) -> NoReturn:
    """Everything that `run --until-ci` does; ends the process with its exit code."""

    def check(outlook: MatrixOutlook) -> None:
        _check_block(outlook.blocks[0].problem)
        check_outlook(outlook)
        if not request.quiet:
            print(render_outlook(outlook), file=sys.stderr)

    file = _matrix_of(request)
    session, campaign, _ = begun(file, check, request.database_url, request.evidence_url)
    if request.detach:
        matrix_detached(session, campaign)
        raise typer.Exit(0)
    code = foreground(session, campaign, None, quiet=request.quiet)
    _print_until(session, campaign, request.output)
    raise typer.Exit(code)


def outlook_until(request: Request) -> str:
    """What `plan --until-ci` prints: as text, or as one document. Raises InvalidValue."""
    file, books = _matrix_of(request), open_books()
    outlook = outlook_of(file, books, seed=seed_of(file.matrix), offline=request.offline)
    _check_block(outlook.blocks[0].problem)
    if request.output == "json":
        return json_escaped(outlook.model_dump_json(indent=2)) + "\n"
    return render_outlook(outlook)


def _check_block(problem: Problem | None) -> None:
    """Say what is wrong in the words of `run`, not in those of a matrix."""
    if problem is not None:
        raise InvalidValue(problem.message, advice=problem.advice or "")


def _matrix_of(request: Request) -> MatrixFile:
    """The matrix of one block that the options of `run` say. Raises UserError."""
    until, provider, typed = _bounds(request), request.provider_name, request.typed
    within = format_share(until["until_ci"])
    if not plugin(provider).rents:
        raise InvalidValue(
            f"--until-ci {within} needs a new machine and disk for each "
            f"replicate, and --provider {provider} rents none",
            advice="use --runs to repeat on one machine; its runs are not independent samples",
            field="provider",
        )
    profile = typed["profile"]
    find_profile(profile)
    if "/" in profile or "." in profile:
        profile = str(Path(profile).absolute())
    options = (*rent_options(), *own_options(provider))
    known = {*CellFields.model_fields, *(option.name for option in options)} - {"replicates", "tag"}
    usual = {option.name: option.usual for option in options_of_model(CellFields)}
    fields = {
        name: value
        for name, value in typed.items()
        if name in known and value is not False and value != usual.get(name)
    }
    fields |= {"provider": provider, "profile": profile}
    if typed["host"]:
        fields["host"] = typed["host"] if isinstance(typed["host"], str) else typed["host"][0]
    for name, flag in (("parameters", "--set"), ("labels", "--label")):
        if name in fields:
            fields[name] = dict(key_values(flag, fields[name]))
    if typed["tag"]:
        fields["tags"] = dict(key_values("--tag", typed["tag"]))
    if "promise" in fields:
        fields["promise"] = read_promise(fields["promise"])
    limits = {name: typed[flag] for flag, name in _LIMITS.items() if typed[flag] is not None}
    if "deadline" in limits:
        limits["deadline"] = parse_duration_s(limits["deadline"])
    matrix = Matrix(
        tags=dict(load_settings().tags),
        name=f"until-ci-{provider}",
        title=f"replicates until their interval is within {within}",
        defaults=CellFields.model_validate(fields),
        include=(CellFields(provider=provider),),
        limits=Limits.model_validate({**limits, **until}),
    )
    expand(matrix, seed=0)
    text = json.dumps(matrix.model_dump(mode="json", exclude_defaults=True), indent=2)
    return MatrixFile(matrix, "diskbench run --until-ci", text, str(Path.cwd()))


def _print_until(session: Session, campaign: CampaignRow, output: Output) -> None:
    """What the replicates say together, and whether the interval is narrow enough."""
    name = campaign.campaign_id
    filters = [Filter("campaign_id", "=", name)]
    if output == "csv":
        sys.stdout.writelines(rows_as_csv(session.database, filters))
        return
    replicates = replicates_of(session.database, filters, asked=name)
    (until,) = until_statuses(session.database, find_campaign(session.database, name))
    if output == "json":
        print_json(replicates.model_copy(update={"until": until}).model_dump_json(indent=2))
        return
    for line in replicate_lines(replicates):
        print(line)
    print()
    for line in wrapped("", until_words(until), 80):
        print(line)
