"""What needs a whole device: filling it, discarding its blocks, its zones."""

import subprocess

import pytest

from diskbench.errors import ProfileError
from diskbench.fio.guard import check
from diskbench.fio.jobfile import parse
from diskbench.fio.target import FioTarget

DIRECTORY = FioTarget(kind="directory", path="/mnt/x")
DEVICE = FioTarget(kind="device", path="/dev/nvme1n1", capacity_bytes=2**40)
ON_DEVICES = ["rw=trim", "rw=randtrim", "rw=trimwrite", "rw=write\ntrim_percentage=5",
              "rw=write\nzonemode=zbd", "rw=write\nfill_device=1"]  # fmt: skip
ANYWHERE = ["rw=write\nverify=crc32c", "rw=trim\nioengine=null", "rw=write\nzonemode=strided",
            "rw=write\ntrim_percentage=0", "rw=write\nfill_device=0"]  # fmt: skip


@pytest.mark.parametrize("body", ON_DEVICES)
def test_it_runs_on_a_whole_device_and_is_refused_on_a_directory(body):
    file = parse(f"[a]\nsize=1m\n{body}\n")
    check(file, DEVICE)
    with pytest.raises(ProfileError, match="--device"):
        check(file, DIRECTORY)


@pytest.mark.parametrize("body", ANYWHERE)
def test_the_rest_runs_in_a_directory_too(body):
    check(parse(f"[a]\nsize=1m\n{body}\n"), DIRECTORY)
    check(parse(f"[a]\nsize=1m\n{body}\n"), DEVICE)


def test_what_a_global_section_says_counts_for_each_job():
    file = parse("[global]\nrw=randtrim\n[a]\nsize=1m\n[b]\nsize=1m\nrw=read\n")
    with pytest.raises(ProfileError) as caught:
        check(file, DIRECTORY)
    assert "[a]" in caught.value.message
    assert "[b]" not in caught.value.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "works"),
    [
        (["--rw=trim", "--ioengine=psync"], False),
        (["--rw=trim", "--ioengine=falloc"], True),
        (["--rw=write", "--zonemode=zbd", "--zonesize=256k"], False),
        (["--rw=write", "--zonemode=strided", "--zonesize=256k", "--zonerange=512k"], True),
        (["--rw=write", "--verify=crc32c"], True),
    ],
)
def test_the_real_fio_agrees_about_files(options, works, tmp_path):
    done = subprocess.run(
        ["fio", "--name=a", "--size=1m", "--bs=64k", f"--directory={tmp_path}", *options],
        capture_output=True, text=True, check=False, start_new_session=True, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode == 0) == works
