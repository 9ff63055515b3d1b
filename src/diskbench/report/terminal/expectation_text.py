"""What a plan should find, in words: a line a step, the credit, the price of what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.expectation import LIMIT_WORDS
from diskbench.report.assemble.price_text import price_lines
from diskbench.units import format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.expectation import (
        CreditRange,
        Expectation,
        ExpectedLevel,
        PlanExpectation,
        StepExpectation,
    )

_MOST_STEPS = 16
_LEAST_NAME = 19
"""What `  after 12 h 05 min` needs."""
_WIDEST_NAME = 24
_NUMBERS = f"{'IOPS':>8} {'MB/s':>7}  limited by"


def expected_pairs(expected: PlanExpectation | None) -> Iterator[tuple[str, str]]:
    """Named lines of the plan: the credit, the price, and what is not known."""
    if expected is None:
        return
    yield from _named("credit", _credit_lines(expected))
    if expected.price is not None:
        yield from _named("disk", price_lines(expected.price))
    if expected.unknown:
        yield "unknown", f"{'; '.join(expected.unknown)}: what is expected leaves that out"


def expected_lines(expected: PlanExpectation | None) -> Iterator[str]:
    """A table of the first run's steps: what each should get, and what limits it. The second line
    of a step that a burst carries is what is left once credit is gone. Empty where nothing is known
    of the disk."""
    if expected is None or not expected.expectations:
        return
    steps = [one for one in expected.steps if one.run == 1 and one.round in (None, 1)]
    shown = steps if len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 1]
    width = min(_WIDEST_NAME, max(_LEAST_NAME, *(len(one.name) for one in shown)))
    yield f"  {'expected':<{width}} {_NUMBERS}"
    for one in shown:
        yield from _step_lines(one, expected.of(one), width)
    if len(shown) < len(steps):
        yield f"  … and {len(steps) - len(shown)} more (--output json has all)"


def credit_words(one: CreditRange) -> str:
    """When a bucket is empty, and in which range; how long it would bear full load."""
    name = LIMIT_WORDS[one.bucket]
    if one.gone_s is None:
        soon = f", at the earliest after {_about(one.earliest_s)}" if one.earliest_s else ""
        return f"{name}: lasts{soon} (full load empties it in {_about(one.full_load_s)})"
    where = f" in {one.step}" + (f" of run {one.run}" if one.run and one.run > 1 else "")
    spread = _range(one)
    return f"{name}: gone after {_about(one.gone_s)},{where}{spread}"


def _range(one: CreditRange) -> str:
    early, late = one.earliest_s, one.latest_s
    if early is None or early == one.gone_s == late:
        return ""
    until = f"to {_about(late)}" if late is not None else "or not at all"
    return f"; {_about(early)} {until} by the size of its requests"


def _credit_lines(expected: PlanExpectation) -> Iterator[str]:
    for one in expected.credits:
        yield credit_words(one)


def _step_lines(one: StepExpectation, found: Expectation | None, width: int) -> Iterator[str]:
    name = one.name if len(one.name) <= width else f"{one.name[: width - 1]}…"
    if found is None:
        yield f"  {name:<{width}} {'–':>8} {'–':>7}"
        return
    yield f"  {name:<{width}} {_figures(found.begin)}"
    if found.bursts:
        when = f"  after {_about(found.lasts_s)}" if found.lasts_s is not None else "  then"
        yield f"  {when:<{width}} {_figures(found.lasting)}"


def _figures(level: ExpectedLevel) -> str:
    return f"{format_iops(level.iops):>8} {format_mb_per_s(level.bytes_per_s):>7}  {level.words()}"


def _about(seconds: float) -> str:
    """A duration that claims no more than it knows: whole minutes from ten on, hours from a day."""
    if seconds >= 600:
        seconds = round(seconds / 60) * 60
    return format_duration_s(seconds)


def _named(name: str, texts: Iterator[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        yield name, text
        name = ""
