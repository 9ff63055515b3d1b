"""Offered load (MR-11): steps whose rate is a share of the rate that an earlier step reached.

A job file says `rate_iops=75% of capacity`, where `capacity` is an earlier step. The rate is split
among the job's clones: the sum of independent Poisson streams is a Poisson stream, too.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diskbench.errors import MeasurementFailed, ProfileError
from diskbench.fio.declared import Case
from diskbench.fio.estimate import MIXED, count
from diskbench.fio.jobfile import JobOption, Section, jobs, parse, write
from diskbench.fio.numbers import seconds_of
from diskbench.model.doubts import SATURATED
from diskbench.model.result import StepResult, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S

REACHED: Final = 0.99
"""Least achieved/requested rate at which a latency at an offered load is valid (MR-11)."""
STAND_IN_IOPS: Final = 1000.0
"""The rate that `render` and `validate` use where the real one is not measured yet."""
CLONE_IOPS: Final = 20
"""Least rate of one clone: fio takes whole numbers only, and the rounding must stay below 2.5 %."""

_SHARE = re.compile(r"^(rate_iops=)[\d.]+(% of )", re.MULTILINE)
_RUNTIME = re.compile(r"^(runtime=).*$", re.MULTILINE)
_NOTATION = re.compile(r"^(\d{1,3}(?:\.\d+)?)\s*%\s*of\s+(\S.*)$")


def share_of(value: str | None) -> tuple[float, str] | None:
    """(share, step name) of `75% of capacity`; None for any other value."""
    match = _NOTATION.match((value or "").strip())
    return (float(match.group(1)) / 100, match.group(2).strip()) if match else None


def references(sections: Sequence[Section]) -> tuple[str, ...]:
    """The names of the steps whose rate `sections` depend on."""
    shares = (share_of(o.value) for s in sections for o in s.options if o.name == "rate_iops")
    return tuple(reference[1] for reference in shares if reference)


def resolve(step: Step, finished: Sequence[StepResult]) -> Step:
    """`step` with its rates computed from the results so far; unchanged where it has none.

    The rate of a step is the sum of the IOPS of its jobs and directions; of several rounds the last
    counts. Raises MeasurementFailed where the step that it depends on did no I/O.
    """
    if "% of" not in step.job:
        return step
    rates = {
        result.step: sum(
            row.iops or 0.0
            for row in result.measurements
            if row.scope == "step" and row.direction in {"read", "write", "trim"}
        )
        for result in finished
    }
    return step.model_copy(update={"job": fill_rates(step.job, rates, step=step.name)})


def at_share(step: Step, share: float, ios: int, finished: Sequence[StepResult]) -> Step:
    """`step` with `share` as its share of the rate that it depends on, resolved as `resolve` does,
    and long enough for so many I/Os."""
    job = _SHARE.sub(rf"\g<1>{share * 100:.4f}\g<2>", step.job)
    step = resolve(step.model_copy(update={"job": job}), finished)
    longer = math.ceil(max(ios / (requested_iops(step.job) or 1.0), step.expected_s))
    job = _RUNTIME.sub(rf"\g<1>{longer}", step.job)
    return step.model_copy(update={"job": job, "expected_s": float(longer)})


def stand_in(step: Step) -> Step:
    """`step` with STAND_IN_IOPS for each rate that is not measured yet, to be shown or checked."""
    if "% of" not in step.job:
        return step
    rates = dict.fromkeys(references(parse(step.job)), STAND_IN_IOPS)
    return step.model_copy(update={"job": fill_rates(step.job, rates, step=step.name)})


def fill_rates(job: str, rates: Mapping[str, float], *, step: str) -> str:
    """The text of a job file with `N% of STEP` replaced by IOPS for each clone."""
    comments = "".join(line + "\n" for line in job.split("\n") if line.startswith(";"))
    sections = parse(job)
    effective = iter(jobs(sections))
    filled = [s if s.is_global else _filled(s, next(effective), rates, step) for s in sections]
    return comments + write(tuple(filled))


def requested_iops(job: str) -> float | None:
    """Operations per second that a step's job file asks for; None where no rate is set."""
    rates = [
        float(rate) * count(job_read, "numjobs")
        for job_read in jobs(parse(job))
        for rate in (job_read.get("rate_iops") or "").split(",")
        if rate.strip().isdecimal()
    ]
    return sum(rates) if rates else None


def saturation_doubts(case: Case) -> Iterator[Warning]:
    """The doubt in a latency that was measured while the disk could not serve the offered load:
    achieved/requested < 0.99 (MR-11).

    None where the step, which is the resolved one, offers no rate. The number of N expected Poisson
    arrivals has a relative standard deviation of 1/sqrt(N). Where two of these are more than 1 %
    (N < 40,000), the limit is 1 - 2/sqrt(N); otherwise every slow disk would count as saturated.
    What was served counts over the time that the step was given: fio's own run time ends when the
    last of its jobs has waited for an arrival that came too late, 1 % of 20 s for 64 slow ones.
    """
    requested = requested_iops(case.step.job) if case.step.role == "offered" else None
    if not requested:
        return
    rows = [row for row in case.rows if row.scope == "step" and row.direction != "sync"]
    ran_s = max((row.runtime_ns or 0 for row in rows), default=0) / NS_PER_S
    given = [seconds_of(job.get("runtime") or "") for job in jobs(parse(case.step.job))]
    given_s = min(ran_s, max((seconds for seconds in given if seconds), default=ran_s))
    arrivals = requested * given_s
    limit = min(REACHED, 1 - 2 / arrivals**0.5) if arrivals > 0 else REACHED
    achieved = sum(row.iops or 0.0 for row in rows) * (ran_s / given_s if given_s else 1.0)
    if achieved / requested < limit:
        yield SATURATED.warning(
            f"{achieved:,.0f} of {requested:,.0f} offered IOPS were served: the latency is "
            "that of a growing queue, not of this load"
        )


def check_references(names: Sequence[str], sections: Sequence[Section]) -> None:
    """Raise ProfileError where a rate depends on a step that does not come before it."""
    for step in references(sections):
        if step not in names:
            raise ProfileError(
                f"rate_iops depends on step {step!r}, which does not run before it",
                advice=f"steps before it: {', '.join(names) or 'none'}",
            )


def _filled(section: Section, job: Section, rates: Mapping[str, float], step: str) -> Section:
    reference = share_of(job.get("rate_iops"))
    if reference is None:
        return section
    share, source = reference
    if rates.get(source, 0) <= 0:
        raise MeasurementFailed(
            f"step {step!r} needs the rate of step {source!r}, which did no I/O",
            advice="look at that step's stderr in the evidence",
        )
    total = rates[source] * share
    clones = max(1, min(count(job, "numjobs"), int(total // CLONE_IOPS)))
    clone_rate = max(1, round(total / clones))
    options = tuple(o for o in section.options if o.name not in {"rate_iops", "numjobs"})
    rate = str(clone_rate)
    if job.pattern in MIXED:  # fio applies one number to each direction, so a mix gets two
        reads = min(max(round(clone_rate * job.read_percent / 100), 1), max(clone_rate - 1, 1))
        rate = f"{reads},{max(clone_rate - reads, 1)}"
    dealt = (JobOption(key="numjobs", value=str(clones)), JobOption(key="rate_iops", value=rate))
    return section.model_copy(update={"options": options + dealt})
