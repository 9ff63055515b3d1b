"""The plan of a run as plain text, which needs no further import to print."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from diskbench.report.assemble.subject import disks_words, machine, target
from diskbench.report.terminal.cost_text import price_lines
from diskbench.report.terminal.expectation_text import expected_lines, expected_pairs
from diskbench.units import format_bytes, format_duration_s

if TYPE_CHECKING:
    from diskbench.model.spec import Loop, Plan, Step

_MOST_STEPS = 16
_NAMES = frozenset(
    {
        *("", "machine", "target", "rent", "promised", "price", "credit", "disk", "unknown"),
        *("space", "time", "runs", "note", "job file"),
    }
)
_MUCH_LONGER = 1.1
"""From this estimate on, the text says that size-bound steps may take longer."""
_TEXT_AT = 11
"""Column at which the text of a labelled line begins."""


def print_plan(plans: Sequence[Plan], *, stream: TextIO, brief: bool = False) -> None:
    """Write `render_plan`, or `brief_plan`, and an empty line to `stream`."""
    print(brief_plan(plans) if brief else render_plan(plans), end="\n\n", file=stream)


def brief_plan(plans: Sequence[Plan], *, width: int | None = None) -> str:
    """What each plan measures, how long that takes and what it costs, without the single steps:
    a line, and one for whatever the user has to know before it begins."""
    alike = Counter(_brief_lines(plan) for plan in plans)
    out: list[str] = []
    before = ""
    for (title, *lines), count in alike.items():
        out += [title] if title != before else []
        before = title
        out += [f"  {count} machines, each:"] if count > 1 else []
        out += lines
    return "\n".join(_wrapped(out, width or shutil.get_terminal_size().columns))


def _brief_lines(plan: Plan) -> tuple[str, ...]:
    """How long it takes, then what it is measured on and what has to be known before."""
    steps = f"{len(plan.steps)} step{'s' if len(plan.steps) > 1 else ''}"
    brief = {"machine", "rent", "promised", "price", "target", "", "note"}
    if "." in plan.cell.profile or "/" in plan.cell.profile:  # a file, not a name
        brief.add("job file")
    lines, name = [], ""
    for label, text in _pairs(plan):
        name = label or name
        if name in brief and text != _files_words(plan):
            lines.append(f"  {label:<{_TEXT_AT - 3}} {text}")
    return (f"{plan.profile.name}: {steps}, {_time(plan)}", *lines)


def render_plan(plans: Sequence[Plan], *, width: int | None = None) -> str:
    """The plans of one command: each host's target, then the steps, shown once if they agree.

    Lines longer than `width` (None: the terminal's) are wrapped and indented; words stay whole.
    """
    out: list[str] = []
    for _, group in groupby(plans, key=_shape):
        alike = list(group)
        first = alike[0]
        out.append(f"{first.profile.name}: {first.profile.title}")
        if first.profile.question:
            out.append(f"  {first.profile.question}")
        for plan in alike:
            out += ["", *_target_lines(plan)]
        out += ["", *_step_lines(first)]
        if table := list(expected_lines(first.expectation)):
            out += ["", *table]
    return "\n".join(_wrapped(out, width or shutil.get_terminal_size().columns))


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    out: list[str] = []
    for line in lines:
        if len(line) <= width:
            out.append(line)
            continue
        out += textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * _hanging(line),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return out


def _hanging(line: str) -> int:
    """Column at which the text of a line begins: after a pair's label, else after the indent."""
    name = line[2:_TEXT_AT]
    if line.startswith("  ") and name.strip() in _NAMES and name.endswith(" "):
        return _TEXT_AT
    return max(2, len(line) - len(line.lstrip()))


def _shape(plan: Plan) -> object:
    """The fields that must agree for two plans to share one list of steps (job texts contain host
    paths, so they are not compared)."""
    steps = tuple((step.name, step.role, step.expected_s) for step in plan.steps)
    return plan.profile.digest, steps, plan.loop


def _target_lines(plan: Plan) -> list[str]:
    return [f"  {name:<{_TEXT_AT - 3}} {text}" for name, text in _pairs(plan)]


def _pairs(plan: Plan) -> list[tuple[str, str]]:
    facts, spec = plan.facts, plan.target
    if plan.rental is not None and plan.is_draft:
        return _rental_pairs(plan)
    disk = disks_words(facts, spec.path)
    pairs = [("machine", machine(facts, plan.address))]
    if spec.kind == "device":
        identities = [disk.identity for disk in spec.disks if disk.identity]
        identity = f", identity {', '.join(identities)}" if identities else ""
        pairs.append(("target", f"{target(plan)}, {disk}{identity}" if disk else target(plan)))
        which = f"THESE {len(spec.disks)} DISKS" if spec.others else "IT"
        pairs.append(("", f"ALL DATA ON {which} WILL BE DESTROYED"))
    else:
        pairs.append(("target", target(plan) + (f" on {disk}" if disk else "")))
        pairs.append(("", _files_words(plan)))
    pairs.append(("space", _space(plan)))
    pairs.append(("time", _time(plan)))
    pairs += _runs(plan)
    pairs += _changed(plan)
    pairs += [("note", note) for note in plan.notes]
    return pairs


def _runs(plan: Plan) -> list[tuple[str, str]]:
    """How often fio is run; nothing for once. Ids are not shown: a plan stores nothing."""
    count = len(plan.run_ids)
    return [("runs", f"{count}, consecutive, on the same machine and disk")] if count > 1 else []


def _files_words(plan: Plan) -> str:
    return f"files go to {plan.target.work_dir} and are removed at the end"


def _rental_pairs(plan: Plan) -> list[tuple[str, str]]:
    """For a machine to be rented: the offer, its cost and what it promises."""
    rental, spec = plan.rental, plan.target
    assert rental is not None
    pairs = [("rent", rental.offer)]
    if rental.promise:
        pairs.append(("promised", rental.promise_words))
    pairs += zip(("price", ""), price_lines(plan), strict=False)
    how = "a file on it" if spec.kind == "directory" else "the whole new disk"
    if spec.others:
        how = f"{len(spec.disks)} whole new disks, each a device of the job file"
    made = f", new {spec.filesystem}" if spec.filesystem != "none" else ""
    pairs.append(("target", f"{how}{made}; all of it is given back at the end"))
    pairs += [("space", _space(plan)), ("time", _time(plan))]
    pairs += expected_pairs(plan.expectation)
    pairs += _runs(plan)
    pairs += _changed(plan)
    pairs += [("note", note) for note in plan.notes]
    return pairs


def _changed(plan: Plan) -> list[tuple[str, str]]:
    """The changes to the user's job file, one a line."""
    labels = ("job file", *("" for _ in plan.changes[1:]))
    return list(zip(labels, plan.changes, strict=False))


def _space(plan: Plan) -> str:
    needed = format_bytes(plan.space_bytes)
    mount = plan.facts.mount
    if plan.target.kind == "device":
        sizes = [disk.size_bytes or 0 for disk in plan.target.disks]
        size = sum(sizes) if all(sizes) else None
        return f"{needed} of {format_bytes(size)}" if size else needed
    if mount and mount.available_bytes is not None:
        return f"{needed} of {format_bytes(mount.available_bytes)} free"
    return needed


def _time(plan: Plan) -> str:
    runs = len(plan.run_ids)
    shape = f" in {runs} runs of about {format_duration_s(plan.expected_s / runs)}"
    more = "or more, " if plan.loop and plan.loop.max_rounds > plan.loop.min_rounds else ""
    about = f"about {format_duration_s(plan.expected_s)}{shape if runs > 1 else ''}"
    foreseen = plan.expectation.seconds if plan.expectation else 0.0
    if foreseen > plan.expected_s * _MUCH_LONGER:
        about += f" ({format_duration_s(foreseen)} at the rates expected)"
    return f"{about}, {more}plus start and checks"


def _step_lines(plan: Plan) -> list[str]:
    steps = plan.steps
    width = max(len("step"), *(len(step.name) for step in steps)) if steps else len("step")
    out = [f"  {'#':>3} {'step':<{width}}  {'expected':>12}  role"]
    shown = steps if len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 2]
    out += [_step_line(step, width) for step in shown]
    if len(shown) < len(steps):
        hidden = steps[len(shown) :]
        seconds = format_duration_s(sum(step.expected_s for step in hidden))
        out.append(f"      … and {len(hidden)} more, {seconds} together")
    if plan.loop:
        out.append(f"  {_loop_words(plan.loop, len(steps))}")
    return out


def _step_line(step: Step, width: int) -> str:
    expected = format_duration_s(step.expected_s)
    return f"  {step.index + 1:>3} {step.name:<{width}}  {expected:>12}  {step.role}"


def _loop_words(loop: Loop, count: int) -> str:
    first = loop.first + 1
    which = f"step {first}" if first == count else f"steps {first}–{count}"
    return (
        f"{which} repeat until {loop.tracked} ({loop.direction}) is steady, "
        f"{loop.min_rounds} to {loop.max_rounds} times"
    )
