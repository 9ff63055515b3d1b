"""`diskbench profiles`: the list of profiles, the question of each, and the exact job files that it
runs."""

import json
import textwrap
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from diskbench.cli import completion
from diskbench.cli.recorded import load_of
from diskbench.cli.terminal import TableOrJson, argument, option
from diskbench.engine.profile_jobs import built, checked, difference, total_s, typed_target
from diskbench.errors import InvalidValue
from diskbench.fio.offered import STAND_IN_IOPS, stand_in
from diskbench.fio.profiles import shipped_names, shipped_profile
from diskbench.plan.load_profile import load_profile
from diskbench.plan.rent_options import key_values
from diskbench.report.terminal.layout import hanging
from diskbench.report.terminal.screen import print_trimmed, screen
from diskbench.store.profile_file import find_profile
from diskbench.units import counted, format_duration_s

FORMAT = 1
"""Format number of the JSON documents printed here."""

Name = Annotated[
    str,
    argument(
        "NAME",
        "A profile's name, or the path of a fio job file.",
        autocompletion=completion.profiles,
    ),
]
Set = Annotated[list[str] | None, option("--set", "KEY=VALUE", "Profile parameter.")]
PathOption = Annotated[str | None, option("--path", "DIR", "Directory to measure.")]
Device = Annotated[
    list[str] | None,
    option("--device", "PATH", "Block device to measure; one for each device that the file names."),
]
Allow = Annotated[
    list[str] | None,
    option("--allow", "OPTION", "Let a job file use this option, like `run --allow`."),
]
Size = Annotated[
    float | None, option("--size", "GIB", "How much of the target to use, in GiB (2^30).")
]


def list_(output: TableOrJson = "table") -> None:
    """List the profiles that come with diskbench, with the time each takes."""
    rows = []
    for name in shipped_names():
        profile = shipped_profile(name)
        steps, loop, _ = built(profile, {}, typed_target(profile, None, (), None))
        rows.append((profile, total_s(steps, loop)))
    if output == "json":
        fields = {"name", "title", "question", "source", "targets", "filesystem", "digest"}
        listed = [
            profile.model_dump(mode="json", include=fields) | {"expected_s": time}
            for profile, time in rows
        ]
        typer.echo(json.dumps({"format": FORMAT, "profiles": listed}, indent=2))
        return
    table = Table("name", "title", "about", box=None, header_style="bold", pad_edge=False)
    for profile, time in rows:
        table.add_row(profile.name, profile.title, format_duration_s(time))
    print_trimmed(screen(), table)


def show(name: Name, output: TableOrJson = "table") -> None:
    """Show the question that a profile answers, its source and its parameters."""
    profile = find_profile(name)
    if output == "json":
        document = {"format": FORMAT, **profile.model_dump(mode="json")}
        typer.echo(json.dumps(document, indent=2))
        return
    typer.echo(f"{profile.name}: {profile.title}")
    for field in ("question", "source", "notes"):
        if words := getattr(profile, field):
            typer.echo(hanging(f"  {field:<12}", words))
    typer.echo(f"  targets     {', '.join(profile.targets)} (filesystem {profile.filesystem})")
    typer.echo(f"  page cache  {profile.page_cache} between steps")
    typer.echo("  parameters" if profile.parameters else "  parameters  none")
    for parameter in profile.parameters.values():
        default = f"{parameter.name}={parameter.default} ({parameter.kind})"
        typer.echo(hanging("    ", default, indent=8))
        typer.echo(hanging(" " * 8, parameter.help))
    typer.echo("\n" + profile.template.strip())


def render(
    name: Name,
    path: PathOption = None,
    device: Device = None,
    size: Size = None,
    settings: Set = None,
    allow: Allow = None,
    step: Annotated[int | None, option("N", "One step, from 0.")] = None,
) -> None:
    """Print the exact job files that would run on this machine, one per step."""
    profile = find_profile(name)
    target = typed_target(profile, path, device or (), size, allow or ())
    parameters = dict(key_values("--set", settings or ()))
    steps, loop, _ = built(profile, parameters, target)
    if step is not None and not 0 <= step < len(steps):
        raise InvalidValue(
            f"there is no step {step}", advice=f"the profile has steps 0 to {len(steps) - 1}"
        )
    if not profile.is_template and (changed := difference(profile, parameters, target)):
        typer.echo(textwrap.indent(changed, "; ") + "\n")
    for planned in steps:
        if step is None:
            repeated = ""
            if loop and planned.index >= loop.first:
                rounds = f"({loop.min_rounds} to {loop.max_rounds} rounds)"
                repeated = f", repeated until {loop.tracked} is steady {rounds}"
            typer.echo(f"; ===== step {planned.index}: {planned.name} ({planned.role}){repeated}")
        if step is None or planned.index == step:
            shown = stand_in(planned)
            if shown is not planned:
                typer.echo(f"; rates below assume a measured rate of {STAND_IN_IOPS:g} IOPS")
            typer.echo(shown.job)


def from_load(
    file: Annotated[Path, argument("FILE", "A recorded load, as `advise --load` takes it.")],
    device: Annotated[str | None, option("NAME", "Which device of the recorded load.")] = None,
    block: Annotated[str | None, option("SIZE", "Block size, if the file has none.")] = None,
) -> None:
    """Print a profile that repeats a recorded load, with a step for each percentile."""
    typer.echo(load_profile(load_of(file, device, block), file.name), nl=False)


def validate(
    name: Name, device: Device = None, size: Size = None, settings: Set = None, allow: Allow = None
) -> None:
    """Check a profile: template, parameters, safety, and each job file with fio --parse-only."""
    profile = find_profile(name)
    target = typed_target(profile, None, device or (), size, allow or ())
    parameters = dict(key_values("--set", settings or ()))
    steps, version = checked(name, profile, parameters, target)
    them = "it" if len(steps) == 1 else "them"
    typer.echo(f"{profile.name}: {counted(len(steps), 'step')}; fio {version} accepts {them}")
    if any(stand_in(step) is not step for step in steps):
        assumed = f"were checked with {STAND_IN_IOPS:g} IOPS"
        typer.echo(f"  rates that depend on an earlier step {assumed}")
