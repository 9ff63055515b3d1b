"""The plan of a run as plain text: what will run, what it costs and what is expected of the disk, a
line per step, its credit and the price per promised unit."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TextIO

from diskbench.model.expectation import (
    LIMIT_WORDS,
    BeyondCredit,
    CreditRange,
    ExpectedLevel,
    PlanExpectation,
)
from diskbench.model.spec import Plan
from diskbench.plan.cost import cost_of_plan
from diskbench.report.assemble.subject import disks_words, machine, price_lines, target
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.layout import wrapped
from diskbench.units import (
    SHOWN_AS_BYTES,
    counted,
    format_bytes,
    format_duration_s,
    format_iops,
    format_mb_per_s,
    format_usd,
)

_MOST_STEPS = 16
_MUCH_LONGER = 1.1
"""From this estimate on, the text says that size-bound steps may take longer."""


def print_plan(plans: Sequence[Plan], *, stream: TextIO, brief: bool = False) -> None:
    """Write `render_plan`, or `brief_plan`, and an empty line to `stream`."""
    print(brief_plan(plans) if brief else render_plan(plans), end="\n\n", file=stream)


def brief_plan(plans: Sequence[Plan]) -> str:
    """What each plan measures, how long that takes and what it costs, without the single steps:
    a line, and one for whatever the user has to know before it begins."""
    width = shutil.get_terminal_size().columns
    alike = Counter(
        (f"{plan.profile.name}: {counted(len(plan.steps), 'step')}, {_time(plan)}",
         _brief_pairs(plan)) for plan in plans
    )  # fmt: skip
    out: list[str] = []
    before = ""
    for (title, pairs), count in alike.items():
        out += _folded([title] if title != before else [], width)
        before = title
        out += [f"  {count} machines, each:"] if count > 1 else []
        out += labelled(pairs, width)
    return "\n".join(out)


def _brief_pairs(plan: Plan) -> tuple[tuple[str, str], ...]:
    brief = {"machine", "rent", "promised", "price", "target", "", "note"}
    if "." in plan.cell.profile or "/" in plan.cell.profile:  # a file, not a name
        brief.add("job file")
    pairs, name = [], ""
    for label, text in _pairs(plan):
        name = label or name
        if name in brief and text != _files_words(plan):
            pairs.append((label, text))
    return tuple(pairs)


def render_plan(plans: Sequence[Plan], *, width: int | None = None) -> str:
    """The plans of one command: each host's target, then the steps, shown once if they agree.

    Lines longer than `width` (None: the terminal's) are wrapped and indented; words stay whole.
    """
    width = width or shutil.get_terminal_size().columns
    out: list[str] = []

    def shape(plan: Plan) -> object:
        # Job texts contain host paths: plans that differ only in these share one list of steps.
        steps = tuple((step.name, step.role, step.expected_s) for step in plan.steps)
        return plan.profile.digest, steps, plan.loop

    for _, group in groupby(plans, key=shape):
        first, *others = group
        profile = first.profile
        question = [f"  {profile.question}"] if profile.question else []
        out += _folded([f"{profile.name}: {profile.title}", *question], width)
        for plan in (first, *others):
            out += ["", *labelled(_pairs(plan), width)]
        out += ["", *_folded(_step_lines(first), width)]
        if table := list(expected_lines(first.expectation)):
            out += ["", *_folded(table, width)]
    return "\n".join(out)


def labelled(pairs: Iterable[tuple[str, str]], width: int, *, at: int = 11) -> Iterator[str]:
    """Each text after its label, in column `at`; further lines go on below the text."""
    for name, text in pairs:
        yield from wrapped(f"  {name:<{at - 2}}", text, width)


def _folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines without a label; further lines have the indent of the first."""
    for line in lines:
        yield from wrapped("", line, width, indent=max(2, len(line) - len(line.lstrip())))


def _pairs(plan: Plan) -> list[tuple[str, str]]:
    is_offer = plan.rental is not None and plan.is_draft
    first = _rental_pairs(plan) if is_offer else _target_pairs(plan)
    last = [("time", _time(plan)), *(expected_pairs(plan.expectation) if is_offer else ())]
    # Ids are not shown: a plan stores nothing.
    if (count := len(plan.run_ids)) > 1:
        last.append(("runs", f"{count}, consecutive, on the same machine and disk"))
    last += [*named("job file", plan.changes), *(("note", note) for note in plan.notes)]
    return [*first, ("space", _space(plan)), *last]


def _target_pairs(plan: Plan) -> Iterator[tuple[str, str]]:
    """For a machine that is there: it, and what is written to."""
    facts, spec, where = plan.facts, plan.target, target(plan)
    yield "machine", machine(facts, plan.address)
    disk = disks_words(facts, spec.path)
    if spec.kind == "device":
        identities = [disk.identity for disk in spec.disks if disk.identity]
        identity = f", identity {', '.join(identities)}" if identities else ""
        yield "target", f"{where}, {disk}{identity}" if disk else where
        which = f"THESE {len(spec.disks)} DISKS" if spec.others else "IT"
        yield "", f"ALL DATA ON {which} WILL BE DESTROYED"
    else:
        yield "target", where + (f" on {disk}" if disk else "")
        yield "", _files_words(plan)


def _files_words(plan: Plan) -> str:
    return f"files go to {plan.target.work_dir} and are removed at the end"


def _rental_pairs(plan: Plan) -> Iterator[tuple[str, str]]:
    """For a machine to be rented: the offer, its cost and what it promises."""
    rental, spec = plan.rental, plan.target
    assert rental is not None
    yield "rent", rental.offer
    if rental.promise:
        yield "promised", rental.promise_words
    yield "price", rental_price(plan)
    how = "a file on it" if spec.kind == "directory" else "the whole new disk"
    if spec.others:
        how = f"{len(spec.disks)} whole new disks, each a device of the job file"
    made = f", new {spec.filesystem}" if spec.filesystem != "none" else ""
    yield "target", f"{how}{made}; all of it is given back at the end"


def _space(plan: Plan) -> str:
    needed, mount = format_bytes(plan.space_bytes), plan.facts.mount
    if plan.target.kind == "device":
        sizes = [disk.size_bytes or 0 for disk in plan.target.disks]
        return f"{needed} of {format_bytes(sum(sizes))}" if sizes and all(sizes) else needed
    free = mount.available_bytes if mount else None
    return needed if free is None else f"{needed} of {format_bytes(free)} free"


def _time(plan: Plan) -> str:
    runs = len(plan.run_ids)
    shape = f" in {runs} runs of about {format_duration_s(plan.expected_s / runs)}"
    more = "or more, " if plan.loop and plan.loop.max_rounds > plan.loop.min_rounds else ""
    about = f"about {format_duration_s(plan.expected_s)}{shape if runs > 1 else ''}"
    foreseen = plan.expectation.seconds if plan.expectation else 0.0
    if foreseen > plan.expected_s * _MUCH_LONGER:
        about += f", or {format_duration_s(foreseen)} at the disk's documented speed"
    return f"{about}, {more}plus start and checks"


def _step_lines(plan: Plan) -> list[str]:
    steps = plan.steps
    width = max(len("step"), *(len(step.name) for step in steps)) if steps else len("step")
    shown = steps if len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 2]
    out = [f"  {'#':>3} {'step':<{width}}  {'expected':>12}  role"]
    for step in shown:
        seconds = format_duration_s(step.expected_s)
        out.append(f"  {step.index + 1:>3} {step.name:<{width}}  {seconds:>12}  {step.role}")
    if hidden := steps[len(shown) :]:
        seconds = format_duration_s(sum(step.expected_s for step in hidden))
        out.append(f"      … and {len(hidden)} more, {seconds} together")
    if loop := plan.loop:
        first = loop.first + 1
        which = f"step {first}" if first == len(steps) else f"steps {first}–{len(steps)}"
        out.append(
            f"  {which} repeat until {loop.tracked} ({loop.direction}) is steady, "
            f"{loop.min_rounds} to {loop.max_rounds} times"
        )
    return out


