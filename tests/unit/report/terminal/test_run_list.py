import pytest
from tests.rigs.runs import a_run

from diskbench.report.terminal.run_list import run_lines, where


def test_columns_line_up_under_their_header():
    runs = [a_run(), a_run(profile="offered-load", labels={})]
    header, first, second = run_lines(runs, width=200)
    at = header.index("where")
    assert first[at:].startswith("root@db1")
    assert second[at:].startswith("root@db1")
    assert first[header.index("instance") :].startswith("m7i.large")
    assert first.endswith("team=storage")


def test_a_column_that_no_run_fills_is_left_out():
    header, _ = run_lines([a_run(labels={}, disk_model=None)], width=200)
    assert header.split() == ["run", "when", "state", "profile", "instance", "where", "target"]


def test_a_line_is_cut_to_the_terminal():
    assert {len(line) for line in run_lines([a_run()], width=40)} == {40}
    assert all(line.endswith("…") for line in run_lines([a_run()], width=40))


def test_a_name_cannot_break_its_line():
    lines = list(run_lines([a_run(profile="x\ny" + "z" * 99)], width=200))
    assert len(lines) == 2
    assert "x y" in lines[1]
    assert "z…z" in lines[1]


def test_without_a_terminal_no_column_and_no_row_is_cut():
    path = "/srv/" + "long/" * 20 + "end"
    (header, line) = run_lines([a_run(target_path=path, labels={"note": "x" * 90})])
    assert path in line
    assert line.endswith(f"note={'x' * 90}")
    assert "labels" in header


def test_lines_fit_80_columns_and_ids_stay_whole():
    path = "/srv/" + "long/" * 20 + "end"
    runs = [a_run(target_path=path, profile="offered-load")]
    (header, line) = run_lines(runs, width=80)
    assert len(line) <= 80
    assert line.startswith(runs[0].run_id + "  ")
    assert "root@db1" in line
    assert line.startswith("/srv", line.index("/"))
    assert line.endswith("end"), "the middle of a path is left out, not its end"
    assert "labels" not in header


def test_a_target_of_which_next_to_nothing_would_be_left_makes_room_for_profile_and_machine():
    run = a_run(
        profile="sustained",
        emulated=True,
        hostname=None,
        address="127.53.201.54",
        target_kind="device",
        target_device="/dev/nvme1n1",
    )
    (header, line) = run_lines([run], width=80)
    assert "target" not in header
    assert "sustained" in line
    assert len(line) <= 80


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
    header, line = run_lines([a_run(disk_model="Disk", labels={}, **changes)], width=200)
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


def test_marks_have_a_column_that_is_never_shortened():
    run = a_run(emulated=True, address="a-machine-with-a-very-long-name.example.org" * 2)
    header, line = run_lines([run], width=72)
    assert "mark" in header
    assert " emulated " in line
    assert len(line) <= 72


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
    header, line = run_lines([a_run(**BOUGHT)])
    for words in ("2 × gp3 1,000 GiB", "4,000 IOPS, 262 MB/s", "readonly", "eu-central-1a"):
        assert words in line
    assert header.split()[3:8] == ["profile", "disk", "provisioned", "cache", "region"]


@pytest.mark.parametrize("width", [80, 90, 100, 120, 160])
def test_the_disk_is_told_on_every_terminal(width):
    run = a_run(**BOUGHT, emulated=True, state="interrupted", profile="sustained")
    header, line = run_lines([run], width=width)
    assert len(line) <= width
    assert not line.endswith("…")
    assert "disk" in header
    assert line.startswith(run.run_id)


def test_a_run_without_a_date_says_so():
    _, line = run_lines([a_run(measured_at=None, started_at=None)], width=80)
    assert "  no date  " in line
