"""`results list` on a terminal: a line for each trial, in 80 columns."""

from collections import Counter
from dataclasses import replace

import pytest
from tests.rigs.runs import a_run

from diskbench.model.run import Headline, ListedTrial
from diskbench.report.terminal.lists import legend, run_lines, target, trial_lines, where


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
    return ListedTrial(a_run(**({"state": "done"} | changes)), counts, headline)


def test_a_line_has_when_disk_profile_figure_trust_and_short_id():
    one = trial(**RENTED)
    header, line = trial_lines([one], width=100)
    assert header.split() == ["when", "disk", "profile", "figure", "trust", "id"]
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
    _, line = trial_lines([ListedTrial(one.newest, one.states, one.headline, suspended)], width=80)
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