_LEAST_USD = 0.01
"""A smaller estimate is shown as one cent: it is not precise enough for less."""


def rental_price(plan: Plan) -> str:
    """The price of a plan's rental per hour, and the estimate for this trial."""
    cost, longest = (cost_of_plan(plan, longest=longest) for longest in (False, True))
    if cost.unknown:
        known = f" (the rest is about {_about(cost.known_usd)})" if cost.known_usd else ""
        return f"cost unknown{known}: {cost.unknown_words()}"
    if not longest.total_usd:
        return "nothing"
    assert cost.total_usd is not None
    about = f"${cost.hourly_usd:.4f} an hour, about {_about(cost.total_usd)} for this"
    if longest.total_usd > cost.total_usd:
        about += f" and at most {_about(longest.total_usd)}"
    if cost.transactions_usd:
        about += f", {format_usd(cost.transactions_usd)} of it for transactions"
    return about


def _about(usd: float) -> str:
    return f"${max(usd, _LEAST_USD):,.2f}"


_LEAST_NAME = 19
"""Columns that `  after 12 h 05 min` needs."""
_WIDEST_NAME = 24


def expected_pairs(expected: PlanExpectation | None) -> Iterator[tuple[str, str]]:
    """Labelled lines of the plan: the credit, the price, and what is not known."""
    if expected is None:
        return
    yield from named("credit", map(credit_words, expected.credits))
    if expected.beyond is not None and expected.beyond.ends != "after":
        yield "", beyond_words(expected.beyond)
    if expected.price is not None:
        yield from named("disk", price_lines(expected.price))
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
    yield f"  {'expected':<{width}} {'IOPS':>8} {'MB/s':>7}  limited by"
    for step in shown:
        name, found = f"  {cut(step.name, width):<{width}}", expected.of(step)
        yield f"{name} {_figures(found.begin)}" if found else f"{name} {'–':>8} {'–':>7}"
        if found and found.bursts:
            lasts = found.lasts_s
            when = "  then" if lasts is None else f"  after {_about_s(lasts)}"
            yield f"  {when:<{width}} {_figures(found.lasting)}"
    if len(shown) < len(steps):
        yield f"  … and {len(steps) - len(shown)} more (--output json has all)"


