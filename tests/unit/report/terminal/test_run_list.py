import pytest
from tests.rigs.runs import a_run

from diskbench.model.run import Headline
from diskbench.report.terminal.run_list import run_lines, where


def test_columns_line_up_under_their_header():
    runs = [a_run(), a_run(profile="offered-load", labels={})]
    header, first, second = run_lines(runs, {})
    at = header.index("where")
    assert first[at:].startswith("root@db1")
    assert second[at:].startswith("root@db1")
    assert first[header.index("instance") :].startswith("m7i.large")
    assert first.endswith("team=storage")


def test_a_column_that_no_run_fills_is_left_out():
    header, _ = run_lines([a_run(labels={}, disk_model=None)], {})
    assert header.split() == ["run", "when", "state", "profile", "instance", "where", "target"]


def test_a_run_that_was_judged_has_its_figure_and_trust():
    judged, bare = a_run(), a_run(run_id="01ks8z6rj0aaaaaaaaaaaaaaa9")
    figure = Headline("read", 3000.0, 12_288_000.0, kind="burst", trust="yes")
    header, first, second = run_lines([judged, bare], {judged.run_id: figure})
    at, end = header.index("figure"), header.index("profile")
    assert first[at:end].split() == ["3,000", "IOPS", "burst", "yes"]
    assert not second[at:end].strip()


def test_no_column_and_no_row_is_cut():
    path = "/srv/" + "long/" * 20 + "end"
    (header, line) = run_lines([a_run(target_path=path, labels={"note": "x" * 90})], {})
    assert path in line
    assert line.endswith(f"note={'x' * 90}")
    assert "labels" in header


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"target_device": "/dev/vdb"}, "/mnt/data"),
        (
            {"target_kind": "device", "target_device": "/dev/loop2", "filesystem": None},
            "/dev/loop2",
        ),
        (
            {"target_kind": "device", "target_device": "/dev/loop2", "filesystem": "ext4"},
            "/dev/loop2 ext4",
        ),
        ({"target_kind": None, "target_path": None, "target_device": None}, ""),
    ],
)
def test_a_directory_is_told_by_its_path_and_a_device_with_what_was_made_on_it(changes, told):
    header, line = run_lines([a_run(disk_model="Disk", labels={}, **changes)], {})
    if told:
        assert line[header.index("target") :].strip() == told
    else:
        assert "target" not in header


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "root@db1"),
        ({"address": None}, "db1"),
        ({"address": None, "hostname": None}, "ssh"),
    ],
)
def test_where_names_the_machine(changes, told):
    assert where(a_run(**changes)) == told


BOUGHT = {
    "disk_type": "gp3",
    "disk_gib": 1000,
    "disk_count": 2,
    "provisioned_iops": 4000,
    "provisioned_bytes_per_s": 250 * 2**20,
    "host_cache": "readonly",
    "region": "eu-central-1",
    "zone": "eu-central-1a",
}


def test_what_was_rented_has_columns():
    header, line = run_lines([a_run(**BOUGHT)], {})
    for words in ("2 × gp3 1,000 GiB", "4,000 IOPS, 262 MB/s", "readonly", "eu-central-1a"):
        assert words in line
    assert header.split()[3:8] == ["profile", "disk", "provisioned", "cache", "region"]


def test_a_run_without_a_date_says_so():
    _, line = run_lines([a_run(measured_at=None, started_at=None)], {})
    assert "  no date  " in line


def test_marks_have_a_column():
    header, line = run_lines([a_run(emulated=True)], {})
    assert "mark" in header
    assert " emulated " in line


@pytest.mark.parametrize("label", ["x" * 100_000, "x y " * 25_000])
def test_a_label_of_any_length_is_one_that_can_be_read(label):
    _, line = run_lines([a_run(labels={"note": label})], {})
    assert len(line) < 2000
    assert "characters more)" in line
