import io
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.rigs.plans import make_plan
from tests.unit.report.made import STEPS, plan, result, row

from diskbench.model import campaign
from diskbench.model.finding import Finding
from diskbench.model.result import Tick
from diskbench.model.spec import Loop
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.progress import Track, live_figures, open_progress
from diskbench.report.terminal.status_text import ORDER, cell_table, finding_lines, fleet_table

HOSTS = [plan(address="web1", trial_id="a"), plan(address="web2", trial_id="b")]
TICK = Tick(elapsed_s=3.0, read_iops=12_000.0, read_bytes_per_s=49.2e6, latency_ns=2_660_000.0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def opened(plans, stream, clock):
    return open_progress(plans, stream=stream, clock=clock)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 80 columns."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


def seen(stream):
    """What stands on a terminal, without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def after(seconds):
    """The tick at that second of a step."""
    return TICK.model_copy(update={"elapsed_s": seconds})


def test_without_a_terminal_a_step_gives_a_line_and_every_five_seconds_another():
    stream, clock = io.StringIO(), Clock()
    shown = opened([plan()], stream, clock)
    shown.step_started("01trial", 0, STEPS[2])
    for second in range(1, 13):
        clock.now = 100.0 + second
        shown.tick("01trial", after(float(second)))
    shown.step_finished("01trial", result(STEPS[2], row()))
    shown.close()
    assert stream.getvalue().splitlines() == [
        "step 3 of 4: rand-read-4k-qd32, about 8 s",
        "rand-read-4k-qd32 at 5 s: read 12,000 IOPS, 2.66 ms; 23 s left in all",
        "rand-read-4k-qd32 at 10 s: read 12,000 IOPS, 2.66 ms; 20 s left in all",
        "rand-read-4k-qd32 done: read 12,000 IOPS 49.2 MB/s, mean 2.66 ms",
    ]
    assert "\x1b" not in stream.getvalue()
    assert live_figures(Tick(elapsed_s=1.0)) == "no I/O in this second"


def test_a_day_long_step_does_not_fill_the_log():
    stream, clock = io.StringIO(), Clock()
    soak = STEPS[1].model_copy(update={"expected_s": 86_400.0})
    shown = opened([plan(steps=(soak,))], stream, clock)
    shown.step_started("01trial", 0, soak)
    for second in range(0, 86_400, 20):
        clock.now = 100.0 + second
        shown.tick("01trial", TICK)
    assert len(stream.getvalue().splitlines()) < 70


def test_several_hosts_name_themselves_on_each_line_and_a_stream_that_is_gone_ends_nothing():
    shown = opened(HOSTS, stream := io.StringIO(), Clock())
    shown.step_started("b", 0, STEPS[0])
    shown.note("a", "the connection broke; fio goes on")
    assert stream.getvalue().splitlines() == [
        "web2: step 1 of 4: fill, about 4 s",
        "web1: the connection broke; fio goes on",
    ]
    stream.close()
    shown.note("a", "a stream that is gone does not end the measurement")


def test_quiet_says_nothing(capsys):
    shown = opened([plan()], None, Clock())
    shown.measuring(plan())
    shown.step_started("01trial", 0, STEPS[0])
    shown.tick("01trial", TICK)
    shown.note("01trial", "x")
    shown.step_finished("01trial", result(STEPS[0]))
    shown.close()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_bar_place_and_live_figures_and_is_given_back(terminal):
    shown = opened([plan(runs=2)], terminal, clock := Clock())
    shown.step_started("01trial", 1, STEPS[2])
    clock.now += 4
    shown.tick("01trial", TICK)
    shown.step_finished("01trial", result(STEPS[2], row()))
    shown.close()
    shown.close()
    *_, drawn = terminal.getvalue().split("mean 2.66 ms")
    assert "\x1b[2K" in drawn, "its lines are erased: the result has them again"
    text = seen(terminal)
    assert "run 2 of 2, step 3 of 4: rand-read-4k-qd32, 5 s left" in text
    assert "read 12,000 IOPS 49.2 MB/s · 2.66 ms" in text
    assert "rand-read-4k-qd32  read 12,000 IOPS 49.2 MB/s, mean 2.66 ms" in text
    assert terminal.getvalue().count("\x1b[?25h") == 1, "the cursor is shown again"


def test_the_display_bears_many_threads_at_once(terminal):
    plans = [plan(address=f"web{n}", trial_id=f"t{n}") for n in range(8)]
    shown = opened(plans, terminal, Clock())

    def work(trial_id: str) -> None:
        for one in STEPS:
            shown.step_started(trial_id, 0, one)
            for _ in range(10):
                shown.tick(trial_id, TICK)
            shown.step_finished(trial_id, result(one, row()))

    with ThreadPoolExecutor(len(plans)) as threads:
        list(threads.map(work, [one.trial_id for one in plans]))
    shown.close()
    assert all(track.finished == len(STEPS) for track in shown._tracks.values())


def test_the_bar_moves_with_the_steps_and_waits_for_a_late_one():
    track = Track(plan(), "")
    track.start(0, STEPS[0], 0.0)
    assert track.fraction(2.0) == 0, "nothing runs before fio does"
    track.ticked(after(1.0), 3.0)
    assert track.fraction(4.0) == 2 / 28
    assert track.fraction(60.0) == 4 / 28, "a late step does not run into the next one's share"
    track.finish(result(STEPS[0]), 60.0)
    assert track.fraction(60.0) == 4 / 28


def test_a_loop_that_needs_more_rounds_than_planned_stays_below_the_end():
    loop = Loop(first=1, tracked="seq-read-1m", direction="read")
    track = Track(plan(loop=loop), "")
    for index in range(9):
        round_ = max(0, index - 1) // 3 + 1 if index else None
        one = STEPS[0 if not index else 1 + (index - 1) % 3]
        one = one.model_copy(update={"index": index, "round": round_})
        track.start(0, one, 0.0)
        assert track.fraction(0.0) < 1
        last = track.place()
        track.finish(result(one), 0.0)
    assert last == "round 3, step 3 of 4"


def test_the_rest_of_a_step_counts_from_when_fio_began_and_seconds_read_again_set_nothing_back():
    track, taken_over = Track(plan(), ""), Track(plan(), "")
    track.start(0, STEPS[2], 100.0)  # 8 s
    assert track.step_left(104.0) == "starting"
    track.ticked(after(1.0), 105.0)
    assert track.step_left(107.0) == "5 s left"
    assert track.step_left(112.0) == "ending"
    assert track.step_left(116.0).startswith("4 s longer")
    taken_over.start(0, STEPS[2], 100.0)
    for elapsed in (1.0, 2.0, 3.0, 1.0):  # read at once by the process, or anew after a ramp
        taken_over.ticked(after(elapsed), 103.0)
    assert taken_over.step_left(103.0) == "5 s left"


def test_what_each_step_takes_beyond_its_plan_is_in_the_rest_of_the_whole():
    track = Track(plan(), "")
    planned = track.expected_s()
    track.start(0, STEPS[0], 0.0)
    assert track.left_s(0.0) == planned
    track.finish(result(STEPS[0]), 90.0)  # a fill takes as long as its disk is slow
    assert track.left_s(90.0) == planned - STEPS[0].expected_s
    track.start(0, STEPS[1], 90.0)
    track.finish(result(STEPS[1]), 90.0 + STEPS[1].expected_s + 2.0)
    rest = sum(step.expected_s for step in STEPS[2:])
    assert track.left_s(120.0) == rest + 2.0 * len(STEPS[2:])


def test_several_hosts_stand_in_one_table_with_what_is_left_of_each(terminal):
    shown = opened(HOSTS, terminal, Clock())
    for trial_id in ("a", "b"):
        shown.step_started(trial_id, 0, STEPS[2])
        shown.tick(trial_id, after(1.0))
    shown.close()
    lines = seen(terminal).splitlines()
    hosts = [line for line in lines if line.startswith(("web1", "web2"))][-2:]
    assert [line.split()[0] for line in hosts] == ["web1", "web2"]
    assert all("7 s left" in line and "12,000 IOPS" in line for line in hosts)


# Tables of cells, workers and leases at every width, and that of the doctor.


LONG = "sqlite:////a/very/long/path/that/nobody/wants/to/read/but/copy/rows.db:"


def finding(told: str, advice: str = "", state: str = "ok") -> Finding:
    return Finding(check="clock", where="this machine", state=state, told=told, advice=advice)


def test_columns_are_as_wide_as_their_widest_cell_and_words_are_wrapped():
    why = "not synchronised by anybody, and nobody knows since when that has been so"
    found = [finding("agrees"), finding(why, "start timesyncd", "warning")]
    assert list(finding_lines(found)) == [
        "ok       clock  this machine  agrees",
        "warning  clock  this machine  not synchronised by anybody, and nobody knows",
        "                              since when that has been so",
        "                              → start timesyncd",
    ]


def test_no_line_is_longer_than_the_terminal_and_a_path_is_never_broken():
    words = "word " * 100
    for width in (80, 100, 200):
        lines = list(finding_lines([finding(words, words)], width=width))
        assert max(len(line) for line in lines) <= width
    lines = list(finding_lines([finding(f"{LONG} there is none")]))
    assert lines[1] == f"    {LONG}"
    assert max(len(line) for line in lines) <= 80
    assert list(finding_lines([])) == []


STEP = "rand-read-4k-qd1-of-a-vendor-with-a-long-name: 1,234 IOPS, run 2 of 3, 12 min 30 s left"
NAMES = ["lab/quick", "aws/eu-central-1/m5.large/gp3-100GiB-iops3000-tp125/quick,runtime=30"]
WIDTHS = [60, 80, 100, 120]


def cells(name, doing):
    for position, state in enumerate(ORDER):
        row = campaign.CellRow(
            campaign_id="c", position=position + 120, key=f"{name}#{position + 10}", block="b",
            route="lab", partition="lab", cell=make_plan().cell, state=state,
        )  # fmt: skip
        yield campaign.CellStatus(row=row, doing=doing)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("doing", ["", STEP, STEP * 9])
def test_a_long_step_text_cuts_no_number_state_or_replicate(name, doing, width):
    out, of = io.StringIO(), list(cells(name, doing))
    longest = max(len(cell.row.key) for cell in of)
    Console(file=out, width=width).print(cell_table(of, longest))
    _, *lines = out.getvalue().splitlines()
    assert len(lines) == len(of)
    for cell, line in zip(of, lines, strict=True):
        assert len(line) <= width
        number, key, state, *_ = line.split()
        assert (number, state) == (str(cell.row.position + 1), cell.row.state)
        assert key.endswith(cell.row.key.rpartition("#")[2])
        assert not doing or line.rstrip()[-1] in f"…{doing[-1]}"


@pytest.mark.parametrize("width", WIDTHS)
def test_status_shows_every_column_of_every_row(width):
    document = campaign.FleetDocument.model_construct(
        workers=(campaign.WorkerSeen.model_construct(
            name="worker-" + "x" * 40, hostname="h" * 60, pid=12345, queues=("q" * 90,), running=1,
            concurrency=2, beat_age_s=4.0, alive=False, draining=False),),
        queues=(),
        cells=(campaign.CellSeen.model_construct(
            name=f"{NAMES[1]}#12", state="measuring", doing=STEP, age_s=4000.0, worker="w" * 50),),
        leases=(campaign.LeaseSeen.model_construct(
            lease_id="01m84gwkh7y6j9xb6q4ky01vd4", provider="aws", region="r" * 60, age_s=4000.0,
            usd=1.25, in_use=False, error="e" * 300),),
        usd=1.25, unpriced=0,
    )  # fmt: skip
    out = io.StringIO()
    Console(file=out, width=width).print(fleet_table(document))
    lines = out.getvalue().splitlines()
    for whole in ("1 of 2", "dead", "#12", "measuring", "1 h 07 min", "$1.25"):
        assert sum(whole in line for line in lines), whole
    assert max(map(len, lines)) <= width


@given(st.text(), st.integers(1, 40), st.booleans())
def test_a_cut_text_is_never_wider_than_its_column(text, width, middle):
    shown = cut(text, width, middle=middle)
    assert cell_len(shown) <= width
    assert shown == text or "…" in shown
