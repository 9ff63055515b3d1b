"""A foreign job file on our target, with sizes where it has none; several devices on
as many disks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.plans import built, call_fio

from diskbench.errors import ProfileError, TargetRefused
from diskbench.fio.estimate import largest_bytes, space_bytes
from diskbench.fio.guard import check
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.recorded import last_words
from diskbench.fio.retarget import change_lines, retarget
from diskbench.fio.target import FioTarget, device_names
from diskbench.units import GIB, MIB

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1", size_bytes=2**40)
DEVICE = FioTarget(kind="device", path="/dev/nvme1n1", capacity_bytes=2**40)


def changed(line, target, *, after=""):
    """The options of a job with that line on the target, and the lines that say what changed."""
    file, changes = retarget(parse(f"[a]\nrw=write\nsize=1m\n{line}\n{after}"), target)
    check(file, target)
    options = [(option.key, option.value) for option in jobs(file)[0].options[2:]]
    return options, change_lines(changes)


@pytest.mark.parametrize(
    ("line", "option", "said"),
    [
        ("filename=/dev/sdb", ("filename", "sdb"), "filename=/dev/sdb → sdb"),
        ("filename=/tmp/test file", ("filename", "test file"), "filename=/tmp/test file → "),
        ("filename=\\\\.\\PhysicalDrive1", ("filename", "PhysicalDrive1"), "→ PhysicalDrive1"),
        ("filename=a:/b/a", ("filename", "a:a-2"), "filename=a:/b/a → a:a-2"),
        ("filename_format=/mnt/$jobname", ("filename_format", "$jobname"), "→ $jobname"),
        ("size=30g/2", ("size", str(15 * 2**30)), f"size=30g/2 → {15 * 2**30}"),
        ("bs=4k-64k", ("bsrange", "4k-64k"), "bs=4k-64k → bsrange=4k-64k"),
    ],
)
def test_what_names_a_target_or_is_worked_out_is_replaced_and_said(line, option, said):
    options, lines = changed(line, DIRECTORY)
    assert options == [option]
    assert len(lines) == 1
    assert said is None or said in lines[0]


@pytest.mark.parametrize(
    "line",
    ["directory=/data1", "directory=/a:/b", "write_lat_log=/x/y", "percentile_list=1:2", "stats=0",
     "log_avg_msec=100", "output=/tmp/x", "status-interval=1", "verify_dump=1", "per_job_logs=0",
     "threads=1"],
)  # fmt: skip
def test_what_names_a_directory_or_output_is_ours_and_said(line):
    options, lines = changed(line, DIRECTORY)
    assert options == []
    assert lines[0].startswith(line.partition("=")[0] + ": ")


@pytest.mark.parametrize("name", ["/dev/sdb", "/dev/disk/by-id/x", "data", "/mnt/data", "a:b"])
def test_on_a_device_every_file_is_the_device(name):
    options, lines = changed(f"filename={name}", DEVICE)
    assert options == [("filename", "/dev/nvme1n1")]
    assert lines == (f"filename={name} → /dev/nvme1n1",)


@pytest.mark.parametrize("target", [DIRECTORY, DEVICE])
def test_several_devices_cannot_be_one_target(target):
    text = "[a]\nrw=read\nfilename=/dev/sda:/dev/sdb\n[b]\nrw=read\nfilename=/dev/sda\n"
    with pytest.raises(ProfileError, match="2 devices, /dev/sda, /dev/sdb"):
        retarget(parse(text), target)


def test_a_device_is_not_removed_and_a_job_file_of_ours_stays_as_it_is():
    assert changed("unlink=1", DEVICE)[0] == []
    file = parse("[global]\nfilename=x\nbs=4k,64k\nbssplit=4k/60:64k/40\n[a]\nrw=randrw\nsize=9%\n")
    assert retarget(file, DIRECTORY) == (file, ())


PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126, exclude_characters=";#")
NAMES = st.text(PRINTABLE, min_size=1, max_size=40).map(str.strip)


@given(NAMES.filter(bool))
def test_no_name_leads_outside_the_target(name):
    """Whatever a job file names, the guard accepts the result only below the target, or refuses."""
    for target in (DIRECTORY, DEVICE):
        try:
            file, _ = retarget(parse(f"[a]\nrw=write\nsize=1m\nfilename={name}\n"), target)
            check(file, target)
        except ProfileError:
            continue
        value = jobs(file)[0].get("filename") or ""
        if target.kind == "device":
            assert value in {target.path, name}
        else:
            assert not value.startswith("/")
            assert ".." not in value.split("/")


def test_several_directories_become_one_and_files_that_are_one_then_are_named():
    text = "[a]\nrw=read\nsize=1m\ndirectory=/m/a\n{0}[b]\nrw=read\nsize=1m\ndirectory=/m/b\n{0}"
    _, apart = retarget(parse(text.format("")), DIRECTORY)
    assert all("all 2 directories" in line for line in change_lines(apart))
    _, shared = retarget(parse(text.format("filename=data\n")), DIRECTORY)
    assert all("; data " in line for line in change_lines(shared))


def test_options_that_are_set_replace_those_of_every_job_and_are_given_to_the_rest():
    file = parse("[global]\nbs=4k\n[a]\nrw=read\ntimeout=180\n[b]\nrw=write\n")
    done, changes = retarget(file, DIRECTORY, [("runtime", "1"), ("bs", "8k")])
    for job in jobs(done):
        assert (job.get("runtime"), job.get("bs")) == ("1", "8k")
    assert [(change.before, change.after) for change in changes] == [
        ("", "runtime=1"), ("bs=4k", "bs=8k"), ("timeout=180", "timeout=1"),
    ]  # fmt: skip
    assert all("--set" in line for line in change_lines(changes))


@pytest.mark.parametrize("value", ["/etc/passwd", "/dev/sda", "../x"])
def test_what_is_set_is_put_onto_the_target_or_refused_like_the_rest(value):
    file, _ = retarget(parse("[a]\nrw=write\nsize=1m\n"), DEVICE, [("filename", value)])
    assert {o.value for j in jobs(file) for o in j.options if o.name == "filename"} == {DEVICE.path}


SIZES = ["", "size=0", "size=80%", "io_size=50%", "offset=50%"]
SHAPES = {
    "alone": "[a]\nrw=write\n{}\n",
    "in the global section": "[global]\n{}\n[a]\nrw=write\n",
    "beside filesize": "[a]\nrw=write\nfilesize=1m\n{}\n",
    "after a step that laid the file out": "[global]\nfilename=x\n[w]\nrw=write\nsize=1m\n[a]\n"
    "stonewall\nrw=read\n{}\n",
    "after a job that laid the file out": "[w]\nfilename=x\nrw=write\nsize=1m\n[a]\nfilename=x\n"
    "rw=read\n{}\n",
    "before the job that lays it out": "[a]\nfilename=x\nrw=read\n{}\n[w]\nfilename=x\nrw=write\n"
    "size=1m\n",
    "more clones than the step before": "[a]\nrw=write\nsize=1m\n[a]\nstonewall\nnumjobs=2\n"
    "rw=read\n{}\n",
    "in metadata of what is missing": "[a]\nioengine=filestat\nrw=read\n{}\n",
}


def target(directory, size=None):
    return FioTarget(kind="directory", path=str(directory), size_bytes=size)


def runs(texts, directory):
    """The exit status of the first fio that fails, else 0, and what it left."""
    for text in texts:
        done = call_fio("--output-format=json", "-", at=directory, told=text, check=False)
        if done.returncode:
            return done.returncode, {"fio.json": done.stdout, "stderr.txt": done.stderr}
    return 0, {}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "files").mkdir()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_directory_without_size_is_refused_exactly_where_fio_fails(place, shape, size):
    text = SHAPES[shape].format(size)
    status, said = runs([text], place / "files")
    if status == 0:
        assert built(text, target(place / "files")).steps
        return
    assert "you need to specify size=" in last_words(said)
    with pytest.raises(ProfileError, match=r"\[a\]") as caught:
        built(text, target(place / "files"))
    assert "--size" in caught.value.advice


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "missing" not in shape])
@pytest.mark.parametrize("size", ["", "size=0", "size=100%"])
def test_with_size_every_such_job_runs_within_it(place, shape, size):
    made = built(SHAPES[shape].format(size), target(place / "files", 8 * MIB))
    assert runs([step.job for step in made.steps], place)[0] == 0
    laid_out = sum(file.stat().st_size for file in (place / "files").rglob("*"))
    assert laid_out <= 8 * MIB
    assert laid_out <= space_bytes(made.steps)


def test_a_share_is_one_of_the_size_files_beyond_it_are_cut_alike_and_no_data_needs_none():
    at = target("/mnt/d", 100 * MIB)
    one = built("[a]\nrw=write\nsize=80%\n", at)
    assert [j.get("size") for step in one.steps for j in jobs(parse(step.job))] == [str(80 * MIB)]
    assert change_lines(one.changes) == (f"size=80% → {80 * MIB} (of --size)",)
    two = built("[global]\nsize=100%\n[fill]\nrw=write\n[read]\nstonewall\nrw=randread\n", at)
    assert space_bytes(two.steps) == 100 * MIB
    beside = built("[w]\nrw=write\nsize=40m\n[a]\nrw=write\nnumjobs=3\n", at)
    assert space_bytes(beside.steps) == 100 * MIB
    assert built("[a]\nioengine=filecreate\nrw=write\n", target("/mnt/d")).changes == ()


@pytest.mark.parametrize("size", ["", "size=0", "size=0%", "size=0k"])
@pytest.mark.parametrize("others", [(), ("/dev/loop8",)])
def test_zero_is_the_whole_device_and_never_more_than_the_size_that_is_allowed(size, others):
    text = "\n".join(["[global]", size, "[a]", "rw=read", "filename=/dev/sdx", ""]) + (
        "[b]\nrw=read\nfilename=/dev/sdy\n" if others else ""
    )
    at = FioTarget(kind="device", path="/dev/loop9", others=others, capacity_bytes=100 * MIB)
    assert space_bytes(built(text, at).steps, 100 * MIB) == 100 * MIB * (1 + len(others))
    at = at.model_copy(update={"size_bytes": 10 * MIB})
    assert space_bytes(built(text, at).steps, 100 * MIB) == 10 * MIB * (1 + len(others))


def test_on_a_device_a_share_stays_one_of_it_and_zero_is_told_as_what_fio_means():
    at = FioTarget(kind="device", path="/dev/loop9", capacity_bytes=100 * MIB)
    made = built("[a]\nrw=read\nsize=80%\n", at)
    assert (made.changes, space_bytes(made.steps, 100 * MIB)) == ((), 80 * MIB)
    made = built("[a]\nrw=read\nsize=0\n", at)
    assert "size=100%" in made.steps[0].job
    assert change_lines(made.changes) == ("size=0 → 100% (0 is the whole device to fio)",)


A, B = "/dev/nvme1n1", "/dev/nvme2n1"
PAIR = FioTarget(kind="device", path=A, others=(B,), capacity_bytes=10 * GIB)
ONE = FioTarget(kind="device", path=A, capacity_bytes=10 * GIB)
EACH = "[a]\nrw=read\nfilename=/dev/sdc\n[b]\nrw=read\nfilename=/dev/sdb\n"


def placed(text, target=PAIR):
    """The names that each job has then, and the lines that say what changed."""
    file, changes = retarget(parse(text), target)
    check(file, target)
    names = [[o.value for o in job.options if o.name == "filename"] for job in jobs(file)]
    return names, change_lines(changes)


def steps_of(text, target=PAIR):
    return built(text, target).steps


SAID = ("filename=/dev/sdc → /dev/nvme1n1", "filename=/dev/sdb → /dev/nvme2n1")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (EACH, [[A], [B]]),
        ("[a]\nrw=read\nfilename=/dev/sdc:/dev/sdb\n", [[f"{A}:{B}"]]),
        ("[global]\nfilename=/dev/sdc\n[a]\nrw=read\nfilename=/dev/sdb\n", [[A, B]]),
        (EACH.replace("/dev/sdb", "/dev/sdb:/dev/sdc"), [[A], [f"{B}:{A}"]]),
    ],
    ids=["a job each", "one list", "they add up", "again in a list"],
)
def test_the_first_device_of_the_file_is_the_first_disk(text, names):
    assert placed(text) == (names, SAID)


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


NAMED = st.sampled_from(
    ["/dev/sdb", "/dev/sdc", "/dev/nvme1n1", "/dev/nvme2n1", "/dev/../etc/x", "data", "../x",
     "/dev/sdb/../../etc/passwd", "/dev/shm/x", "", "a:b", "/etc/passwd", "\\\\.\\X"]
)  # fmt: skip


@given(st.lists(st.lists(NAMED, min_size=1, max_size=3), min_size=1, max_size=4))
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
