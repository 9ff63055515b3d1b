"""Several disks of one step: each is checked, held open, locked and sampled as a single one is."""

import subprocess
from pathlib import Path

import pytest
from tests.unit.hosts.conftest import grow, refused, watch

from diskbench.errors import MeasurementFailed, TargetRefused
from diskbench.fio.samples import parse_samples
from diskbench.hosts.agent import disks_under
from diskbench.hosts.device import check_devices
from diskbench.hosts.local import LocalHost
from diskbench.units import MIB

pytestmark = pytest.mark.slow

HERE = LocalHost()
JOB = (
    "[global]\nrw=write\nbs=1m\nsize=4m\nioengine=psync\ndirect=1\n"
    "[one]\nfilename={0}\n[two]\nfilename={1}\n"
)
BOTH = "[both]\nrw=write\nbs=1m\nsize=8m\nioengine=psync\ndirect=1\nfilename={0}:{1}\n"


@pytest.fixture
def pair(make_loop):
    """Two disks: their paths and images."""
    return make_loop("one.img"), make_loop("two.img")


def guards(*disks):
    return check_devices(HERE, [(device, str(image)) for device, image in disks])


@pytest.fixture
def raw_unit(make_unit):
    """A unit that writes to raw devices."""

    def make(allowed, job=JOB):
        text = job.format(*(one.path for one in allowed))
        return make_unit(work_dir=None, guards=allowed, job=text)

    return make


@pytest.mark.parametrize("job", [JOB, BOTH], ids=["a job each", "one job on both"])
def test_both_disks_are_written_to_through_what_holds_them(pair, raw_unit, job):
    unit = raw_unit(guards(*pair), job)
    assert watch(unit).fio_exit == 0
    for _, image in pair:
        assert image.read_bytes()[: 4 * MIB].count(0) < MIB
    kept = Path(unit.directory)
    held = (kept / "device.txt").read_text()
    assert "(O_EXCL)" in held.splitlines()[0]
    assert [f"device {device}" in held for device, _ in pair] == [True, True]
    assert '"filename" : "/proc/' in (kept / "fio.json").read_text()
    summary = parse_samples((kept / "samples.txt").read_bytes())
    assert summary.device_write_bytes >= 8 * MIB  # of both disks together


class TestTheSecond:
    """A second disk that changed since it passed is refused as a single one is, for whatever
    reason: tests/unit/hosts/test_guarded_unit.py and tests/drills/test_guard.py."""

    def test_another_disk_under_its_name(self, pair, raw_unit, exchange):
        unit = raw_unit(guards(*pair))
        refused(unit, "no longer answers to", exchange(pair[1][0]), pair[0][1], pair[1][1])

    def test_data_on_it(self, pair, raw_unit):
        unit = raw_unit(guards(*pair))
        subprocess.run(["mkfs.ext4", "-q", pair[1][0]], check=True)
        refused(unit, "holds ext4", pair[0][1], pair[1][1])

    def test_changed_while_fio_ran(self, pair, raw_unit):
        """What holds the disk forbids most changes; its size may still change."""
        allowed = guards(*pair)
        device, image = pair[1]
        job = JOB.replace("bs=1m", "bs=4k\ntime_based\nruntime=60s\nrate_iops=100")
        unit, seen = raw_unit(allowed, job.replace("direct=1\n", "")), []

        def tick(_):
            if not seen:
                grow(device, image)
            seen.append(True)

        with pytest.raises(MeasurementFailed, match=f"the size of {device} is now"):
            watch(unit, lambda: bool(seen), tick)  # then fio is stopped


def test_swapped_names_and_one_disk_given_twice_are_refused_at_the_step_too(pair, raw_unit):
    """Each identity belongs to its own name: two disks that changed places are both others."""
    one, two = guards(*pair)
    swapped = (
        one.model_copy(update={"path": two.path, "number": two.number}),
        two.model_copy(update={"path": one.path, "number": one.number}),
    )
    refused(raw_unit(swapped), "no longer answers to", pair[0][1], pair[1][1])
    twice = raw_unit((one, one)).model_copy(update={"name": "001-twice"})
    refused(twice, "is in exclusive use", pair[0][1], pair[1][1])


def test_another_trial_waits_for_each_of_them(pair, raw_unit):
    """The claim of a trial names all of its disks."""
    unit = raw_unit(guards(*pair))
    watch(unit)
    lock = Path(unit.directory, "lock.txt").read_text()
    (disks,) = [line.split()[1:] for line in lock.splitlines() if line.startswith("disks ")]
    expected = set().union(*(disks_under(device) for device, _ in pair))
    assert set(disks) == expected
    assert expected


def test_the_second_disk_is_looked_at_as_closely_as_the_first(pair, make_loop, tmp_path):
    (one, image), (two, other) = pair
    link = tmp_path / "by-id"
    link.symlink_to(one)
    for again in (one, str(link)):
        with pytest.raises(TargetRefused, match="same disk"):
            check_devices(HERE, [(one, str(image)), (again, str(image))])
    with pytest.raises(TargetRefused, match="its identity is"):
        check_devices(HERE, [(one, str(other)), (two, str(image))])
    subprocess.run(["mkfs.ext4", "-q", two], check=True)
    with pytest.raises(TargetRefused, match="ext4"):
        check_devices(HERE, [(one, str(image)), (two, str(other))])
    with pytest.raises(TargetRefused, match="shares"):  # two loops on one file
        check_devices(HERE, [(one, str(image)), (make_loop("one.img")[0], str(image))])
