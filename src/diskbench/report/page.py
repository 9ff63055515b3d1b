"""A report as one HTML file that needs nothing but a browser: no network, and no script to be read.

Charts stand in it as SVG whose colours are CSS variables, so that they follow the reader's light or
dark mode. Its one script shows what a mark says (assets/page.js); the page's policy allows that
script by its hash and nothing else. What came from a user, a machine or a cloud is escaped.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from diskbench.report.lines import trial_lines
from diskbench.report.next_step import NextStep, next_step
from diskbench.report.page_charts import drawn
from diskbench.report.page_trial import trial_view
from diskbench.report.plain_many import counted, many_sentences
from diskbench.report.plain_words import believe_sentence, fall_of
from diskbench.report.result_rows import result_rows, shown_columns
from diskbench.report.row_ids import row_id
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2

    from diskbench.report.page_trial import TrialView
    from diskbench.report.trial_report import Group, Report

_LIGHT = {"--page": "#f7f6f3", "--card": "#ffffff", "--link": "#1d5fb0", "--good": "#2c6e34",
          "--doubt": "#8a5a00", "--doubt-page": "#fff6e0"}  # fmt: skip
_DARK = {"--page": "#161614", "--card": "#201f1d", "--link": "#8ab8f2", "--good": "#7cc486",
         "--doubt": "#f0c465", "--doubt-page": "#2c2516"}  # fmt: skip
MOST_TABLES = 6
"""Subjects that have a table each; more stand in one, a row a step."""
_DIRECTIONS = ("read", "write", "trim", "mixed", "sync")


def page(report: Report, *, paper: bool = False) -> str:
    """The report as HTML; for `paper` with fixed colours, and no script."""
    return _template().render(**_words(report, paper=paper))


@cache
def _template() -> jinja2.Template:
    """Compiling it takes longer than a page: a site has thousands."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_asset("page.html.j2"))


def _words(report: Report, *, paper: bool) -> dict[str, Any]:
    from markupsafe import Markup

    alone = len(report.trials) == 1
    told = report.trials if alone or report.folded else ()
    views = [trial_view(trial, alone=alone) for trial in told]
    single = views[0] if alone else None
    groups = [_group(group, number) for number, group in enumerate(report.groups, 1)]
    rows = [group["rows"] for group in groups]
    fell = fall_of(report.trials[0].verdicts) if alone else None
    subject = report.trials[0].subject
    marks = dict.fromkeys(mark for trial in report.trials for mark in trial.subject.marks)
    script = "" if paper else _asset("assets/page.js")
    return {
        # Both are files of ours, and hold nothing of anybody's data.
        "style": Markup(f"{colours()}\n{_asset('assets/page.css')}"),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "script_hash": source_hash(script),
        "title": subject.title if alone else _title(report),
        "question": subject.question if alone else "",
        "marks": tuple(marks),
        "made": report.made,
        "sentences": single.sentences if single else many_sentences(report, rows),
        "believe": believe_sentence(single.trial.verdicts) if single else "",
        "single": single,
        "trials": views,
        "groups": groups,
        "compact": len(groups) > MOST_TABLES,
        "common": report.common,
        "shown": shown_columns([row for of_group in rows for row in of_group]),
        "over": drawn(report.over, first=len(report.inside) + 1, paper=paper),
        "inside": drawn(report.inside, paper=paper),
        "inside_of": report.inside_of if report.runs > 1 else "",
        "inside_first": fell is not None and bool(fell.run_id),
        "directions": _directions(report) if alone else (),
        "left_out": report.left_out,
        "next": None if report.published else _next(single),
    }


def finalized(value: object) -> object:
    """What a template writes: text with its control characters visible. Markup is of our making."""
    from markupsafe import Markup

    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def colours() -> str:
    """The page's variables: light, or dark where the system says so and the switch does not."""
    from diskbench.report.charts.palette import DARK, PICTURE, variables

    light, dark = (
        "; ".join(f"{name}: {value}" for name, value in {**own, **variables(palette)}.items())
        for own, palette in ((_LIGHT, PICTURE), (_DARK, DARK))
    )
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root:not(:has(#colours-light:checked)) {{ color-scheme: dark; {dark} }}\n"
        "}\n"
        f"@media screen {{ :root:has(#colours-dark:checked) {{ color-scheme: dark; {dark} }} }}"
    )


def source_hash(script: str) -> str:
    """What a content security policy names an inline script by (W3C CSP 3, section 2.3.1)."""
    return "sha256-" + b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files("diskbench.report").joinpath(name).read_text(encoding="utf-8")


def _title(report: Report) -> str:
    """`7 trials with 12 runs: disk=gp2`."""
    runs = f" with {counted(report.runs, 'run')}" if report.runs != len(report.trials) else ""
    asked = f": {report.asked}" if report.asked else ""
    return f"{counted(len(report.trials), 'trial')}{runs}{asked}"


def _group(group: Group, number: int) -> dict[str, Any]:
    machines = len({trial.machine or trial.trial_id for trial in group.trials})
    runs = sum(len(trial.runs) for trial in group.trials)
    rows = result_rows(group.trials, of=f"group-{number}")
    told = [counted(len(group.trials), "trial"), counted(runs, "run"), counted(machines, "machine")]
    told_of = row_id(group.trials[0].trial_id) if len(group.trials) == 1 else ""
    return {
        "words": group.words,
        "name": group.name,
        "href": f"#{told_of}" if told_of else "",
        "counted": ", ".join(told),
        "rows": rows,
        "shown": shown_columns(rows),
    }


def _directions(report: Report) -> Sequence[str]:
    """The directions that the charts of one trial tell by colour; none where there is no choice."""
    seen = {line.direction for line in trial_lines(report.trials[0])}
    return [name for name in _DIRECTIONS if name in seen] if len(seen) > 1 else []


def _next(single: TrialView | None) -> NextStep | None:
    if single is None:
        return None
    found = trial_lines(single.trial)
    return next_step(single.subject, found, single.warnings, on_page=True)
