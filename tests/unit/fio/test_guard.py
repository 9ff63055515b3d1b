"""The guard: nothing but the target, and of a directory nothing that needs a whole device."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import call_fio

from diskbench.errors import ProfileError, TargetRefused
from diskbench.fio.guard import ENGINES, OURS, check, harmless
from diskbench.fio.jobfile import parse, write
from diskbench.fio.options import option_versions
from diskbench.fio.target import FioTarget

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1")
DEVICE = FioTarget(kind="device", path="/dev/loop9")

ATTACKS = [
    "filename=/etc/passwd", "filename=../x", "filename=a/../../x", "filename=data:/etc/passwd",
    "filename=data:", "filename=-", "filename=", "filename", "filename=a\\:b",
    "filename=${HOME}/x", "filename=$HOME", 'filename="/etc/x"', "directory=/etc", "directory=.",
    "filename_format=/etc/$jobname", "filename_format=../$jobname",
    "filename_format=$jobname/../../x", "filename_format=$mb_memory", "filename_format=${PATH}",
    "opendir=/etc", "read_iolog=/tmp/x", "write_iolog=/tmp/x", "replay_redirect=/dev/sda",
    "merge_blktrace_file=/tmp/x", "exec_prerun=id", "exec_postrun=id", "ioengine=exec",
    "ioengine=external:/tmp/evil.so", "ioengine=/tmp/evil.so", "ioengine=./evil.so",
    "ioengine=net", "ioengine=rbd", "ioengine=http", "ioengine=io_uring_cmd", "ioengine=sg",
    "ioengine=e4defrag", "ioengine", "ioengine=libaio,x", "program=/bin/sh",
    "hostname=example.org", "ioscheduler=noop", "cgroup=x", "cgroup_weight=100",
    "cgroup_nodelete=1", "profile=tiobench", "trigger=id", "uid=0", "gid=0",
    "allow_mounted_write=1", "mem=mmap:/etc/passwd", "mem=mmapshared:/etc/x",
    "iomem=mmaphuge:/mnt/huge/x", "mem=mmaphuge", "mem=shmhuge", "mem=cudamalloc",
    "gpu_dev_ids=0", "verify_state_save=1", "verify_state_load=1", "verify_dump=1",
    "buffer_pattern='/etc/shadow'", "verify_pattern='/etc/shadow'",
    "buffer_pattern=\"abcd\"'/etc/shadow'", "description='`id`'", "ioscheduler='none'",
    "write_bw_log=/tmp/x", "write_lat_log", "write_iops_log=/tmp/x", "write_hist_log=/tmp/x",
    "log_compression=1m", "per_job_logs=0", "percentile_list=1", "clat_percentiles=0",
    "size=$mb_memory", "size=(1g*2)", "numjobs=$ncpus+1", "description=`id`", "runtime=$(id)",
    "name=../../x", "name=/a", "name=a/../b", "kb_base=1000", "fill_device=1", "fill_fs",
    "unified_rw_reporting=1", "stats=0", "an_option_of_fio_4=1", "NAME=x", "comm=sshd",
    "filetype=block", "dataplacement=fdp", "filename=.", "filename=/proc/self/mem",
    "filename=/dev/sda", "filename=data\\:/../../x", "directory=a:/etc", "write_lat_log=/tmp/x",
    "buffer_pattern=\"text\"'/etc/shadow'", "dedupe_file=/etc/shadow",
    "exec_prerun=/bin/sh -c id", "arguments=-c id", "trigger_file=/tmp/x", "description=$(id)",
    "size=`cat /etc/shadow`", "ioengine=netsplice", "ioengine=rdma", "ioengine=rados",
    "ioengine=nbd", "ioengine=gfapi", "ioengine=gfapi_async", "ioengine=libhdfs",
    "ioengine=cpuio", "ioengine=mtd", "ioengine=splice", "ioengine=dev-dax", "ioengine=libpmem",
    "ioengine=pmemblk", "ioengine=nfs", "ioengine=libiscsi", "ioengine=xnvme",
    "ioengine=external:./evil.so", "ioengine=libaio,net", "ioengine=LIBAIO", "ioengine=",
    "cgroup_weight=1000", "port=22", "fill_fs=1", "an_option_of_fio_9=1", "disk_util=0",
    "log_avg_msec=1", "numjobs=$ncpus",
]  # fmt: skip


def refused(line, target=DIRECTORY):
    """Whether the line stands in a job, among the defaults, or before one that replaces it; the
    refusal names it and says what to do."""
    for text in (
        f"[a]\nrw=read\n{line}\n",
        f"[global]\n{line}\n[a]\nrw=read\n",
        f"[a]\nrw=read\n{line}\n[b]\nrw=read\n",
        f"[a]\n  {line}  \nrw=read\n",
    ):
        with pytest.raises(ProfileError) as caught:
            check(parse(text), target)
        assert line.split("=")[0] in caught.value.message
        assert "line" in caught.value.message
        assert caught.value.advice


@pytest.mark.parametrize("line", ATTACKS)
def test_an_option_that_leaves_the_target_is_refused_and_named(line):
    refused(line)


@pytest.mark.parametrize(
    "name",
    ["/b", "a/../../b", "../x", "..", ".x", "/etc/x", "a`id`", "a$b", "$(id)", "é", 'a"b',
     "a;b"],
)  # fmt: skip
def test_a_section_name_is_a_file_name_and_must_stay_inside(name):
    with pytest.raises(ProfileError, match="section"):
        check(parse(f"[{name}]\nrw=read\n"), DIRECTORY)


@pytest.mark.parametrize(
    "line",
    [
        "filename=/dev/sda", "filename=/dev/loop9:/dev/sda", "filename=a:b",
        "filename_format=x.$jobnum", "nrfiles=2", "nr_files=2", "unlink=1", "unlink",
        "unlink_each_loop=1", "ioengine=filecreate", "ioengine=filedelete", "ioengine=ftruncate",
        "opendir=/dev", "filename=/dev/loop90", "filename=/dev/../dev/sda", "filename=//dev/loop9",
        "directory=/dev",
    ],
)  # fmt: skip
def test_a_device_is_one_file_and_its_node_stays(line):
    refused(line, DEVICE)


@pytest.mark.parametrize(
    "line",
    [
        "filename=data", "filename=a:b:c", "filename=sub/data.1", "filename_format=bonnie.$jobnum",
        "filename_format=$jobname.$jobnum.$filenum", "mem=mmap", "unlink=1", "blocksize=4k",
        "rw=randrw:8", "bssplit=4k/50:8k/50", "fill_device=0", "buffer_pattern=0xdeadbeef",
        'buffer_pattern="abcd"0x12', 'verify_pattern="wxyz"', "description='Mixed 70/30 workload'",
        'description="what it is"', "rate_iops=75% of capacity",
    ],
)  # fmt: skip
def test_ordinary_options_pass_and_the_device_itself_may_be_named(line):
    check(parse(f"[a]\nrw=write\n{line}\n"), DIRECTORY)
    for named in ("filename=/dev/loop9", "filename=f", "fill_device=1", "thread"):
        check(parse(f"[a]\nrw=write\n{named}\n"), DEVICE)


@pytest.mark.parametrize("path", ["/mnt/a;b", "/mnt/a#b", "/m/$HOME", "/mnt/a\nb", "/mnt/é", "/a "])
def test_a_target_that_no_job_file_can_name_is_refused(path):
    with pytest.raises(TargetRefused):
        check(parse("[a]\nrw=read\n"), FioTarget(kind="directory", path=path))


def test_every_option_of_fio_342_was_judged():
    shipped = set(option_versions()["options"])
    assert not harmless() & set(OURS)
    dangerous = {"read_iolog_chunked", "replay_skip", "merge_blktrace_file", "fdp", "plids", "comm"}
    assert not harmless() & dangerous
    assert "thinktime_iotime" in shipped & harmless()
    assert json.dumps(sorted(ENGINES))


@pytest.mark.slow
@given(st.text(max_size=60), st.sampled_from(["filename", "filename_format", "ioengine", "mem"]))
def test_no_value_of_a_path_option_escapes(value, key):
    try:
        file = parse(f"[a]\n{key}={value}\n")
        check(file, DIRECTORY)
    except ProfileError:
        return
    kept = file[0].options[0].value or ""
    assert not kept.startswith("/")
    assert ".." not in kept.split("/")
    assert "\n" not in kept
    assert parse(write(file))[0].options[0].value == kept


def test_a_section_named_by_dots_cannot_climb_out_and_a_global_one_counts_for_each_job():
    text = "[.]\nrw=write\nsize=1m\nfilename_format=.$jobname/.$jobname/victim.$filenum\n"
    with pytest.raises(ProfileError):
        check(parse(text), FioTarget(kind="directory", path="/mnt/disk"))
    file = parse("[global]\nrw=randtrim\n[a]\nsize=1m\n[b]\nsize=1m\nrw=read\n")
    with pytest.raises(ProfileError) as caught:
        check(file, DIRECTORY)
    assert "[a]" in caught.value.message
    assert "[b]" not in caught.value.message


NAMES = ["a/b", "read 50/50", "a[1]", "read [qd=1] (4k)", "[x]", "a]b", "50%:50%"]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["[{}]\n", "[a]\nname={}\n"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_fio_takes_passes_and_its_files_stay_inside(name, line, tmp_path):
    text = line.format(name) + "rw=write\nsize=4k\n"
    check(parse(text), DIRECTORY)
    (tmp_path / "inside").mkdir()
    done = call_fio("--output-format=json", "-", at=tmp_path / "inside", told=text)
    assert json.loads(done.stdout)["jobs"][0]["jobname"] == name
    assert [found.name for found in tmp_path.iterdir()] == ["inside"]


WHOLE_DEVICE = FioTarget(kind="device", path="/dev/nvme1n1", capacity_bytes=2**40)
ON_DEVICES = ["rw=trim", "rw=randtrim", "rw=trimwrite", "rw=write\ntrim_percentage=5",
              "rw=write\nzonemode=zbd", "rw=write\nfill_device=1"]  # fmt: skip
ANYWHERE = ["rw=write\nverify=crc32c", "rw=trim\nioengine=null", "rw=write\nzonemode=strided",
            "rw=write\ntrim_percentage=0", "rw=write\nfill_device=0"]  # fmt: skip


@pytest.mark.parametrize("body", [*ON_DEVICES, *ANYWHERE])
def test_what_needs_a_whole_device_runs_on_one_and_is_refused_on_a_directory(body):
    file = parse(f"[a]\nsize=1m\n{body}\n")
    check(file, WHOLE_DEVICE)
    if body in ANYWHERE:
        check(file, DIRECTORY)
        return
    with pytest.raises(ProfileError, match="--device"):
        check(file, DIRECTORY)


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
    words = ("--name=a", "--size=1m", "--bs=64k", f"--directory={tmp_path}", *options)
    done = call_fio(*words, at=tmp_path, check=False)
    assert (done.returncode == 0) == works
