"""A job file that names several devices, on a target of as many disks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import built

from diskbench.errors import ProfileError, TargetRefused
from diskbench.fio.guard import check
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.retarget import change_lines, retarget
from diskbench.fio.steps import largest_bytes, space_bytes
from diskbench.fio.target import FioTarget, device_names
from diskbench.units import GIB, MIB

PAIR = FioTarget(
    kind="device", path="/dev/nvme1n1", others=("/dev/nvme2n1",), capacity_bytes=10 * GIB
)
ONE = FioTarget(kind="device", path="/dev/nvme1n1", capacity_bytes=10 * GIB)
EACH = "[a]\nrw=read\nfilename=/dev/sdc\n[b]\nrw=read\nfilename=/dev/sdb\n"


def placed(text, target=PAIR):
    """The names that each job has then, and the lines that say what changed."""
    file, changes = retarget(parse(text), target)
    check(file, target)
    names = [[o.value for o in job.options if o.name == "filename"] for job in jobs(file)]
    return names, change_lines(changes)


def steps_of(text, target=PAIR):
    return built(text, target).steps


LINES = ("filename=/dev/sdc → /dev/nvme1n1", "filename=/dev/sdb → /dev/nvme2n1")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (EACH, [["/dev/nvme1n1"], ["/dev/nvme2n1"]]),
        ("[a]\nrw=read\nfilename=/dev/sdc:/dev/sdb\n", [["/dev/nvme1n1:/dev/nvme2n1"]]),
        (
            "[global]\nfilename=/dev/sdc\n[a]\nrw=read\nfilename=/dev/sdb\n",
            [["/dev/nvme1n1", "/dev/nvme2n1"]],
        ),
        (
            "[a]\nrw=read\nfilename=/dev/sdc\n[b]\nrw=read\nfilename=/dev/sdb:/dev/sdc\n",
            [["/dev/nvme1n1"], ["/dev/nvme2n1:/dev/nvme1n1"]],
        ),
    ],
    ids=["a job each", "one list", "they add up", "again in a list"],
)
def test_the_first_device_of_the_file_is_the_first_disk(text, names):
    assert placed(text) == (names, LINES)


def test_names_that_are_exchanged_or_below_a_directory_of_devices_are_mapped_once():
    text = "[a]\nrw=read\nfilename=/dev/nvme2n1\n[b]\nrw=read\nfilename=/dev/nvme1n1\n"
    names, lines = placed(text)
    assert names == [["/dev/nvme1n1"], ["/dev/nvme2n1"]]
    exchanged = [line.removeprefix("filename=").split(" → ") for line in lines]
    assert exchanged == [["/dev/nvme2n1", "/dev/nvme1n1"], ["/dev/nvme1n1", "/dev/nvme2n1"]]
    text = "[global]\ndirectory=/dev\n[a]\nrw=read\nfilename=sdc\n[b]\nrw=read\nfilename=sdb\n"
    assert list(device_names(parse(text)).values()) == ["/dev/sdc", "/dev/sdb"]
    assert placed(text)[0] == [["/dev/nvme1n1"], ["/dev/nvme2n1"]]
    with pytest.raises(ProfileError, match="2 devices"):
        placed(text, ONE)


@pytest.mark.parametrize("target", [ONE, PAIR])
def test_a_name_that_two_directories_make_two_devices_is_refused(target):
    jobs_in = ("[a]\nrw=read\ndirectory=/dev\n", "[b]\nrw=read\ndirectory=/dev/mapper\n")
    text = "".join(f"{job}filename=x\n" for job in jobs_in)
    with pytest.raises(ProfileError, match="/dev/x and /dev/mapper/x"):
        placed(text, target)


@pytest.mark.parametrize(
    ("text", "target", "told"),
    [
        (EACH, ONE, "2 devices, /dev/sdc, /dev/sdb; the target is one"),
        (EACH, PAIR.model_copy(update={"others": ("/dev/x", "/dev/y")}), "2 devices"),
        ("[a]\nrw=read\nfilename=/dev/sda\n", PAIR, "one device, /dev/sda; the target has 2"),
        ("[a]\nrw=read\n", PAIR, "no device; the target has 2 disks"),
        ("[a]\nrw=read\nfilename=data\n", PAIR, "no device; the target has 2 disks"),
        (f"{EACH}[c]\nrw=read\nfilename=/dev/sdd\n", PAIR, "3 devices"),
    ],
)
def test_another_number_of_devices_is_refused(text, target, told):
    with pytest.raises(ProfileError, match=told) as refused:
        retarget(parse(text), target)
    assert refused.value.advice


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[c]\nrw=read\n", r"\[c\] has no device"),
        ("[c]\nrw=read\nfilename=data\n", "may be written to"),
        ("[c]\nrw=read\nfilename=/dev/sdb:data\n", "may be written to"),
        ("[c]\nrw=read\nfilename=\n", "may be written to"),
        ("[c]\nrw=read\nfilename=/etc/passwd\n", "may be written to"),
        ("[c]\nrw=read\nfilename=/dev/sdb\nnrfiles=2\n", "a device is one file"),
        ("[c]\nrw=write\nfilename=/dev/sdb\nioengine=filecreate\n", "needs a directory"),
    ],
)
def test_a_job_on_anything_but_the_disks_is_refused(more, told):
    file, _ = retarget(parse(EACH + more), PAIR)
    with pytest.raises(ProfileError, match=told):
        check(file, PAIR)


def test_a_disk_whose_name_holds_a_colon_cannot_stand_in_a_list():
    target = PAIR.model_copy(update={"others": ("/dev/disk/by-path/pci-0000:00:1f.2",)})
    with pytest.raises(TargetRefused, match="cannot hold"):
        placed(EACH, target)


NAMES = st.sampled_from(
    ["/dev/sdb", "/dev/sdc", "/dev/nvme1n1", "/dev/nvme2n1", "/dev/../etc/x", "data", "../x",
     "/dev/sdb/../../etc/passwd", "/dev/shm/x", "", "a:b", "/etc/passwd", "\\\\.\\X"]
)  # fmt: skip


@given(st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=4))
def test_whatever_is_named_only_the_disks_are_left(named):
    text = "".join(f"[j{i}]\nrw=write\nfilename={':'.join(n)}\n" for i, n in enumerate(named))
    try:
        names, _ = placed(text)
    except ProfileError:
        return
    for value in (value for of_job in names for value in of_job):
        assert set(value.split(":")) <= set(PAIR.paths)


def test_size_is_what_may_be_used_of_each_disk():
    limited = PAIR.model_copy(update={"size_bytes": GIB})
    (step,) = steps_of(f"{EACH}[both]\nrw=read\nfilename=/dev/sdb:/dev/sdc\n", limited)
    sizes = [job.get("size") for job in jobs(parse(step.job))]
    assert sizes == [str(GIB), str(GIB), str(2 * GIB)]
    assert largest_bytes([step], PAIR.capacity_bytes) == dict.fromkeys(PAIR.paths, GIB)
    with pytest.raises(ProfileError, match="of a disk"):
        steps_of("[a]\nrw=read\nsize=3g\nfilename=/dev/sdb:/dev/sdc\n", limited)


@pytest.mark.parametrize(
    ("size", "of_each"), [("size=64m", 32 * MIB), ("size=50%", 5 * GIB), ("", 10 * GIB)]
)
def test_bytes_are_divided_between_disks_and_a_share_is_one_of_each(size, of_each):
    """As fio 3.33 did on two loop devices."""
    steps = steps_of(f"[a]\nrw=write\n{size}\nfilename=/dev/sdb:/dev/sdc\n")
    assert largest_bytes(steps, PAIR.capacity_bytes) == dict.fromkeys(PAIR.paths, of_each)
    assert space_bytes(steps, PAIR.capacity_bytes) == 2 * of_each


def test_the_job_file_of_a_step_names_the_disks_and_no_other_file_nor_behind_a_stonewall():
    (step,) = steps_of(EACH.replace("rw=read", "rw=read\nsize=1g"))
    sections = parse(step.job)
    assert [job.get("filename") for job in jobs(sections)] == list(PAIR.paths)
    assert [job.get("allow_file_create") for job in jobs(sections)] == ["0", "0"]
    steps = steps_of(EACH.replace("[b]\n", "[b]\nstonewall\n").replace("rw", "size=1m\nrw"))
    assert [jobs(parse(step.job))[0].get("filename") for step in steps] == list(PAIR.paths)
