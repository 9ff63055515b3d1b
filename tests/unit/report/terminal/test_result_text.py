"""The result in short: a screen for six steps, ten lines for one.

Hosts or disks side by side at 80 columns.
"""

import dataclasses
import io
from functools import partial

import pytest
from rich.console import Console
from tests.rigs.printed import print_result
from tests.unit.report.made import plan, row
from tests.unit.report.reported import fallen, judged, trial, verdict

from diskbench.model.doubts import DOUBTS
from diskbench.model.ids import short
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Loop
from diskbench.report.assemble.side_by_side import short_names
from diskbench.report.assemble.subject import subject_of_plan
from diskbench.report.terminal import result_text


def drawn(show, *args, width=80, **more) -> str:
    stream = io.StringIO()
    show(*args, **more, console=Console(file=stream, width=width))
    return stream.getvalue()


text = partial(drawn, print_result)


def test_the_table_fits_80_columns_with_the_widest_figures():
    rates = {"iops": 1_234_567.0, "bytes_per_s": 12_345e6, "cpu_user": 9.1, "cpu_system": 6.2}
    times = {"lat_mean_ns": 88_800.0, "p50_ns": 999_000.0, "lat_max_ns": 12_500_000_000}
    rows = [row(run_id=f"r{n}", **rates, **times) for n in range(3)]
    found = text(subject_of_plan(plan(runs=3)), rows, ())
    table = [line for line in found.splitlines() if "diskbench" not in line]
    assert max(map(len, table)) <= 80
    for figure in ("1,234,567", "12,345", "88.8µs", "999µs", "12.5s", "1530%"):
        assert figure in found, f"{figure} must not be cut"


def test_names_are_text_and_long_ones_fold_but_the_next_command_can_be_copied():
    name = "[bold]x[/bold]-" + "a-very-long-step-name" * 2
    found = text(subject_of_plan(plan()), [row(name)], ())
    assert "[bold]x[/bold]" in found
    assert "12,000" in found
    subject = subject_of_plan(plan(address="user@" + "long-" * 20 + "host"))
    lines = text(subject, [row()], ()).splitlines()
    assert any("--host user@" in line and "--profile default" in line for line in lines)


def ended(state: str, *, runs: int = 1, **more):
    return dataclasses.replace(subject_of_plan(plan(runs=runs, **more)), state=state)


@pytest.mark.parametrize(
    ("state", "word"),
    [("cancelled", "interrupted"), ("interrupted", "interrupted"), ("failed", "failed")],
)
def test_a_run_that_ended_early_says_so_above_its_table_and_is_started_again(state, word):
    fill = row("fill", role="fill", direction="write", step_index=0)
    found = text(ended(state), [fill], ())
    assert found.index(f"{word}: 1 of 4 steps measured") < found.index("IOPS")
    again = "the run ended early; repeat it:\n  diskbench run --path /data --profile quick\n"
    assert again in found


def test_steps_are_counted_over_all_runs_and_those_runs_are_asked_for_again():
    found = text(ended("cancelled", runs=2), [row(), row(run_id="01trial-run1")], ())
    assert "interrupted: 2 of 8 steps measured" in found
    assert "--profile quick --runs 2" in found
    # A loop has no number of steps that were planned.
    loop = Loop(first=1, tracked="rand-read-4k-qd32", direction="read")
    assert "interrupted: 1 step measured" in text(ended("cancelled", loop=loop), [row()], ())
    running = text(ended("running"), [row()], ())
    assert "not finished: 1 of 4 steps measured" in running
    assert "diskbench run" not in running, "it is not started twice"


def test_an_imported_log_without_rows_leads_to_its_series():
    subject = dataclasses.replace(subject_of_plan(plan()), marks=("imported",), state="done")
    found = text(subject, [], ())
    assert f"draw it second by second:\n  diskbench report {short('01trial-run0')}\n" in found
    assert "no measured step finished" not in found


def test_no_printed_line_ends_with_blanks():
    doubt = Warning(code="client-bound", message="97 % busy", advice="use fewer jobs", step="s1")
    found = text(subject_of_plan(plan(runs=2)), [row(), row(run_id="r1")], [doubt])
    assert [line for line in found.splitlines() if line != line.rstrip()] == []


def test_a_terminal_gets_what_rich_draws():
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True)
    print_result(subject_of_plan(plan()), [row()], (), console=console)
    assert "\x1b[1m" in stream.getvalue()


STEPS = ["seq-read-1m", "seq-write-1m", "rand-read-qd1", "rand-write-qd1", "rand-read-4k-qd32"]


def printed(view):
    return drawn(result_text.print_view, view, brief=True).splitlines()


def warned(*codes, step="rand-read-4k-qd32", message="figure 4711 shows it " * 12):
    return tuple(DOUBTS[code].warning(message, step=step) for code in codes)


