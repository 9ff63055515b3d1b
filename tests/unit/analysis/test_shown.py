"""What is said about a step is said of one of its runs, the same one everywhere."""

from tests.unit.report.reported import judged, trial, verdict

from diskbench.analysis.shown import reasons_over, shown
from diskbench.model.doubts import Reason
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.terminal.verdict_text import verdict_lines

STEP = "rand-read-4k-qd32"


def note(how):
    return Reason(code=f"requests-{how}", weight="note", message=f"blocks were {how}")


def runs():
    """Three runs, each with another busiest core and another word for its requests."""
    told = ((3100.0, "27 %", "split"), (2900.0, "35 %", "merged"), (3000.0, "31 %", "merged"))
    return [
        verdict(
            judged(iops, limiter="unknown", evidence=(f"the busiest core was {busy} busy",)),
            run_id=f"01trial-run{number}",
            reasons=(note(how),),
        )
        for number, (iops, busy, how) in enumerate(told)
    ]


def test_page_and_terminal_name_the_core_of_the_run_whose_figure_they_show():
    found = runs()
    (row,) = result_rows([trial(count=3, verdicts=tuple(found))])
    text = "\n".join(line.text for line in verdict_lines(found))
    assert shown(found).run_id == "01trial-run2"
    assert (row.iops.text, row.evidence) == ("3,000", ("the busiest core was 31 % busy",))
    assert "31 %" in text
    assert "27 %" not in text
    assert "35 %" not in text


def test_the_headline_has_the_figure_of_the_table():
    found = runs()[:2]
    one = trial(count=2, verdicts=tuple(found))
    (row,) = result_rows([one])
    assert row.iops.text == "2,900"
    assert "2,900 IOPS" in one.sentences[1]


def test_blocks_are_merged_or_split_and_never_both():
    found = runs()
    codes = [reason.code for reason in reasons_over(found)]
    assert codes == ["requests-merged"]
    text = "\n".join(line.text for line in verdict_lines(found))
    assert "Blocks were merged" in text
    assert "split" not in text


def test_doubts_are_of_all_runs():
    doubt = Reason(code="stalled", weight="with care", message="it stalled in 30 of 60 s")
    first, *others = runs()
    first = first.model_copy(update={"trust": "with care", "reasons": (doubt, note("split"))})
    found = [first, *others]
    # One of three does not decide: it is a note, with its run.
    assert {(one.code, one.weight) for one in reasons_over(found)} == {
        ("stalled", "note"),
        ("requests-merged", "note"),
    }
    assert "run 1: It stalled" in "\n".join(line.text for line in verdict_lines(found))
    assert reasons_over([first, first, *others])[0].weight == "with care"
