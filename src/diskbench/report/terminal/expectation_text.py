"""The expectation of a plan as text: a line per step, the credit, the price per promised unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.expectation import LIMIT_WORDS
from diskbench.report.assemble.price_text import price_lines
from diskbench.units import KIB, format_duration_s, format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.expectation import (
        BeyondCredit,
        CreditRange,
        Expectation,
        ExpectedLevel,
        PlanExpectation,
        StepExpectation,
    )

_MOST_STEPS = 16
_LEAST_NAME = 19
"""Columns that `  after 12 h 05 min` needs."""
_WIDEST_NAME = 24
_SHOWN_AS_BYTES = 64 * KIB
_NUMBERS = f"{'IOPS':>8} {'MB/s':>7}  limited by"


def expected_pairs(expected: PlanExpectation | None) -> Iterator[tuple[str, str]]:
    """Labelled lines of the plan: the credit, the price, and what is not known."""
    if expected is None:
        return
    yield from _named("credit", _credit_lines(expected))
    if expected.beyond is not None and expected.beyond.ends != "after":
        yield "", beyond_words(expected.beyond)
    if expected.price is not None:
        yield from _named("disk", price_lines(expected.price))
    if expected.unknown:
        yield "unknown", f"{'; '.join(expected.unknown)} (not included in the expectation)"


def expected_lines(expected: PlanExpectation | None) -> Iterator[str]:
    """A table of the first run's steps: the expected figures and their limit. A step on burst
    credit has a second line with the figures after the credit is used up. Empty if nothing is known
    about the disk."""
    if expected is None or not expected.expectations:
        return
    steps = [step for step in expected.steps if step.run == 1 and step.round in (None, 1)]
    shown = steps if len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 1]
    width = min(_WIDEST_NAME, max(_LEAST_NAME, *(len(step.name) for step in shown)))
    yield f"  {'expected':<{width}} {_NUMBERS}"
    for step in shown:
        yield from _step_lines(step, expected.of(step), width)
    if len(shown) < len(steps):
        yield f"  … and {len(steps) - len(shown)} more (--output json has all)"


def credit_words(credit: CreditRange) -> str:
    """When a bucket runs empty, with the plausible range; how long it lasts under full load."""
    name = LIMIT_WORDS[credit.bucket]
    if credit.gone_s is None:
        soon = f", at the earliest after {_about(credit.earliest_s)}" if credit.earliest_s else ""
        return f"{name}: not used up{soon} (full load uses it up in {_about(credit.full_load_s)})"
    where = f" in {credit.step}" + (
        f" of run {credit.run}" if credit.run and credit.run > 1 else ""
    )
    spread = _range(credit)
    return f"{name}: used up after {_about(credit.gone_s)},{where}{spread}"


def beyond_words(beyond: BeyondCredit) -> str:
    """Where the load ends before, or at, the end of the credit; and the options that go beyond."""
    rates, block = (beyond.begin_iops, beyond.lasting_iops), beyond.block_bytes
    if block >= _SHOWN_AS_BYTES:
        before, after = (format_mb_per_s(rate * block) for rate in rates)
        falls = f"from {before} to {after} MB/s"
    else:
        before, after = map(format_iops, rates)
        falls = f"from {before} to {after} IOPS"
    when = "before the credit does" if beyond.ends == "before" else "when the credit does"
    return f"this plan ends {when}, so it does not show the fall {falls}; {beyond.flags} shows it"


def _range(credit: CreditRange) -> str:
    early, late = credit.earliest_s, credit.latest_s
    if early is None or early == credit.gone_s == late:
        return ""
    until = f"to {_about(late)}" if late is not None else "or not at all"
    return f"; {_about(early)} {until}, depending on request size"


def _credit_lines(expected: PlanExpectation) -> Iterator[str]:
    for credit in expected.credits:
        yield credit_words(credit)


def _step_lines(
    step: StepExpectation, expectation: Expectation | None, width: int
) -> Iterator[str]:
    name = step.name if len(step.name) <= width else f"{step.name[: width - 1]}…"
    if expectation is None:
        yield f"  {name:<{width}} {'–':>8} {'–':>7}"
        return
    yield f"  {name:<{width}} {_figures(expectation.begin)}"
    if expectation.bursts:
        when = (
            f"  after {_about(expectation.lasts_s)}"
            if expectation.lasts_s is not None
            else "  then"
        )
        yield f"  {when:<{width}} {_figures(expectation.lasting)}"


def _figures(level: ExpectedLevel) -> str:
    return f"{format_iops(level.iops):>8} {format_mb_per_s(level.bytes_per_s):>7}  {level.words()}"


def _about(seconds: float) -> str:
    """A duration rounded to its precision: whole minutes from ten minutes on, hours from a day."""
    if seconds >= 600:
        seconds = round(seconds / 60) * 60
    return format_duration_s(seconds)


def _named(name: str, texts: Iterator[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        yield name, text
        name = ""
