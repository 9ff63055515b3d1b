"""Whether a profile suits a cell, before any machine is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.fio.profiles import Profile
    from diskbench.model.spec import Cell


def check_profile_suits(profile: Profile, cell: Cell) -> None:
    """Raise UnknownName or InvalidValue for parameters that the profile cannot take, and for more
    disks than it can be for; needs no machine."""
    if cell.target.others:
        from diskbench.plan.loads import check_several

        check_several(profile, cell)
    if cell.parameters:
        from diskbench.fio.profiles import check_override

        for key, text in cell.parameters:
            check_override(profile, key, text)
