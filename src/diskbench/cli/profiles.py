"""`diskbench profiles`: which there are, what one asks, and the exact job files that it runs."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.errors import HostUnavailable, InvalidValue, ProfileError
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.fio.guard import FioTarget
    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Loop, Step

app = typer.Typer(help="What can be measured: list, show, render and validate profiles.")

FORMAT = 1
"""Format number of the JSON documents printed here."""

Name = Annotated[str, typer.Argument(help="A profile's name, or the path of a fio job file.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Replace a parameter: key=value.")]
PathOption = Annotated[str | None, typer.Option("--path", help="The directory to measure in.")]
Device = Annotated[str | None, typer.Option("--device", help="The raw device to measure.")]
Size = Annotated[float | None, typer.Option("--size", help="GiB of the target to use.")]


class Output(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"


OutputOption = Annotated[Output, typer.Option("--output", help="table or json.")]


@app.command("list")
def list_profiles(output: OutputOption = Output.table) -> None:
    """List the profiles that come with diskbench, with the time each takes."""
    from diskbench.fio.profiles import shipped_names, shipped_profile

    rows = []
    for name in shipped_names():
        profile = shipped_profile(name)
        steps, loop, _ = _build(profile, {}, _target(profile, None, None, None))
        rows.append((profile, _total_s(steps, loop)))
    if output is Output.json:
        listed = [{**_summary(profile), "expected_s": time} for profile, time in rows]
        typer.echo(json.dumps({"format": FORMAT, "profiles": listed}, indent=2))
        return
    from rich.table import Table

    from diskbench.report.plain import print_trimmed
    from diskbench.report.screen import screen
    from diskbench.units import format_duration_s

    table = Table("name", "title", "about", box=None, header_style="bold", pad_edge=False)
    for profile, time in rows:
        table.add_row(profile.name, profile.title, format_duration_s(time))
    print_trimmed(screen(), table)


@app.command()
def show(name: Name, output: OutputOption = Output.table) -> None:
    """Show what a profile asks, where it comes from, and its parameters."""
    from diskbench.report.hanging import hanging
    from diskbench.store.profile_file import find_profile

    profile = find_profile(name)
    if output is Output.json:
        whole = {"format": FORMAT, **profile.model_dump(mode="json")}
        typer.echo(json.dumps(whole, indent=2))
        return
    typer.echo(f"{profile.name}: {profile.title}")
    typer.echo(hanging("  question    ", profile.question))
    typer.echo(hanging("  source      ", profile.source))
    if profile.notes:
        typer.echo(hanging("  notes       ", profile.notes))
    typer.echo(f"  targets     {', '.join(profile.targets)} (filesystem {profile.filesystem})")
    typer.echo(f"  page cache  {profile.page_cache} between steps")
    typer.echo("  parameters" if profile.parameters else "  parameters  none")
    for parameter in profile.parameters:
        typer.echo(f"    {parameter.name}={parameter.default} ({parameter.kind})")
        typer.echo(hanging(" " * 8, parameter.help))
    typer.echo("\n" + profile.template.strip())


@app.command()
def render(
    name: Name,
    path: PathOption = None,
    device: Device = None,
    size: Size = None,
    settings: Set = None,
    step: Annotated[int | None, typer.Option("--step", help="One step, from 0.")] = None,
) -> None:
    """Print the exact job files that would run on this machine, one a step."""
    from diskbench.fio.offered import STAND_IN_IOPS, stand_in
    from diskbench.store.profile_file import find_profile

    profile = find_profile(name)
    steps, loop, _ = _build(profile, _overrides(settings), _target(profile, path, device, size))
    if step is not None and not 0 <= step < len(steps):
        raise InvalidValue(
            f"there is no step {step}", advice=f"the profile has steps 0 to {len(steps) - 1}"
        )
    for one in steps:
        if step is None:
            repeated = (
                f", repeated until {loop.tracked} is steady ({loop.min_rounds} to "
                f"{loop.max_rounds} rounds)"
                if loop and one.index >= loop.first
                else ""
            )
            typer.echo(f"; ===== step {one.index}: {one.name} ({one.role}){repeated}")
        if step is None or one.index == step:
            shown = stand_in(one)
            if shown is not one:
                typer.echo(
                    f"; rates below stand in for a measured rate: as if it were "
                    f"{STAND_IN_IOPS:g} IOPS"
                )
            typer.echo(shown.job)


@app.command()
def validate(
    name: Name,
    device: Device = None,
    size: Size = None,
    settings: Set = None,
) -> None:
    """Check a profile: template, parameters, safety, and each job file with fio --parse-only."""
    from diskbench.fio.guard import FioTarget
    from diskbench.fio.offered import STAND_IN_IOPS, stand_in
    from diskbench.store.profile_file import find_profile

    profile = find_profile(name)
    with tempfile.TemporaryDirectory(prefix="diskbench-validate-") as scratch:
        target = _target(profile, None, device, size)
        if target.kind == "directory":
            # fio looks for the directory while it parses, so it must be there.
            target = FioTarget(kind="directory", path=scratch, size_bytes=target.size_bytes)
        steps, _, version = _build(profile, _overrides(settings), target)
        if version is None:
            raise HostUnavailable(
                "there is no fio on this machine, so nothing can be validated",
                advice="install fio (apt install fio, dnf install fio, brew install fio)",
            )
        for step in steps:
            _parse_only(name, profile, stand_in(step), Path(scratch))
    typer.echo(f"{profile.name}: {len(steps)} steps, accepted by fio {version}")
    if any(stand_in(step) is not step for step in steps):
        typer.echo(
            "  rates that depend on an earlier step were checked as if it reached "
            f"{STAND_IN_IOPS:g} IOPS"
        )


def _parse_only(typed: str, profile: Profile, step: Step, directory: Path) -> None:
    """Let fio read one job file; `typed` is the profile as it was given, a name or a path."""
    job = directory / "job.fio"
    job.write_text(step.job, "utf-8")
    done = subprocess.run(
        ["fio", "--parse-only", job.name],
        cwd=directory,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        said = "; ".join(line for line in done.stderr.splitlines() if line.strip())
        raise ProfileError(
            f"profile {profile.name!r}, step {step.name!r}: fio refuses it: {said}",
            advice=f"see it: diskbench profiles render {shlex.quote(typed)} --step {step.index}",
        )


def _build(
    profile: Profile, overrides: dict[str, str], target: FioTarget
) -> tuple[tuple[Step, ...], Loop | None, str | None]:
    """The steps on this machine, the loop among them, and this machine's fio version."""
    from diskbench.fio.steps import build_steps
    from diskbench.fio.template import RenderContext, render

    version = _fio("--version")
    engines = (_fio("--enghelp") or "").split()
    context = RenderContext(
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        fio_version=version,
        engines=tuple(engines),
        target_kind=target.kind,
        size_bytes=target.size_bytes,
    )
    steps, loop = build_steps(profile, render(profile, overrides, context), target, version)
    return steps, loop, version


