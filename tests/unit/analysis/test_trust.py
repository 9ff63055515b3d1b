"""Whether a figure is trusted: the heaviest of its reasons decides. Which figure stands for a run,
and for the runs of a trial, and which of these is shown, the same one everywhere."""

import pytest
from tests.unit.report.reported import judged, trial, verdict

from diskbench.analysis.shown import reasons_over, shown
from diskbench.analysis.trust import headline_step, of_trial, over_runs, reasons_of, trust
from diskbench.model.doubts import Reason
from diskbench.model.processor import MachineUse
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.run import Headline
from diskbench.report.assemble.result_rows import result_rows
from diskbench.report.terminal.verdict_text import verdict_lines

IDLE = MachineUse(busiest_core=0.3, busiest_job=0.1, all_jobs=0.1)


def reasons(code, *, limited_by="unknown", device_share=None, processor=IDLE):
    doubt = Warning(code=code, message="recorded", advice="repeat")
    return reasons_of(
        [doubt], limited_by=limited_by, device_share=device_share, processor=processor
    )


@pytest.mark.parametrize(
    ("code", "share", "expected"),
    [
        ("page-cache", 0.01, "no"), ("page-cache", 0.49, "no"), ("page-cache", 0.9, "with care"),
        ("page-cache", None, "with care"), ("unwritten", 0.0, "no"),
        ("unwritten", 0.94, "with care"), ("not-a-disk", None, "no"),
        ("too-short", None, "with care"), ("fio-error", None, "with care"), ("clock", None, "yes"),
        ("import", None, "yes"), ("of a later diskbench", None, "yes"),
    ],
)  # fmt: skip
def test_a_warning_weighs_what_it_says_of_the_disk(code, share, expected):
    assert trust(reasons(code, device_share=share)) == expected


def test_without_a_reason_a_figure_is_believed():
    found = reasons_of([], limited_by="disk-iops", device_share=None, processor=IDLE)
    assert (found, trust(found)) == ((), "yes")


@pytest.mark.parametrize("limited_by", ["client", "queue-depth", "disk-iops", "credit"])
def test_a_busy_core_takes_nothing_from_a_figure_at_its_cap(limited_by):
    busy = MachineUse(busiest_core=0.95, busiest_job=0.5, all_jobs=0.9)
    found = reasons("client-bound", limited_by=limited_by, processor=busy)
    assert [one.code for one in found] == ["client-bound"]
    assert trust(found) == ("yes" if limited_by in ("disk-iops", "credit") else "with care")


def test_a_core_that_others_fill_is_not_called_the_load_generator_and_one_is_told_anyway():
    others = MachineUse(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02)
    assert [one.code for one in reasons("client-bound", processor=others)] == ["machine-busy"]
    busy = MachineUse(busiest_core=1.0)
    (found,) = reasons_of([], limited_by="client", device_share=None, processor=busy)
    assert (found.code, found.weight) == ("client-bound", "with care")


def test_one_odd_run_of_several_does_not_decide_and_each_of_two_does():
    assert over_runs(["yes"] * 9 + ["no"]) == "yes"
    assert over_runs(["yes"] * 199 + ["with care"]) == "yes"
    assert over_runs(["yes"] * 4 + ["no", "with care"]) == "with care"
    assert over_runs(["yes"] * 2 + ["no"] * 2) == "no"
    assert over_runs(["yes", "no"]) == "no"
    assert over_runs(["with care"]) == "with care"
    assert over_runs([]) == "yes"


def load(
    step: str, *, random: bool = True, block: int | None = 4096, iops: float | None = 1.0
) -> Headline:
    moved = None if iops is None else iops * 4096
    return Headline(step, iops, moved, is_random=random, block_bytes=block)


def chosen(*loads: Headline) -> str | None:
    found = headline_step(loads)
    return found.step if found else None


def test_random_goes_before_sequential_and_small_before_large() -> None:
    steps = [
        load("seq", random=False, iops=9e9), load("large", block=2**20, iops=9e9),
        load("small", iops=10.0), load("deep", iops=3000.0), load("same as deep", iops=3000.0),
    ]  # fmt: skip
    assert chosen(*steps) == "deep"
    assert chosen(*steps[:2]) == "large"
    assert chosen(load("unknown", block=None), load("known", block=2**20)) == "known"
    assert chosen() is None


def one(iops: float, trust: str | None = "yes", kind: str | None = None) -> Headline:
    return Headline("read", iops, None, kind, trust)  # type: ignore[arg-type]


def test_a_trial_has_the_middle_of_its_runs_at_the_baseline_and_the_trust_over_all() -> None:
    runs = [one(100.0, kind="baseline"), one(3000.0, kind="burst"), one(3000.0, kind="burst")]
    found = of_trial(runs)
    assert (found.iops, found.kind) == (100.0, "baseline")
    found = of_trial([one(1.0), one(2.0), one(3.0), one(4.0)])
    assert found.iops == 2.0  # of an even number the lower one
    cases = {"yes": ("yes", "yes"), "with care": ("yes", "with care"), "no": ("no", "with care")}
    for expected, trusts in {**cases, None: ("yes", None)}.items():  # one was not judged
        assert of_trial([one(1.0, trust) for trust in trusts]).trust == expected
    assert of_trial([]) is None


# --- The run that is shown


STEP = "rand-read-4k-qd32"


def note(how):
    return Reason(code=f"requests-{how}", weight="note", message=f"blocks were {how}")


def runs():
    """Three runs, each with another busiest core and another word for its requests."""
    told = ((3100.0, "27 %", "split"), (2900.0, "35 %", "merged"), (3000.0, "31 %", "merged"))

    def one(number, iops, busy, how):
        evidence = (f"the busiest core was {busy} busy",)
        stretch = judged(iops, limiter="unknown", evidence=evidence)
        return verdict(stretch, run_id=f"01trial-run{number}", reasons=(note(how),))

    return [one(number, *of) for number, of in enumerate(told)]


def test_page_terminal_and_headline_tell_of_the_run_whose_figure_they_show():
    found = runs()
    (row,) = result_rows([trial(count=3, verdicts=tuple(found))])
    text = "\n".join(text for _, text in verdict_lines(found))
    assert shown(found).run_id == "01trial-run2"
    assert (row.iops.text, row.evidence) == ("3,000", ("the busiest core was 31 % busy",))
    assert "31 %" in text
    assert "27 %" not in text
    assert "35 %" not in text
    one = trial(count=2, verdicts=tuple(runs()[:2]))
    (row,) = result_rows([one])
    assert row.iops.text == "2,900"
    assert "2,900 IOPS" in one.sentences[1]


def test_blocks_are_merged_or_split_and_never_both():
    found = runs()
    assert [reason.code for reason in reasons_over(found)] == ["requests-merged"]
    text = "\n".join(text for _, text in verdict_lines(found))
    assert "Blocks were merged" in text
    assert "split" not in text


def test_doubts_are_of_all_runs():
    doubt = Reason(code="stalled", weight="with care", message="it stalled in 30 of 60 s")
    first, *others = runs()
    first = first.model_copy(update={"trust": "with care", "reasons": (doubt, note("split"))})
    found = [first, *others]
    # One of three does not decide: it is a note, with its run.
    told = sorted((one.code, one.weight) for one in reasons_over(found))
    assert told == [("requests-merged", "note"), ("stalled", "note")]
    assert "run 1: It stalled" in "\n".join(text for _, text in verdict_lines(found))
    assert reasons_over([first, first, *others])[0].weight == "with care"
