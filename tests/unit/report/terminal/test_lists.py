"""`results list` on a terminal, a line for each trial in 80 columns; what is drawn there."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rigs.runs import a_run

from diskbench.model.phase import Cliff
from diskbench.model.run import Headline, ListedTrial
from diskbench.report.terminal import plots
from diskbench.report.terminal.layout import hanging, sparkline
from diskbench.report.terminal.lists import legend, run_lines, target, trial_lines, where
from diskbench.report.terminal.plots import Screen, plot_percentiles, plot_seconds


def test_columns_line_up_under_their_header_and_those_that_no_run_fills_are_left_out():
    runs = [a_run(), a_run(profile="offered-load", labels={})]
    header, first, second = run_lines(runs, {})
    at = header.index("where")
    assert first[at:].startswith("root@db1")
    assert second[at:].startswith("root@db1")
    assert first[header.index("instance") :].startswith("m7i.large")
    assert first.endswith("team=storage")
    bare, _ = run_lines([a_run(labels={}, disk_model=None)], {})
    assert bare.split() == ["run", "when", "state", "profile", "instance", "where", "target"]


def test_a_run_that_was_judged_has_its_figure_and_trust():
    judged, bare = a_run(), a_run(run_id="01ks8z6rj0aaaaaaaaaaaaaaa9")
    figure = Headline("read", 3000.0, 12_288_000.0, kind="burst", trust="yes")
    header, first, second = run_lines([judged, bare], {judged.run_id: figure})
    at, end = header.index("figure"), header.index("profile")
    assert first[at:end].split() == ["3,000", "IOPS", "burst", "yes"]
    assert not second[at:end].strip()


DISK = {"disk_type": "gp3", "disk_gib": 1000, "disk_count": 2, "region": "eu-central-1"}
RATE = {"provisioned_iops": 4000, "provisioned_bytes_per_s": 250 * 2**20}
PATH = "/srv/" + "long/" * 20 + "end"


@pytest.mark.parametrize(
    ("changes", "told", "columns"),
    [
        ({"target_path": PATH, "labels": {"note": "x" * 90}}, (PATH, f"note={'x' * 90}"), "labels"),
        (DISK | RATE | {"host_cache": "readonly", "zone": "eu-central-1a"},
         ("2 × gp3 1,000 GiB", "4,000 IOPS, 262 MB/s", "readonly", "eu-central-1a"),
         "profile disk provisioned cache region"),
        ({"measured_at": None, "started_at": None, "emulated": True},
         ("  no date  ", " emulated "), "mark"),
    ],
    ids=["nothing is cut", "what was rented", "without a date, emulated"],
)  # fmt: skip
def test_what_is_known_of_a_run_has_a_column(changes, told, columns):
    header, line = run_lines([a_run(**changes)], {})
    assert [words for words in told if words not in line] == []
    assert columns in " ".join(header.split())


DEVICE = {"target_kind": "device", "target_device": "/dev/loop2"}
TARGETS = (
    ({"target_device": "/dev/vdb"}, "/mnt/data"),
    (DEVICE | {"filesystem": None}, "/dev/loop2"),
    (DEVICE | {"filesystem": "ext4"}, "/dev/loop2 ext4"),
    (dict.fromkeys(("target_kind", "target_path", "target_device")), ""),
)


def test_a_machine_is_named_and_a_directory_or_a_device_with_what_was_made_on_it():
    runs = a_run(), a_run(address=None), a_run(address=None, hostname=None)
    assert [where(one) for one in runs] == ["root@db1", "db1", "ssh"]
    assert [target(a_run(**of)) for of, _ in TARGETS] == [told for _, told in TARGETS]


@pytest.mark.parametrize("label", ["x" * 100_000, "x y " * 25_000])
def test_a_label_of_any_length_is_one_that_can_be_read(label):
    _, line = run_lines([a_run(labels={"note": label})], {})
    assert len(line) < 2000
    assert "characters more)" in line


RENTED = DISK | {"provider": "aws", "address": None}


def trial(*, states=None, trust="yes", **changes) -> ListedTrial:
    counts = Counter(states or ["done"])
    headline = Headline("read", 3000.0, 3000.0 * 4096, None, trust)
    return ListedTrial(7, a_run(**({"state": "done"} | changes)), counts, headline)


def test_a_line_has_when_disk_profile_figure_trust_and_short_id():
    one = trial(**RENTED)
    header, line = trial_lines([one], width=100)
    assert header.split() == ["#", "when", "disk", "profile", "figure", "trust", "id"]
    assert line.startswith("7  ")
    assert "2 × gp3 1,000 GiB " in line
    assert "3,000 IOPS  yes" in line
    assert line.endswith(f"  {one.newest.run_id[-8:]}")


IMPORTED = {"provider": "import/fio", "imported": True, "address": None, "hostname": "web1"}
LARGE = Headline("seq", 100.0, 100.0 * 2**20, None, "with care")


@pytest.mark.parametrize(
    ("one", "told", "explained"),
    [
        (trial(**RENTED), "3,000 IOPS  yes", ""),
        (trial(**RENTED, emulated=True), "3,000 IOPS *  yes", "* emulated"),
        (trial(**RENTED | {"provider": "lab"}, emulated=True), "  lab 2 × gp3", "* emulated"),
        (trial(**IMPORTED), "  fio web1  ", "† imported"),
        (trial(**IMPORTED), "†", "† imported"),
        (replace(trial(), headline=LARGE), "105 MB/s  with care", ""),
        (trial(), "  root@db1:/mnt", ""),
    ],
)
def test_a_line_says_whose_figure_it_is_and_the_legend_what_its_mark_means(one, told, explained):
    _, line = trial_lines([one], width=100)
    assert told in line
    said = [words[: len(explained)] for words in legend([one])]
    assert said == ([explained] if explained else [])


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_fit_and_ids_stay_whole(width):
    path = "/srv/" + "long/" * 20 + "end"
    trials = [
        trial(target_path=path, profile="a-profile-with-a-long-name" * 2, trust="with care"),
        trial(**RENTED, emulated=True, states={"done": 100}),
    ]
    for line, one in zip(list(trial_lines(trials, width=width))[1:], trials, strict=True):
        assert len(line) <= width
        name = one.newest.trial_id if one.runs > 1 else one.newest.run_id
        assert line.endswith(name[-8:])
    _, line = trial_lines([trial(target_path=path, profile="x\ny")])
    assert path in line, "without a width nothing is cut, and no name breaks its line"


@pytest.mark.parametrize(
    ("states", "suspended", "shown"),
    [
        ({"done": 3}, False, "quick ×3"),
        ({"done": 1, "failed": 2}, False, "quick 1 of 3"),
        ({"failed": 1}, False, "failed"),
        ({"running": 1}, False, "running"),
        ({"running": 1}, True, "suspended"),
        ({"done": 1, "planned": 1}, False, "running"),
        ({"planned": 1}, False, "planned"),
        ({"cancelled": 1}, False, "cancelled"),
    ],
)
def test_states(states, suspended, shown):
    one = trial(states=states)
    _, line = trial_lines([replace(one, suspended=suspended)], width=80)
    assert f"  {shown}  " in line
    assert ("IOPS" in line) == ("done" in states and not {"running", "planned"} & set(states))


def test_what_nothing_judged_is_marked_and_explained():
    bare = trial(trust=None)
    _, line = trial_lines([bare], width=80)
    assert "  ?  " in line
    (said,) = legend([bare, trial()])
    assert bare.newest.trial_id[-8:] in said


def test_the_number_of_runs_is_not_cut():
    many = trial(profile="a-long-name-of-a-file.json", states={"done": 100})
    _, line = trial_lines([many], width=70)
    assert " ×100  " in line
    assert len(line) <= 70


def second(n, iops, *, step="a", index=0, direction="read"):
    return {"step": step, "step_index": index, "second": n, "direction": direction, "iops": iops}


def test_idle_directions_and_earlier_rounds_of_a_step_are_left_out_and_seconds_without_io_stay():
    rows = [second(1, 0.0), second(0, 5.0), second(0, 0.0, direction="write")]
    assert plots.step_seconds(rows) == {"a": {"read": [(0, 5.0), (1, 0.0)]}}
    rows = [second(0, 1.0, index=1), second(0, 9.0, step="b", index=2), second(0, 2.0, index=3)]
    found = plots.step_seconds(rows)
    assert [(name, of["read"][0][1]) for name, of in found.items()] == [("b", 9.0), ("a", 2.0)]


PLAIN = Screen(width=80)


def step(*iops, **directions):
    series = {"read": iops, **directions} if iops else directions
    return "burst", {d: tuple(enumerate(values)) for d, values in series.items()}


def test_a_cliff_is_marked_where_it_is_and_told_in_words():
    # The vertical line is seen where the curve does not hide it.
    series = step(*[3000.0] * 60, *[100.0] * 60)
    cliff = Cliff(at_s=90, before=3000, after=100, credits=1)
    drawn = plot_seconds(*series, PLAIN, cliffs=[cliff])
    *_, told = drawn.splitlines()
    assert told == "│ cliff at 1:30: 3,000 → 100"
    inside = [line[1 : 1 + PLAIN.plot_width] for line in drawn.splitlines()[2:-3]]
    (place,) = {row.index("│") for row in inside if "│" in row}
    assert place == pytest.approx(90 / 119 * PLAIN.plot_width, abs=1)


def test_when_credit_was_to_run_out_is_told_below_unless_the_step_was_shorter():
    series = step(*[3000.0] * 60, *[100.0] * 60)
    foreseen = plot_seconds(*series, PLAIN, foreseen_s=62.4).splitlines()[-1]
    assert foreseen == "  predicted: credit runs out at 1:02"
    assert "predicted" not in plot_seconds(*series, PLAIN, foreseen_s=1862.0)
    assert "predicted" not in plot_seconds(*series, PLAIN)


def test_what_falls_to_nothing_reaches_the_lowest_row():
    drawn = plot_seconds(*step(*[100.0] * 30, *[0.0] * 30), PLAIN).splitlines()
    second_half = slice(PLAIN.plot_width // 2 + 2, PLAIN.plot_width)
    (frame,) = (i for i, line in enumerate(drawn) if line.startswith("└"))
    assert not drawn[2][second_half].strip()
    assert drawn[frame - 1][second_half].strip()


@example(width=40, values=[0.0, 0.0, 1e-249])
@given(width=st.integers(40, 200), values=st.lists(st.floats(0, 1e7), min_size=3, max_size=90))
def test_no_line_is_wider_than_the_screen(width, values):
    for unicode in (True, False):
        screen = Screen(width=width, unicode=unicode)
        drawn = plot_seconds(*step(*values, write=tuple(values)), screen)
        assert max(map(len, drawn.splitlines())) <= width


def test_letters_beyond_ascii_and_colours_are_only_drawn_where_they_may_be():
    cliff = Cliff(at_s=5, before=300, after=1, credits=1)
    screen = Screen(width=80, unicode=False)
    drawn = plot_seconds(*step(*range(20), write=range(20)), screen, cliffs=[cliff])
    assert drawn.isascii()
    assert "read" in drawn
    assert "write" in drawn
    assert "\x1b" not in plot_seconds(*step(*range(9)), PLAIN)
    assert "\x1b[36m" in plot_seconds(*step(*range(9)), Screen(colour=True))


@pytest.mark.parametrize("values", [(), (5.0,), (5.0, 6.0), (0.0, 0.0, 0.0)])
def test_three_seconds_or_more_are_a_course_even_of_nothing(values):
    assert ("0" in plot_seconds(*step(*values), PLAIN)) == (len(values) == 3)


MS = 1_000_000


def rows(*buckets, direction="read", kind="lat"):
    return [
        {"direction": direction, "kind": kind, "latency_ns": ns, "count": count}
        for ns, count in buckets
    ]


def test_a_tail_begins_at_the_share_of_io_that_is_faster_and_shares_stand_below_their_place():
    # 1 % of 10,000 are slow: they begin at 99 %, which is two of the four nines of the axis.
    drawn = plot_percentiles("step", rows((MS, 9_900), (100 * MS, 100)), PLAIN).splitlines()
    inside, axis = drawn[2][1 : 1 + PLAIN.plot_width].replace("│", " "), drawn[-1]
    begin = (len(inside) - len(inside.lstrip())) / PLAIN.plot_width
    assert begin == pytest.approx(0.5, abs=0.02)
    assert [part.strip() for part in axis.split("%")] == ["0", "90", "99", "99.9", "99.99", ""]
    assert (axis.index("99 %") + 2) / PLAIN.plot_width == pytest.approx(0.5, abs=0.03)


CLAT, SYNC = rows((MS, 50), kind="clat"), rows((MS, 50), direction="sync")


TAILS = {
    "latency ms": rows((MS, 50), (5 * MS, 50)),
    "latency µs": rows((90_000, 50), (99_000, 50)),
    "step: latency": [*rows((MS, 50)), *CLAT],
    "completion": CLAT,
}


@pytest.mark.parametrize("told", TAILS)
def test_a_tail_says_its_unit_and_which_latency_it_is(told):
    assert told in plot_percentiles("step", TAILS[told], PLAIN)


def test_too_few_io_and_calls_of_fsync_have_no_tail():
    assert plot_percentiles("step", rows((MS, 9)), PLAIN) == ""
    assert plot_percentiles("step", [], PLAIN) == ""
    assert "sync" not in plot_percentiles("step", [*rows((MS, 50)), *SYNC], PLAIN)


buckets = st.lists(
    st.tuples(st.integers(100, 10**11), st.integers(0, 10**9)), min_size=1, max_size=40
)


@given(buckets, st.integers(40, 160))
def test_whatever_was_measured_fits_the_screen(found, width):
    for screen in (Screen(width=width), Screen(width=width, unicode=False)):
        drawn = plot_percentiles("step", rows(*found), screen)
        assert max(map(len, drawn.splitlines()), default=0) <= width
        assert screen.unicode or drawn.isascii()


def step_of(name, **directions):
    return {name: {d: tuple(enumerate(values)) for d, values in directions.items()}}


def test_a_direction_of_a_step_is_a_line_of_blocks_with_its_lowest_and_highest_second():
    (line,) = plots.second_lines(step_of("burst", read=[3000.0, 3000.0, 100.0]))
    assert line == f"burst read {'██▁':<40}  100 to 3,000"
    lines = plots.second_lines(step_of("mix", read=[1.0] * 5, write=[2.0] * 5))
    assert [line.split()[1] for line in lines] == ["read", "write"]
    assert plots.second_lines(step_of("fill", write=[5.0, 5.0])) == [], "a short step has none"


names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=60)


@given(names, st.lists(st.floats(0, 1e7), min_size=3, max_size=200), st.integers(70, 200))
def test_no_sparkline_is_wider_than_the_screen(name, values, width):
    assert max(map(len, plots.second_lines(step_of(name, read=values), width=width))) <= width


def test_further_lines_hang_below_the_first_and_no_path_is_broken():
    told = hanging("name  ", "one two three four five six", width=26)
    assert told == "name  one two three four\n      five six"
    path = "/var/" + "long-" * 20
    assert path in hanging("at  ", f"it lies in {path}", width=40).split()
    install = (
        "/venv/bin/python -m ensurepip && /venv/bin/python -m pip install 'polars>=2.1' 'x>=1'"
    )
    for command in (install, "uv pip install --python /venv/bin/python 'polars>=2.1'"):
        assert command in hanging("install it first: ", command, width=40, indent=2)
    assert hanging("notes  ", "") == "notes"


word = st.from_regex("[abc]{1,6}(-[abc]{1,5})?", fullmatch=True)  # "-a" is a command's
words = st.lists(word, min_size=1, max_size=40)


@given(words, st.integers(40, 120))
def test_words_are_kept_in_order_and_lines_fit(found, width):
    folded = hanging("label  ", " ".join(found), width=width)
    assert folded.split() == ["label", *found]
    assert max(map(len, folded.splitlines())) <= width


rates = st.lists(st.floats(0, 1e9), max_size=200)


@given(rates, st.integers(1, 60))
def test_it_is_never_wider_than_asked(values, width):
    assert len(sparkline(values, width=width)) == min(len(values), width)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20))
def test_the_highest_value_is_a_full_block(values):
    assert "█" in sparkline(values)


@pytest.mark.parametrize(
    ("values", "blocks"),
    [([100, 100, 50, 50], "██▅▅"), ([10] * 50 + [0] * 50, "██▁▁"), ([0, 0, 0], "▁▁▁"), ([], "")],
    ids=["half", "many are averaged", "flat", "nothing"],
)
def test_blocks_are_as_high_as_their_values(values, blocks):
    assert sparkline(values, width=4) == blocks
