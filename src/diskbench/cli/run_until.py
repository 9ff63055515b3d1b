"""`diskbench run --until-ci`: replicates of one cell until their interval is narrow (MR-7).

It is a matrix of one block, so that 'diskbench matrix resume' continues it after its
process was killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue
from diskbench.limits import REPLICATES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Until:
    """What was typed of it: the share of the median, and the bounds."""

    share: float
    least: int
    most: int


def check_until(typed: Mapping[str, Any]) -> Until | None:
    """What `--until-ci` and its bounds say; None without it. Raises InvalidValue."""
    text, most, least = typed["until_ci"], typed["max_replicates"], typed["replicates"]
    if text is None:
        for flag, value in (("--max-replicates", most), ("--deadline", typed["deadline"])):
            if value is not None:
                raise InvalidValue(
                    f"{flag} {value} has no effect without --until-ci", advice="add --until-ci 5%"
                )
        return None
    from diskbench.model.matrix import FIRST_REPLICATES, Limits

    for flag, judged in (("--fail-if", typed["fail_if"]), ("--junit", typed["junit"])):
        if judged:
            raise InvalidValue(
                f"{flag} judges the trials of one command, not replicates until an interval",
                advice=f"leave out {flag} or --until-ci",
            )
    share = _share(text)
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
            raise InvalidValue(
                f"{flag} {value:,} is more than diskbench plans", advice=f"at most {REPLICATES:,}"
            )
    if most < least:
        raise InvalidValue(
            f"--max-replicates {most} is less than the {least} that are measured at least",
            advice="give as many or more",
        )
    return Until(share, least, most)


def _share(text: str) -> float:
    number = text.strip().removesuffix("%").strip()
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0.001 <= share < 1:
        raise InvalidValue(
            f"--until-ci {text!r} is not a share of the median",
            advice="write it like --until-ci 5%",
        )
    return share