@cache
def _fio(flag: str) -> str | None:
    """What `fio FLAG` prints; None where there is no fio."""
    try:
        done = subprocess.run(
            ["fio", flag], capture_output=True, text=True, timeout=60, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip().removeprefix("fio-") if done.returncode == 0 else None


def _target(
    profile: Profile, path: str | None, device: str | None, size_gib: float | None
) -> FioTarget:
    """The target as typed; what the profile can use where nothing was typed."""
    from diskbench.fio.guard import FioTarget

    if path is not None and device is not None:
        raise InvalidValue(
            "--path and --device exclude each other", advice="give one of them", field="path"
        )
    if size_gib is not None and not 0 < size_gib < math.inf:
        raise InvalidValue(
            f"--size {size_gib} is no size", advice="give GiB, more than 0", field="size"
        )
    size = None if size_gib is None else int(size_gib * GIB)
    if device is not None or (path is None and "directory" not in profile.targets):
        return FioTarget(kind="device", path=device or "/dev/DEVICE", size_bytes=size)
    place = str(Path(path).absolute()) if path else "/PATH"
    return FioTarget(kind="directory", path=f"{place}/diskbench-TRIAL", size_bytes=size)


def _overrides(settings: Sequence[str] | None) -> dict[str, str]:
    found = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise InvalidValue(
                f"--set {setting!r} has no value",
                advice="write --set key=value",
                field="parameters",
            )
        found[key.strip()] = value
    return found


def _total_s(steps: Sequence[Step], loop: Loop | None) -> float:
    """Expected seconds of a run; a loop counts with its least number of rounds."""
    first = loop.first if loop else len(steps)
    rounds = loop.min_rounds if loop else 1
    once = sum(step.expected_s for step in steps[:first])
    return once + rounds * sum(step.expected_s for step in steps[first:])


def _summary(profile: Profile) -> dict[str, object]:
    wanted = {"name", "title", "question", "source", "targets", "filesystem", "digest"}
    return profile.model_dump(mode="json", include=wanted)
