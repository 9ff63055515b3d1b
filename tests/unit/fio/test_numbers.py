"""Numbers in a job file mean what fio takes them for; parameters are typed, templates strict."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.plans import built, call_fio, machine

from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio import numbers
from diskbench.fio.estimate import space_bytes
from diskbench.fio.guard import check
from diskbench.fio.jobfile import parse
from diskbench.fio.profiles import Parameter, parse_profile, read_value
from diskbench.fio.target import FioTarget
from diskbench.fio.template import is_local_nvme, render
from diskbench.model.facts import DiskFacts
from diskbench.units import GIB

DIRECTORY = FioTarget(kind="directory", path="/mnt/disk/diskbench-1")


def fio(job: str, directory: Path) -> dict[str, int]:
    """The sizes of the files that fio lays out for a job; nothing is written into them."""
    (directory / "w").mkdir(exist_ok=True)
    (directory / "job.fio").write_text(
        "[global]\nioengine=psync\nrw=write\nfallocate=truncate\ncreate_only=1\n"
        f"directory={directory}/w\nbs=1\n[x]\n{job}\n"
    )
    call_fio("job.fio", at=directory, check=False)
    sizes = {p.name: p.stat().st_size for p in (directory / "w").iterdir()}
    for path in (directory / "w").iterdir():
        path.unlink()
    return sizes


# --- The forms, one by one

SIZES = [
    "1", "4096", "0x10000", "0X1f4", "0x1b", "4k", "4K", "1kb", "1Kb", "1kib", "1KiB", "1ki", "1m",
    "1mb", "1mib", "1Mi", "1g", "1gib", "1t", "1tib", "1b", "10B", "010k", "+5k",
]  # fmt: skip


def fio_reads(texts: list[str], directory: Path) -> dict[str, int]:
    """What fio takes each size for, in one run: a job each."""
    jobs = "".join(f"filename=f{n}\nsize={text}\n[{n}]\n" for n, text in enumerate(texts))
    sizes = fio(jobs + f"filename=f{len(texts)}\nsize=1", directory)
    return {text: sizes[f"f{n}"] for n, text in enumerate(texts)}


def test_sizes_are_what_fio_makes_of_them(tmp_path):
    assert fio_reads(SIZES, tmp_path) == {text: numbers.bytes_of(text) for text in SIZES}


UNITS = st.tuples(st.sampled_from("kKmMgG"), st.sampled_from(["", "b", "i", "iB"])).map("".join)
TEXTS = st.one_of(
    st.integers(1, 2**40).map(str),
    st.integers(1, 2**40).map(hex),
    st.builds("{}{}".format, st.integers(1, 900), UNITS),
    st.text("0123456789xkmgibe.+-%zZ_", min_size=1, max_size=6),
).filter(lambda text: 0 < (numbers.bytes_of(text) or 0) <= 2**41)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.lists(TEXTS, min_size=5, max_size=30, unique=True))
def test_whatever_is_read_is_what_fio_reads(texts):
    with tempfile.TemporaryDirectory() as directory:
        assert fio_reads(texts, Path(directory)) == {text: numbers.bytes_of(text) for text in texts}


@pytest.mark.parametrize("text", ["0x10", "1k", "010"])
def test_a_count_is_what_fio_makes_of_it(text, tmp_path):
    assert len(fio(f"size=8m\nnrfiles={text}", tmp_path)) == numbers.count_of(text)


FOREIGN = [
    "1e6", "1e2m", "1.5m", "0x10m", "0x", "0xg", "1kbx", "1mbit", "1k2", "5 k", "1_000", "12abc",
    "k", "-5", "-1k", "1z", "1kz", "١k", "1k%", "50 %", "(1k)", "9" * 19, "9999999p",
]  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN)
def test_what_says_one_thing_and_means_another_is_no_number(text):
    assert numbers.bytes_of(text) is None
    for name in ("size", "numjobs", "nrfiles", "bs", "filesize"):
        with pytest.raises(ProfileError, match=name) as caught:
            check(parse(f"[a]\nrw=write\n{name}={text}\n"), DIRECTORY)
        assert text in caught.value.message


@pytest.mark.parametrize(
    "line",
    [
        "numjobs", "numjobs=0", "numjobs=3,4", "numjobs=2-3", "numjobs=50%", "numjobs=4294967297",
        "nrfiles=0x", "nr_files=1e3", "nrfiles=0", "iodepth=0", "openfiles=x",
        "iodepth=1.5", "number_ios=1e6",
        "size=101%", "io_size=200%", "offset=100%", "offset_increment=150%", "bs=0", "bs=4k,0",
        "bsrange=0-0", "bssplit=4k/50:0/50", "size=4k-8k", "size=4k,8k", "io_limit=1e9",
        "filesize=50%", "filesize=8k-4k", "filesize=0", "offset=1z", "fileoffset=-1",
        "offset_increment=1.5g", "bs=1e3", "blocksize=4k-8k", "bs=,", "bsrange=4k", "bsrange=8k-4k",
        "blocksize_range=1k-1e6", "bssplit=4q/50", "rate=1e6", "rate=1m,x", "runtime=1.5h",
        "runtime=5min", "timeout=0x10", "ramp_time=1h30m", "startdelay=1-2-3", "file_append=1",
    ],
)  # fmt: skip
def test_a_number_that_diskbench_cannot_reckon_with_is_refused_by_name(line):
    for text in (f"[global]\n{line}\n[a]\nrw=write\n", f"[a]\nrw=write\n{line}\n"):
        with pytest.raises(ProfileError) as caught:
            check(parse(text), DIRECTORY)
        assert line in caught.value.message


@pytest.mark.parametrize(
    "line",
    [
        "size=0x10000", "size=50%", "size=0", "size=0%", "size=0x0", "io_size=100%", "loops=0",
        "io_size=0", "runtime=0", "ramp_time=0", "startdelay=0", "rate=0", "rate_iops=0",
        "openfiles=0", "offset=0", "filesize=4k-8k", "filesize=1m", "offset=10%",
        "bs=4k", "bs=4k,8k", "bs=,8k", "bs=0x1000", "bsrange=1k-4k", "bsrange=1k-4k,2k-8k",
        "bssplit=4k/50:8k/50", "bssplit=4k/50:8k,16k/100", "rate=1m", "rate=1m,500k", "rate=,500k",
        "rate_iops=75% of capacity", "runtime=300ms", "runtime=10", "runtime=1M", "ramp_time=5s",
        "startdelay=1-5", "number_ios=0", "numjobs=0x10", "iodepth=1k", "loops=3", "file_append=0",
    ],
)  # fmt: skip
def test_the_forms_that_fio_documents_pass(line):
    check(parse(f"[a]\nrw=write\n{line}\n"), DIRECTORY)


@given(st.sampled_from(["size", "bs", "numjobs", "runtime", "filesize", "bssplit", "x"]), st.text())
def test_no_text_breaks_the_reader(name, text):
    assert isinstance(numbers.unreadable(name, text), str | None)
    for read in ("bytes_of", "count_of", "percent_of", "seconds_of", "range_of"):
        assert getattr(numbers, read)(text) is None or text.strip()[:1] in "+0123456789", read
    for option in ("bs", "bsrange", "bssplit"):
        assert all(size >= 0 for size in numbers.blocks_of(option, text) or ())


# --- What comes of them


BODIES = [
    "size=0x800000", "size=8mb", "size=8m\nnumjobs=0x4", "size=8m\noffset=0x400000",
    "filesize=1m\nnrfiles=0x10", "size=4m\nnrfiles=2\noffset=3m",
    "size=1m\noffset_increment=0x100000\nnumjobs=4", "filesize=1m-2m\nnrfiles=4",
    "size=4m\nfilename=a:b\noffset=1m", "size=8m\nfilename=s\noffset_increment=1m\nnumjobs=3",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_the_space_counted_holds_all_that_fio_lays_out(body, tmp_path):
    laid_out = sum(fio(body, tmp_path).values())
    assert 0 < laid_out <= space_bytes(built(f"[x]\nrw=write\n{body}\n", DIRECTORY).steps)
    small = DIRECTORY.model_copy(update={"size_bytes": laid_out // 2})
    with pytest.raises(ProfileError, match="--size"):
        built(f"[x]\nrw=write\n{body}\n", small)


DEVICE = FioTarget(kind="device", path="/dev/loop9", size_bytes=2**20, capacity_bytes=2**30)


def test_a_device_is_used_no_further_than_the_user_allows():
    several = "size=1m\nnumjobs=2\noffset_increment=1m"
    for body in ("size=8m\nfilesize=4k", "size=50%", "size=1m\noffset=1m", several):
        with pytest.raises(ProfileError, match="--size"):
            built(f"[x]\nrw=write\n{body}\n", DEVICE)


@pytest.mark.parametrize("body", ["rw=write:8m", "rw=rw:1m", "rw=write\nzoneskip=1m\nzonesize=4k"])
def test_what_wraps_at_the_end_of_the_device_only_needs_the_whole_device(body):
    with pytest.raises(ProfileError, match="--size allows a part"):
        check(parse(f"[x]\n{body}\n"), DEVICE)
    check(parse(f"[x]\n{body}\n"), DEVICE.model_copy(update={"size_bytes": None}))
    check(parse(f"[x]\n{body}\n"), DIRECTORY)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30g/2", 15 * GIB), ("(4k*8)", 32768), ("2^20", 1048576), ("(1g+512m)/2", 805306368),
        ("7/2*2", 7), ("10%4", 2), ("1m-4k", 1044480),
        ("1/0", None), ("4k-8k", None), ("", None), ("2^64", None), ("9^9^9", None), ("(1", None),
        ("a*2", None), ("1*x", None), ("1.5*2", None),
    ],
)  # fmt: skip
def test_a_value_is_worked_out_as_its_author_wrote_it_or_stays_unread(text, value):
    assert numbers.evaluate(text) == value
    for own in ("4k", "10%", "4k-64k", "+4k", "$ncpus"):
        assert not numbers.is_arithmetic(own), "a form of fio's"


@given(st.text(alphabet="0123456789kmgt()+*/%^- ", max_size=40))
def test_any_text_gives_a_number_or_none_at_once(text):
    value = numbers.evaluate(text)
    assert value is None or 0 <= value < 2**63


FACTS = machine(4, memory_bytes=8 << 30, fio_engines=("psync", "libaio"))
TARGET = FioTarget(kind="directory", path="/m")


def profile(body, parameters=""):
    head = "title: t\nquestion: q\nsource: s\n"
    return parse_profile(f"---\n{head}{parameters}---\n{body}", name="mine")


SIZE = """parameters:
  size: {kind: size, default: "{{ target.size_bytes or '4g' }}", help: h, minimum: 4096}
  runtime: {kind: duration, default: 5m, help: h, minimum: 1, maximum: 3600}
  workers: {kind: int, default: "{{ host.cores * 2 }}", help: h}
