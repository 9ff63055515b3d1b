"""The job files of a profile as this machine would run them, and whether fio accepts them."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import subprocess
import tempfile
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import HostUnavailable, InvalidValue, ProfileError
from diskbench.fio.jobfile import parse, read
from diskbench.fio.offered import stand_in
from diskbench.fio.retarget import retarget
from diskbench.fio.steps import build_steps, mistakes
from diskbench.fio.target import FioTarget, device_names
from diskbench.fio.template import own_options, render
from diskbench.model.facts import CpuFacts, HostFacts
from diskbench.plan.cells import allowed_options
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Loop, Step


_MOST = 40
"""How many mistakes a message lists."""


def built(
    profile: Profile, overrides: Mapping[str, str], target: FioTarget
) -> tuple[tuple[Step, ...], Loop | None, str | None]:
    """The steps on this machine, the loop among them (None: no loop), and the version of this
    machine's fio (None: no fio). Raises ProfileError."""
    here = _here()
    steps = build_steps(profile, overrides, here, target)
    return steps.steps, steps.loop, here.fio_version


def difference(profile: Profile, overrides: Mapping[str, str], target: FioTarget) -> str:
    """What changes in a user's job file on this machine, as a unified diff; "" for none."""
    text, parameters = render(profile, overrides, _here(), target)
    lines = text.split("\n")
    _, changes = retarget(parse(text), target, own_options(profile, parameters))
    added = [change.after for change in changes if change.line == 0 and change.after]
    for change in changes:
        if change.line:
            lines[change.line - 1] = "" if change.after is None else change.after
    removed = {change.line for change in changes if change.after is None}
    kept = ["[global]", *added] if added else []
    kept += [line for number, line in enumerate(lines, 1) if line or number not in removed]
    return "\n".join(
        unified_diff(
            profile.template.rstrip("\n").split("\n"),
            "\n".join(kept).rstrip("\n").split("\n"),
            fromfile=profile.name,
            tofile="as fio is given it",
            lineterm="",
        )
    )


def _here() -> HostFacts:
    """This machine, as far as a template sees it."""
    return HostFacts(
        cpu=CpuFacts(count=os.cpu_count() or 1),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        fio_version=_fio("--version"),
        fio_engines=tuple((_fio("--enghelp") or "").split()),
    )


def checked(
    typed: str, profile: Profile, overrides: Mapping[str, str], target: FioTarget
) -> tuple[tuple[Step, ...], str]:
    """The steps, each accepted by `fio --parse-only`, and the version of that fio. `typed` is the
    profile as it was given, a name or a path. Raises HostUnavailable without fio, ProfileError for
    a job that fio refuses."""
    with tempfile.TemporaryDirectory(prefix="diskbench-validate-") as scratch:
        if target.kind == "directory":
            # fio checks for the directory while it parses, so the directory must exist.
            target = target.model_copy(update={"path": scratch})
        # A single mistake is reported by the stage that finds it.
        plain = not profile.is_template
        faults = tuple(mistakes(profile, overrides, _here(), target)) if plain else ()
        if len(faults) > 1:
            listed = "\n  ".join(faults[:_MOST])
            more = f"\n  and {len(faults) - _MOST} more" if len(faults) > _MOST else ""
            raise ProfileError(
                f"{len(faults)} mistakes:\n  {listed}{more}",
                advice="correct or remove them; see docs/profiles.md",
            )
        steps, _, version = built(profile, overrides, target)
        if version is None:
            raise HostUnavailable(
                "there is no fio on this machine, so nothing can be validated",
                advice="install fio (apt install fio, dnf install fio, brew install fio)",
            )
        for step in steps:
            _parse_only(typed, profile, stand_in(step), Path(scratch))
    return steps, version


def typed_target(
    profile: Profile,
    path: str | None,
    devices: Sequence[str],
    size_gib: float | None,
    allow: Sequence[str] = (),
) -> FioTarget:
    """The target as typed (`size_gib` in GiB), or a placeholder of a kind that the profile can use
    where nothing was typed. `allow` as in `run --allow`. Raises InvalidValue."""
    allowed = allowed_options(allow, provider="local", host=None, rents=False)
    if path is not None and devices:
        raise InvalidValue(
            "--path and --device cannot be used together", advice="give one of them", field="path"
        )
    if size_gib is not None and not 0 < size_gib < math.inf:
        raise InvalidValue(
            f"--size {size_gib} is not a size", advice="give GiB, more than 0", field="size"
        )
    size = None if size_gib is None else int(size_gib * GIB)
    needs_device = profile.is_template and "directory" not in profile.targets
    if not profile.is_template:
        with contextlib.suppress(ProfileError):  # reported where it is read for its steps
            needs_device = bool(device_names(read(profile.template)[0]))
    if devices or (path is None and needs_device):
        first, *others = devices or ("/dev/DEVICE",)
        return FioTarget(
            kind="device", path=first, others=tuple(others), size_bytes=size, allowed=allowed
        )
    place = f"{Path(path).absolute() if path else '/PATH'}/diskbench-TRIAL"
    return FioTarget(kind="directory", path=place, size_bytes=size, allowed=allowed)


def total_s(steps: Sequence[Step], loop: Loop | None) -> float:
    """Expected seconds of a run; a loop counts with its least number of rounds."""
    first, rounds = (loop.first, loop.min_rounds) if loop else (len(steps), 1)
    once = sum(step.expected_s for step in steps[:first])
    return once + rounds * sum(step.expected_s for step in steps[first:])


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
        reason = "; ".join(line for line in done.stderr.splitlines() if line.strip())
        raise ProfileError(
            f"profile {profile.name!r}, step {step.name!r}: fio refuses it: {reason}",
            advice=f"see it: diskbench profiles render {shlex.quote(typed)} --step {step.index}",
        )


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
