"""What the unit looks at just before fio starts: the disk may have changed since it passed."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.rigs import signatures
from tests.rigs.disk_states import (
    backing,
    exclusive,
    holder,
    mounted,
    partition,
    partition_held,
    partition_mounted,
    swap,
    written,
)
from tests.rigs.loops import contents, empty_image
from tests.rigs.windows import first_on_path, program
from tests.unit.hosts.conftest import grow, refused, watch

from diskbench.errors import MeasurementFailed, ReleaseFailed
from diskbench.hosts.device import DeviceProof, check_device
from diskbench.hosts.local import LocalHost
from diskbench.hosts.workspace import cleanup, filesystem_uuid, make_workspace, mount_point
from diskbench.units import MIB

pytestmark = pytest.mark.slow

HERE = LocalHost()


def guard_of(device, image):
    return check_device(HERE, device, str(image))


@pytest.fixture
def raw_unit(make_unit):
    """A unit that writes to a raw device."""

    def make(device, guard):
        job = f"[x]\nfilename={device}\nrw=write\nbs=1m\nsize=4m\nioengine=psync\ndirect=1\n"
        return make_unit(work_dir=None, guards=(guard,), job=job)

    return make


def test_the_disk_that_passed_is_written_to(make_loop, raw_unit):
    device, image = make_loop()
    assert watch(raw_unit(device, guard_of(device, image))).fio_exit == 0
    assert image.read_bytes()[: 4 * MIB].count(0) < MIB


def test_another_disk_under_the_same_name_is_refused(make_loop, raw_unit, exchange):
    device, image = make_loop()
    unit = raw_unit(device, guard_of(device, image))
    refused(unit, "no longer answers to", exchange(device))


def test_a_disk_of_another_number_or_size_or_one_that_is_gone_is_refused(make_loop, raw_unit):
    device, image = make_loop()
    guard = guard_of(device, image)
    unit = raw_unit(device, guard)
    for name, change, words in (
        ("number", {"number": "7:250"}, "not 7:250"),
        ("path", {"path": "/nowhere/gone"}, "is now gone"),
        ("size", {}, "has another size"),
    ):
        if name == "size":
            grow(device, image)
        step = {"name": f"000-{name}", "guards": (guard.model_copy(update=change),)}
        refused(unit.model_copy(update=step), words, image)


@pytest.fixture
def fs_target(make_loop, target):
    """A device target with a filesystem; its trial is cleaned up before the loop is detached."""
    made = []

    def make(kind, mib):
        device, image = make_loop(mib=mib)
        guard = guard_of(device, image)
        on_device = target.model_copy(
            update={
                "kind": "device", "path": device, "device": device, "identity": guard.identity,
                "device_number": guard.number, "device_size_bytes": guard.size_bytes,
                "filesystem": kind,
                "work_dir": f"{target.state_dir}/mnt/{Path(target.state_dir).name}",
            }
        )  # fmt: skip
        made.append(on_device)
        return on_device, image

    yield make
    for one in made:
        cleanup(HERE, one)


def on_disk(device):
    argv = ["blkid", "-p", "-o", "value", "-s", "TYPE", device]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize(("kind", "mib"), [("ext4", 32), ("xfs", 320)])
def test_a_filesystem_is_made_mounted_measured_and_wiped(fs_target, make_unit, kind, mib):
    target, image = fs_target(kind, mib)
    commands = make_workspace(HERE, target)
    assert commands[0].startswith(f"mkfs.{kind} ")
    assert commands[1] == f"mount -t {kind} {target.device} {mount_point(target)}"
    if kind == "ext4":
        assert "lazy_itable_init=0,lazy_journal_init=0" in commands[0]
    assert Path(target.work_dir).is_dir()
    assert make_workspace(HERE, target) == commands  # twice is as once: nothing is made anew
    guard = DeviceProof(
        path=target.device, number=target.device_number, identity=str(image),
        size_bytes=mib * MIB, mount_point=mount_point(target),
    )  # fmt: skip
    job = f"[x]\ndirectory={target.work_dir}\nrw=write\nsize=1m\nioengine=psync\n"
    assert watch(make_unit(work_dir=target.work_dir, guards=(guard,), job=job)).fio_exit == 0
    cleanup(HERE, target)
    assert on_disk(target.device) == ""
    assert not Path(target.state_dir).exists()
    cleanup(HERE, target)
    assert check_device(HERE, target.device, str(image))


def test_no_filesystem_is_made_over_somebody_elses(fs_target):
    target, image = fs_target("ext4", 32)
    signatures.write_luks(image)
    subprocess.run(["blockdev", "--flushbufs", target.device], check=True)
    with pytest.raises(MeasurementFailed, match="holds crypto_LUKS, which diskbench did not make"):
        make_workspace(HERE, target)


def test_a_filesystem_that_is_not_ours_is_not_wiped(fs_target):
    target, _ = fs_target("ext4", 32)
    make_workspace(HERE, target)
    subprocess.run(["umount", mount_point(target)], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", target.device], check=True)
    cleanup(HERE, target)
    assert on_disk(target.device) == "ext4"


def test_making_is_finished_by_a_second_try_after_a_kill_in_the_middle(fs_target):
    target, _ = fs_target("ext4", 32)
    subprocess.run(
        ["mkfs.ext4", "-q", "-F", "-U", filesystem_uuid(target), target.device], check=True
    )
    make_workspace(HERE, target)
    assert Path(target.work_dir).is_dir()


def test_a_mount_that_is_in_use_is_told_and_nothing_is_removed(fs_target):
    target, _ = fs_target("ext4", 32)
    make_workspace(HERE, target)
    kept = Path(target.work_dir, "file")
    kept.write_text("x")
    held = kept.open()
    try:
        with pytest.raises(ReleaseFailed, match="is still mounted"):
            cleanup(HERE, target)
        assert kept.exists()
    finally:
        held.close()


# --- What may come to a disk between the look at it and the write: for fio and for mkfs alike


CAME = {
    "mounted": (lambda d, _, at: mounted(d, at), "is mounted on /"),
    "swap": (lambda d, *_: swap(d), "is swap"),
    "holder": (lambda d, _, at: holder(d, at), "is held by dm-7"),
    "partition": (lambda d, *_: partition(d), "has partitions: loop"),
    "partition mounted": (lambda d, _, at: partition_mounted(d, at), "is mounted on /"),
    "partition held": (lambda d, _, at: partition_held(d, at), "is held by dm-7"),
    "loop upon it": (lambda d, *_: backing(d), "is the backing device of loop"),
    "exclusive": (lambda d, *_: exclusive(d), "is in exclusive use"),
    "mbr": (lambda d, i, _: written(i, d, signatures.write_mbr), r"a partition table \(dos\)"),
    "gpt": (lambda d, i, _: written(i, d, signatures.write_gpt), r"a partition table \(gpt\)"),
    "lvm": (lambda d, i, _: written(i, d, signatures.write_lvm), "holds LVM2_member"),
    "zfs and mbr": (
        lambda d, i, _: written(i, d, lambda f: (signatures.write_zfs(f), signatures.write_mbr(f))),
        "which diskbench did not make",
    ),
}


def written_by_us(image, what):
    """What only diskbench could have changed: the kernel may use swap space while it is there, but
    leaves its header, the first 4,096 bytes, alone."""
    found = contents(image)
    return found[0] if what == "swap" else found


def not_kept_off(device, image, place, work):
    """What may come to the disk without keeping work off it as it should, and what is said then."""
    wrong = {}
    for what, (come, words) in CAME.items():
        with come(device, image, place / what):
            before, said = written_by_us(image, what), "nothing"
            try:
                work(what)
            except MeasurementFailed as failed:
                said = str(failed)
            if not re.search(words, said) or written_by_us(image, what) != before:
                wrong[what] = said
        empty_image(image, 72)
        subprocess.run(["blockdev", "--flushbufs", device], check=True)
    return wrong


def test_what_came_to_a_disk_since_it_passed_keeps_fio_off(make_loop, raw_unit, tmp_path):
    device, image = make_loop(mib=72)
    unit = raw_unit(device, guard_of(device, image))

    def measured(what):
        watch(unit.model_copy(update={"name": f"000-{what}"}))

    assert not_kept_off(device, image, tmp_path, measured) == {}
    assert len(list(Path(unit.state_dir).glob("run-0/step-*/job.fio"))) == len(CAME)
    assert not list(Path(unit.state_dir).glob("run-0/step-*/fio.json"))


def test_what_came_to_the_disk_since_it_passed_keeps_mkfs_from_it(fs_target, tmp_path):
    target, image = fs_target("ext4", 72)
    assert (
        not_kept_off(target.device, image, tmp_path, lambda _: make_workspace(HERE, target)) == {}
    )


@pytest.mark.parametrize("write", [signatures.write_mbr, signatures.write_gpt])
def test_our_filesystem_under_a_new_partition_table_is_neither_remade_nor_wiped(fs_target, write):
    target, image = fs_target("ext4", 32)
    make_workspace(HERE, target)
    subprocess.run(["umount", mount_point(target)], check=True)
    write(image)
    subprocess.run(["blockdev", "--flushbufs", target.device], check=True)
    before = contents(image)
    with pytest.raises(MeasurementFailed, match="a partition table"):
        make_workspace(HERE, target)
    cleanup(HERE, target)
    assert contents(image) == before


def test_a_disk_that_cannot_be_examined_is_not_written(make_loop, raw_unit, tmp_path, monkeypatch):
    device, image = make_loop()
    unit = raw_unit(device, guard_of(device, image))
    for name, exit_status in (("blkid", 4), ("wipefs", 1)):
        program(tmp_path / f"without-{name}" / name, f"exit {exit_status}")
        with monkeypatch.context() as patched:
            patched.setenv("PATH", first_on_path(tmp_path / f"without-{name}"))
            of_step = unit.model_copy(update={"name": f"000-{name}"})
            refused(of_step, "cannot be examined", image)