def credit_words(credit: CreditRange) -> str:
    """When a bucket runs empty, with the plausible range; how long it lasts under full load."""
    name = LIMIT_WORDS[credit.bucket]
    if credit.gone_s is None:
        soon = f", at the earliest after {_about_s(credit.earliest_s)}" if credit.earliest_s else ""
        return f"{name}: not used up{soon} (full load uses it up in {_about_s(credit.full_load_s)})"
    run = f" of run {credit.run}" if credit.run and credit.run > 1 else ""
    early, late = credit.earliest_s, credit.latest_s
    spread = ""
    if early is not None and not early == credit.gone_s == late:
        until = f"to {_about_s(late)}" if late is not None else "or not at all"
        spread = f"; {_about_s(early)} {until}, depending on request size"
    return f"{name}: used up after {_about_s(credit.gone_s)}, in {credit.step}{run}{spread}"


def beyond_words(beyond: BeyondCredit) -> str:
    """Where the load ends before, or at, the end of the credit; and the options that go beyond."""
    rates, block = (beyond.begin_iops, beyond.lasting_iops), beyond.block_bytes
    unit = "MB/s" if block >= SHOWN_AS_BYTES else "IOPS"
    show = format_iops if unit == "IOPS" else lambda rate: format_mb_per_s(rate * block)
    before, after = map(show, rates)
    falls = f"from {before} to {after} {unit}"
    when = "before the credit does" if beyond.ends == "before" else "when the credit does"
    return f"this plan ends {when}, so it does not show the fall {falls}; {beyond.flags} shows it"


def _figures(level: ExpectedLevel) -> str:
    return f"{format_iops(level.iops):>8} {format_mb_per_s(level.bytes_per_s):>7}  {level.words()}"


def _about_s(seconds: float) -> str:
    """A duration rounded to its precision: whole minutes from ten minutes on, hours from a day."""
    if seconds >= 600:
        seconds = round(seconds / 60) * 60
    return format_duration_s(seconds)


def named(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Labelled lines, of which the first has the label."""
    for text in texts:
        yield name, text
        name = ""