def of(names, **more):
    verdicts = tuple(verdict(judged(3000.0, 3000.0), step=name) for name in names)
    return trial([row(name) for name in names], verdicts=verdicts, **more)


@pytest.mark.parametrize(("steps", "most"), [(1, 10), (5, 22)])
def test_it_fits_a_screen_whatever_is_doubted(steps, most):
    view = of(STEPS[:steps], warnings=warned("page-cache", "client-bound", "too-short"))
    lines = printed(view)
    assert len(lines) <= most
    assert all(len(line) <= 80 for line in lines if not line.startswith("  diskbench "))
    for name in STEPS[:steps]:  # its figures and its verdict
        assert sum(line.startswith(name) for line in printed(of(STEPS[:steps]))) == 2


def test_the_heaviest_warning_is_shown_the_others_are_counted_and_commands_take_the_short_id():
    view = of(STEPS[:1], warnings=warned("too-short", "page-cache"))
    assert result_text.heaviest(view.doubts).code == "page-cache"
    lines = printed(view)
    assert sum(line.startswith("! ") for line in lines) == 1
    id_ = short(view.subject.run_ids[-1])
    for words in ("2 warnings", f"diskbench report {id_}", f"diskbench results show {id_} -v"):
        assert words in lines[-1]


@pytest.mark.parametrize("steps", [1, 5])
def test_an_only_warning_is_whole(steps):
    view = of(STEPS[:steps], warnings=warned("page-cache"))
    text = " ".join(" ".join(printed(view)).split())
    (group,) = view.doubts
    assert ("figure 4711 shows it " * 12).strip() in text
    assert group.advice in text


def test_both_levels_of_a_step_that_fell_are_shown():
    text = drawn(result_text.print_view, trial(verdicts=(fallen(),)), brief=True)
    assert "2,995" in text
    assert "99.6" in text


def of_hosts(*named):
    return drawn(result_text.print_brief_hosts, named, "gygz1pzn").splitlines()


def test_hosts_stand_side_by_side_step_by_step():
    lines = of_hosts(("web1", of(STEPS)), ("web2", of(STEPS)))
    rows = [line.split() for line in lines if "100%" in line]
    assert [row[0] for row in rows[::2]] == STEPS
    assert all("web1" in row for row in rows[::2])
    assert all("web2" in row for row in rows[1::2])
    assert all(len(line) <= 80 for line in lines if not line.startswith("  diskbench "))


def test_of_several_hosts_each_names_its_warnings_or_why_it_has_no_figure_and_one_step_is_next():
    quiet, doubted = of(STEPS[:1]), of(STEPS[:1], warnings=warned("page-cache", "too-short"))
    lines = of_hosts(("web1", quiet), ("web2", doubted), ("web3", trial([])))
    for begin, times in {"! web2": 1, "next: ": 1, "web2: 2 warnings": 1, "web3: no ": 1}.items():
        assert sum(line.startswith(begin) for line in lines) == times, begin
    assert "gygz1pzn" in lines[-1]


def printed_beside(rows, width=80):
    table = result_text.beside_table(rows, "disk", width=width)
    return drawn(lambda *, console: console.print(table), width=width).splitlines()


def rows_of(names, **more):
    values = {"I/O": "read", "measured": "2,990", **more}
    steps = ("seq-read-1m", "rand-read-4k-qd32")
    return [{"step": step, "name": name, **values} for step in steps for name in names]


def test_a_step_is_named_once_and_a_column_is_shown_where_it_has_a_value():
    lines = printed_beside(rows_of(["lab gp2 20 GiB", "lab pd-ssd 20 GiB"]))
    assert sum("seq-read-1m" in line for line in lines) == 1
    assert lines[0].split() == ["step", "I/O", "disk", "measured"]
    judged = {"of promise": "98%", "trust": "with care", "n": "6", "limited by": "disk IOPS"}
    rows = rows_of(["gp2"], **judged)
    assert printed_beside(rows)[0].split()[3:] == ["measured", "n", "of", "promise", "trust"]
    assert "98%" in printed_beside(rows)[1]
    assert "limited by" in printed_beside(rows, width=120)[0]


def test_long_names_are_folded_and_the_lines_of_a_long_table_are_counted():
    names = ["aws us-east-1 m5.large gp3 100 GiB iops 16000", "b"]
    rows = rows_of(names, **{"of promise": "100%", "trust": "yes"})
    assert all(len(line) <= 80 for line in printed_beside(rows))
    lines = printed_beside(rows_of([f"disk{n}" for n in range(result_text.MOST_ROWS)]))
    assert f"{result_text.MOST_ROWS} more" in lines[-1]


def test_blocks_are_named_by_what_sets_them_apart():
    names = short_names(["lab gp2, quick, a", "lab gp3, quick, b"])
    assert [*names.values()] == ["lab gp2, a", "lab gp3, b"]
    assert short_names(["lab gp2, quick"]) == {"lab gp2, quick": "lab gp2, quick"}
