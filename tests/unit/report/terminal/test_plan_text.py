import io

from tests.unit.report.made import plan, step

from diskbench.model.spec import Loop
from diskbench.report.terminal.plan_text import print_plan, render_plan


def test_it_says_what_is_written_where_and_how_long_it_takes():
    found = render_plan([plan(notes=("the database lies on the measured device",))])
    for part in (
        "quick: A short look at a disk",
        "db1: 2 × AMD EPYC 7R13, 4 GiB memory",
        "/data (ext4) on /dev/vdb, 20 GiB, virtio",
        "/data/diskbench-01trial",
        "1 GiB of 18 GiB free",
        "about 28 s",
        "the database lies on the measured device",
    ):
        assert part in found
    assert "  1 fill" in found
    assert "4 s  fill" in found
    assert "  2 seq-read-1m" in found
    assert "8 s  measure" in found


def test_a_device_is_named_with_its_identity_and_the_loss_of_its_data():
    found = render_plan([plan(device=True)])
    assert "/dev/vdb (raw), 20 GiB, virtio, identity vol0abc" in found
    assert "ALL DATA ON IT WILL BE DESTROYED" in found
    assert "removed at the end" not in found


def test_hosts_that_do_the_same_share_one_list_of_steps():
    found = render_plan(
        [plan(address="web1", trial_id="a"), plan(address="web2", trial_id="b", runs=2)]
    )
    assert found.count("seq-read-1m") == 1
    assert "web1: " in found
    assert "web2: " in found
    assert "in 2 runs of about 28 s" in found


def test_hosts_that_differ_have_lists_of_their_own():
    other = (step(0, "seq-read-1m", expected_s=60),)
    found = render_plan([plan(address="web1"), plan(address="web2", trial_id="b", steps=other)])
    assert found.count("seq-read-1m") == 2


def test_a_loop_says_what_it_waits_for_and_how_often():
    loop = Loop(first=1, tracked="rand-read-4k-qd32", direction="read")
    found = render_plan([plan(loop=loop)])
    assert "steps 2–4 repeat until rand-read-4k-qd32 (read) is steady, 5 to 25 times" in found
    assert "or more" in found


def test_a_long_list_of_steps_is_cut_and_the_rest_summed():
    steps = tuple(step(n, f"step-{n}", expected_s=60) for n in range(56))
    found = render_plan([plan(steps=steps)])
    assert "step-13" in found
    assert "step-14" not in found
    assert "… and 42 more, 42 min together" in found


def test_it_is_printed_without_rich(capsys):
    stream = io.StringIO()
    print_plan([plan()], stream=stream)
    assert stream.getvalue().endswith("measure\n\n")
    assert capsys.readouterr().out == ""


def test_long_lines_go_on_below_their_text_and_no_path_is_broken():
    path = "/var/lib/" + "some-long-name/" * 4 + "data"
    note = f"the database lies on the measured device, in {path}, and is written to as well"
    found = render_plan([plan(notes=(note,))], width=60).splitlines()
    assert any(path in line for line in found), "a path stays whole, even where it is too long"
    assert all(len(line) <= 60 for line in found if path not in line)
    at = next(n for n, line in enumerate(found) if line.startswith("  note "))
    assert found[at + 1].startswith(" " * 11)
    assert found[at + 1][11] != " "


def test_a_long_loop_line_keeps_its_indent():
    loop = Loop(first=1, tracked="rand-read-4k-qd32", direction="read")
    found = render_plan([plan(loop=loop)], width=50).splitlines()
    at = next(n for n, line in enumerate(found) if line.startswith("  steps 2–4"))
    assert found[at + 1].startswith("  ")
    assert max(map(len, found)) <= 50