"""


@pytest.mark.slow
def test_defaults_are_worked_out_from_host_and_target():
    mine = profile("{{ size }} {{ runtime }} {{ workers }}", SIZE)
    text, parameters = render(mine, {}, FACTS, TARGET)
    assert text == f"{4 << 30} 300 8"
    assert parameters == {"size": 4 << 30, "runtime": 300, "workers": 8}


def test_set_replaces_a_default_as_its_kind_and_an_unknown_parameter_lists_the_known_ones():
    mine, overrides = profile("{{ size }} {{ runtime }}", SIZE), {"size": "64k", "runtime": "1m"}
    assert render(mine, overrides, FACTS, TARGET)[0] == "65536 60"
    with pytest.raises(UnknownName) as caught:
        render(profile("", SIZE), {"runtme": "1"}, FACTS, TARGET)
    assert caught.value.message == "'runtme' is not a valid parameter of profile 'mine'"
    assert "runtime" in caught.value.advice
    assert "size" in caught.value.advice


@pytest.mark.parametrize(
    ("kind", "bound", "text", "told"),
    [
        ("size", 2**20, "0", "at least 1 MiB"), ("duration", 90, "1s", "at least 1 min 30 s"),
        ("duration", 0.5, "0.1", "at least 0.5 s"), ("int", 1_500_000, "1", "at least 1,500,000"),
        ("float", 0.25, "0.1", "at least 0.25"),
    ],
)  # fmt: skip
def test_a_bound_is_told_in_the_unit_that_is_typed(kind, bound, text, told):
    parameter = Parameter(name="x", default="1", help="h", kind=kind, minimum=bound)
    with pytest.raises(InvalidValue) as caught:
        read_value(parameter, text)
    assert told in caught.value.advice


def test_a_value_out_of_kind_or_range_is_named():
    wrong = {"size": ("many", "0", "-1"), "runtime": ("0", "2h", "soon"), "workers": ("1.5", "x")}
    for key, value in ((key, value) for key, values in wrong.items() for value in values):
        with pytest.raises(InvalidValue, match=key):
            render(profile("", SIZE), {key: value}, FACTS, TARGET)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_no_value_brings_a_line_or_a_comment(text):
    parameter = Parameter(name="p", default="", help="h")
    try:
        value = read_value(parameter, text)
    except InvalidValue:
        return
    assert not set(str(value)) & set("\n\r;#$`'\"{}[]\\")


INJECTED = ["4k\nexec_prerun=id", "4k\n", "a;b", "{{ 1 }}", "[x]", "$HOME"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [*(("str", value) for value in INJECTED), *(("float", v) for v in ("nan", "inf", "-inf"))],
)
def test_a_value_cannot_inject_an_option_and_a_float_is_a_number(kind, value):
    with pytest.raises(InvalidValue):
        read_value(Parameter(name="p", default="", help="h", kind=kind), value)


PRYING = ("{{ ''.__class__.__mro__ }}", "{{ host.nothing }}", "{% include 'x' %}")


@pytest.mark.parametrize("body", ["{% if %}", "{{ 1 // 0 }}", *PRYING])
def test_a_wrong_or_prying_template_is_refused(body):
    with pytest.raises(ProfileError):
        render(profile(body), {}, FACTS, TARGET)


def test_the_best_engine_of_the_target_is_offered():
    best = {("psync", "io_uring"): "io_uring", (): "libaio", ("psync",): "psync"}
    for engines, chosen in best.items():
        facts = FACTS.model_copy(update={"fio_engines": engines})
        assert render(profile("{{ engine }}"), {}, facts, TARGET)[0] == chosen


def test_local_nvme_is_told_from_network_nvme():
    ebs, own = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
    for model in (None, ebs, own):
        disk = DiskFacts(name="nvme0n1", path="/dev/nvme0n1", transport="nvme", model=model)
        assert is_local_nvme(disk) is (model != ebs)


@pytest.mark.parametrize("text", ["{{ 5|dictsort }}", "{{ 5|xmlattr }}", "{{ cycler() }}"])
def test_whatever_a_filter_raises_is_told_with_its_line(text):
    with pytest.raises(ProfileError, match=r"line 7: .+") as told:
        render(profile(f"[a]\n{text}\n"), {}, FACTS, TARGET)
    assert "MiB" not in str(told.value)


def test_an_undefined_variable_is_named_with_its_line_and_a_long_name_by_its_beginning():
    with pytest.raises(ProfileError) as caught:
        render(profile("[a]\nrw=read\nbs={{ blocksize }}\n"), {}, FACTS, TARGET)
    assert "'blocksize'" in caught.value.message
    assert "line 8" in caught.value.message
    with pytest.raises(ProfileError) as told:
        render(profile('{{ {}["x" * 100000] }}'), {}, FACTS, TARGET)
    assert len(str(told.value)) < 1000


def test_a_template_is_expanded_once_for_the_same_values_and_plain_text_never(monkeypatch):
    def run(*_, **__):
        raise AssertionError("a process was started")

    mine = profile("[job]\nnumjobs={{ host.cores * 3 }}\n")
    first = render(mine, {}, machine(7), TARGET)
    assert "numjobs=21" in first[0]
    monkeypatch.setattr("diskbench.fio.template.subprocess.run", run)
    assert render(mine, {}, machine(7), TARGET) == first
    with pytest.raises(AssertionError, match="process"):
        render(mine, {}, machine(8), TARGET)
    assert "rw=read" in render(profile("[job]\nrw=read\n"), {}, machine(), TARGET)[0]
    text = "[a]\nrw=read\ndescription={{ x }}\n"
    assert render(parse_profile(text, name="plain"), {}, FACTS, TARGET)[0] == text


def test_a_template_that_met_a_limit_is_tried_again(monkeypatch):
    mine = profile("[job]\nnumjobs={{ host.cores * 5 }}\n")

    def late(*_, **__):
        raise subprocess.TimeoutExpired("python", 30)

    with monkeypatch.context() as patched:
        patched.setattr("diskbench.fio.template.subprocess.run", late)
        with pytest.raises(ProfileError, match="processor time"):
            render(mine, {}, machine(2), TARGET)
    assert "numjobs=10" in render(mine, {}, machine(2), TARGET)[0]
