"""Everything that is wrong with a job file of the user's, at once.

A run stops at the first stage that finds mistakes: values that are missing, lines that cannot be
read, devices, the guard, fio's version. Here each stage checks what the stage before it did not
remove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import ProfileError
from diskbench.fio.guard import problems
from diskbench.fio.jobfile import groups, read
from diskbench.fio.named_devices import disk_of_name, without_devices
from diskbench.fio.options import check_version
from diskbench.fio.retarget import retarget
from diskbench.fio.sizes import with_sizes
from diskbench.fio.template import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from diskbench.fio.profiles import Profile
    from diskbench.fio.target import FioTarget
    from diskbench.fio.template import RenderContext

_ANY = "1"
"""Stands for the value of a variable that has none, while the rest is checked."""


def mistakes(
    profile: Profile, overrides: Mapping[str, str], context: RenderContext, target: FioTarget
) -> tuple[str, ...]:
    """Every mistake in a plain job file, in the order in which a run would meet them. Raises
    UnknownName and InvalidValue for overrides."""
    return tuple(_mistakes(profile, overrides, context, target))


def _mistakes(
    profile: Profile, overrides: Mapping[str, str], context: RenderContext, target: FioTarget
) -> Iterator[str]:
    missing = [p.name for p in profile.parameters if p.default is None and p.name not in overrides]
    if missing:
        options = " ".join(f"--set {name}=VALUE" for name in missing)
        yield f"no value for {', '.join(missing)}: give {options}"
    rendered = render(profile, {**overrides, **dict.fromkeys(missing, _ANY)}, context)
    file, unreadable = read(rendered.text)
    yield from (error.message for error in unreadable)
    if not file.sections or all(section.is_global for section in file.sections):
        return
    unplaced = tuple(_of(lambda: disk_of_name(file, target)))
    if unplaced:  # the rest is checked as on one disk, which every name may mean
        yield from unplaced
        file, target = without_devices(file), target.model_copy(update={"others": ()})
    file, _ = retarget(file, target, rendered.options)
    yield from problems(file, target)
    if not unreadable:  # a size may be in a line that was not read
        yield from _of(lambda: with_sizes(file, target))
    yield from _of(lambda: groups(file))
    where = f"profile {profile.name!r}"
    yield from _of(lambda: check_version(file.sections, context.fio_version, where=where))


def _of(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except ProfileError as error:
        yield error.message
