"""What is shown of a trial is assembled once: every surface sets the words of its View."""

import ast
import html
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.unit.report.made import plan
from tests.unit.report.reported import PRICE, fallen, judged, report, trial, verdict

from diskbench.catalog.lookup import limits
from diskbench.model.result import Warning as Doubt
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.page import markdown as markdown_module
from diskbench.report.page.markdown import escaped, markdown
from diskbench.report.page.page import page
from diskbench.report.terminal.result_text import print_view

ROOM = Path(markdown_module.__file__).parents[1]
SURFACES = (
    "terminal/result_text.py", "page/page.py", "page/markdown.py", "page/write_report.py",
    "site/trial_page.py",
)  # fmt: skip
MAKERS = {
    "shares_of_time", "lines", "result_rows", "grouped_warnings", "threshold_lines", "next_step",
    "phase_lines", "many_sentences", "shown_columns", "price_lines", "footnotes",
}  # fmt: skip
"""What makes words and figures of a trial."""


def full():
    """A trial of which everything is known that a view can tell."""
    promised = {"offer": "m5 with gp2", "promise": "100 IOPS, bursts to 3,000", "shared": True}
    told = {"state": "suspended", "marks": ("emulated",), **promised}
    subject = replace(subject_of_plan(plan(runs=2)), **told)
    doubt = Doubt(code="figures-disagree", message="bytes: 1 of 2", advice="look", step="s1")
    return trial(
        count=2, subject=subject, verdicts=(fallen(trust="with care"),), warnings=(doubt,),
        price=PRICE, cost="$0.0123", place="eu, eu-1", versions=(("fio", "3.33"),),
        labels=(("team", "storage"),),
    )  # fmt: skip


def terminal(view):
    stream = io.StringIO()
    print_view(view, console=Console(file=stream, width=2000))
    return stream.getvalue()


def seen(text):
    """A page as its reader sees it."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", bare)).split())


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_makes_no_words_of_its_own(surface):
    tree = ast.parse((ROOM / surface).read_text())
    taken = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    assert not {one.name for node in taken for one in node.names} & MAKERS


def test_facts_doubts_promise_and_words_are_the_same_on_every_surface():
    view = full()
    on_page, marked_down, printed = seen(page(report(view))), markdown(report(view)), terminal(view)
    facts = (value for _, values in view.facts for value in values)
    told = (*view.sentences, view.trust, view.unfinished, *view.slowed)
    assert all(told), "the trial tells all of them"
    (group,) = view.warned
    everywhere = (group.code, group.cases[0][1], group.advice, view.unfinished, *view.footnotes)
    for words in (*facts, *told, *everywhere):
        assert words in on_page
        assert escaped(words) in marked_down
    assert [words for words in everywhere if words not in printed] == []


def test_what_was_seen_of_burst_and_baseline_stands_on_every_surface():
    promised = {"offer": "m5 with gp2", "promise": "100 IOPS", "limits": limits("aws", "gp2", 20)}
    made = full()
    burst = (verdict(judged(3000.0, 3000.0, kind="burst")),)
    view = replace(made, subject=replace(made.subject, **promised), verdicts=burst)
    assert view.headline == "burst of 3,000 IOPS; baseline not measured (promised: 100 IOPS)"
    for shown in (terminal(view), seen(page(report(view))), markdown(report(view))):
        assert view.headline in shown


def test_a_trial_without_runs_yet_has_a_view():
    view = replace(trial([]), runs=())
    assert view.missing == "no measured step finished"
    assert not view.lines
