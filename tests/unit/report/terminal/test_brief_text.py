"""The result in short: a screen for six steps, ten lines for one."""

import io

import pytest
from rich.console import Console
from tests.unit.report.made import row
from tests.unit.report.reported import fallen, judged, trial, verdict

from diskbench.model.doubts import DOUBTS
from diskbench.model.ids import short
from diskbench.report.assemble.trial_view import trial_view
from diskbench.report.terminal.brief_text import heaviest, print_brief, print_brief_hosts

STEPS = [
    "seq-read-1m",
    "seq-write-1m",
    "rand-read-4k-qd1",
    "rand-write-4k-qd1",
    "rand-read-4k-qd32",
]


def printed(view):
    out = io.StringIO()
    print_brief(view, console=Console(file=out, width=80))
    return out.getvalue().splitlines()


def warned(*codes, step="rand-read-4k-qd32", message="figure 4711 shows it " * 12):
    return tuple(DOUBTS[code].warning(message, step=step) for code in codes)


def of(names, **more):
    verdicts = tuple(verdict(judged(3000.0, 3000.0), step=name) for name in names)
    return trial_view(trial([row(name) for name in names], verdicts=verdicts, **more))


@pytest.mark.parametrize(("steps", "most"), [(1, 10), (5, 22)])
def test_it_fits_a_screen_whatever_is_doubted(steps, most):
    view = of(STEPS[:steps], warnings=warned("page-cache", "client-bound", "too-short"))
    lines = printed(view)
    assert len(lines) <= most
    assert all(len(line) <= 80 for line in lines if not line.startswith("  diskbench "))


def test_every_step_has_its_figures_and_its_verdict():
    lines = printed(of(STEPS))
    for name in STEPS:
        assert sum(line.startswith(name) for line in lines) == 2


def test_the_heaviest_warning_is_shown_and_the_others_are_counted():
    view = of(STEPS[:1], warnings=warned("too-short", "page-cache"))
    assert heaviest(view.doubts).code == "page-cache"
    lines = printed(view)
    assert sum(line.startswith("! ") for line in lines) == 1
    assert "2 warnings" in lines[-1]


@pytest.mark.parametrize("steps", [1, 5])
def test_an_only_warning_is_whole(steps):
    long = "figure 4711 shows it " * 12
    (group,) = (view := of(STEPS[:steps], warnings=warned("page-cache", message=long))).doubts
    text = " ".join(" ".join(printed(view)).split())
    assert long.strip() in text
    assert group.advice in text


def test_both_levels_of_a_step_that_fell_are_shown():
    text = "\n".join(printed(trial_view(trial(verdicts=(fallen(),)))))
    assert "2,995" in text
    assert "99.6" in text


def test_the_commands_for_the_page_and_for_all_of_it_take_the_short_id():
    view = of(STEPS[:1])
    id_ = short(view.subject.run_ids[-1])
    assert f"diskbench report {id_}" in printed(view)[-1]
    assert f"diskbench results show {id_} -v" in printed(view)[-1]


def test_a_trial_without_a_figure_says_why():
    assert "no " in "\n".join(printed(trial_view(trial([]))))


def of_hosts(*named):
    out = io.StringIO()
    print_brief_hosts(named, "gygz1pzn", console=Console(file=out, width=80))
    return out.getvalue().splitlines()


def test_hosts_stand_side_by_side_step_by_step():
    lines = of_hosts(("web1", of(STEPS)), ("web2", of(STEPS)))
    rows = [line.split() for line in lines if "100%" in line]
    assert [row[0] for row in rows[::2]] == STEPS
    assert all("web1" in row for row in rows[::2])
    assert all("web2" in row for row in rows[1::2])
    assert all(len(line) <= 80 for line in lines if not line.startswith("  diskbench "))


def test_of_several_hosts_each_names_its_warnings_and_one_next_step_follows():
    quiet, doubted = of(STEPS[:1]), of(STEPS[:1], warnings=warned("page-cache", "too-short"))
    lines = of_hosts(("web1", quiet), ("web2", doubted))
    assert sum(line.startswith("! web2") for line in lines) == 1
    assert sum(line.startswith("next: ") for line in lines) == 1
    assert any(line.startswith("web2: 2 warnings") for line in lines)
    assert "gygz1pzn" in lines[-1]


def test_a_host_without_a_figure_says_why_below_the_table():
    lines = of_hosts(("web1", of(STEPS[:1])), ("web2", trial_view(trial([]))))
    assert any(line.startswith("web2: ") and "no " in line for line in lines)
