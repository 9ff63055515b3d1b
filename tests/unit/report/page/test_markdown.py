from dataclasses import replace

from markdown_it import MarkdownIt
from tests.unit.report.made import plan
from tests.unit.report.reported import fallen, judged, report, trial, verdict

from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.page.markdown import escaped, markdown, table

EVIL = "<script>alert(1)</script> **bold** [a](javascript:x) | `b` &lt; # h\n\n- x"


def shown(text):
    """The text that a reader of the Markdown sees."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [one for token in tokens for one in token.children or ()]
    kinds = {one.type for one in (*tokens, *inline)}
    return "".join(one.content for one in inline if one.type == "text"), kinds


def test_a_result_is_a_heading_two_sentences_and_tables():
    text = markdown(report(trial(verdicts=(fallen(),))))
    assert text.startswith("# A quick look at a disk\n")
    assert "**It delivered 2,995 IOPS for 31 s, then 99.6 IOPS" in text
    assert "| rand-read-4k-qd32 | baseline 0:31–2:30 | 99.6 |" in text
    _, kinds = shown(text)
    assert "table_open" in kinds


def test_what_others_typed_shows_as_typed_does_nothing_and_ends_no_row():
    subject = replace(subject_of_plan(plan()), title=EVIL, machine=EVIL)
    told = trial(subject=subject, labels=((EVIL, EVIL),), place=EVIL)
    text, kinds = shown(markdown(report(told)))
    assert not kinds & {"html_inline", "html_block", "link_open", "code_inline", "image"}
    assert "<script>alert(1)</script> **bold** [a](javascript:x) | `b` &lt; # h - x" in text
    assert table(("a", "b"), [("x | y", "1")]).splitlines()[-1] == r"| x \| y | 1 |"
    assert escaped("# x") == r"\# x"


def test_several_trials_have_a_table_a_subject_and_are_listed():
    found = {name: verdict(judged(iops, 3000.0)) for name, iops in (("a", 3000.0), ("b", 1500.0))}
    trials = [trial(trial_id=name, verdicts=(one,)) for name, one in found.items()]
    text = markdown(report(*trials))
    assert text.startswith("# 2 trials: last")
    assert "| rand-read-4k-qd32 | 2,250 (1,500–3,000)" in text
    assert text.count("- 2026-11-21") == 2
