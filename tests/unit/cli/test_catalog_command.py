"""`diskbench catalog`, `profiles` and `providers`: what can be chosen, and how it is shown."""

import json
from functools import partial

import pytest
from tests.books import SHIPPED
from tests.rigs.cli import printed

from diskbench.catalog.entry import clouds
from diskbench.catalog.listing import _things, disk_entries, find, machine_rows
from diskbench.catalog.lookup import disk_types
from diskbench.cli.providers import abilities, providers
from diskbench.engine import profile_jobs
from diskbench.errors import InvalidValue, ProfileError, UnknownName
from diskbench.fio.jobfile import parse
from diskbench.providers.registry import provider, provider_names

told = partial(printed, "catalog")


def test_disks_lists_every_type_of_every_cloud_or_of_one_and_its_document_every_source():
    text = told("disks")
    for cloud in clouds():
        for name in disk_types(cloud):
            assert name in text
    assert "3/GiB, 100–16,000;" in text
    document = json.loads(told("disks", "--provider", "gcp", "--output", "json"))
    assert (document["format"], {one["cloud"] for one in document["disks"]}) == (1, {"gcp"})
    assert "Premium_LRS" not in told("disks", "--provider", "gcp")
    document = json.loads(told("disks", "--output", "json"))
    (gp2,) = (one for one in document["disks"] if one["type"] == "gp2")
    assert gp2["iops"]["per_gib"] == 3
    assert gp2["sources"][gp2["iops"]["source"]]["as_of"] == "2023-05-11"


def test_instances_lists_what_machines_sustain_and_where_the_other_limits_are_told():
    assert "c4.xlarge                  4    6,000    93.75" in told("instances")
    document = json.loads(told("instances", "--output", "json"))
    rows = {one["type"]: one for one in document["instances"]}
    assert rows["c5.large"]["max_iops"] == 20_000
    assert rows["Standard_D2s_v3"]["cached_iops"] > 0
    assert rows["n2-standard-8"]["caps"]["pd-ssd"][0] == 15_000
    assert "with it: diskbench catalog show NAME" in told("instances", "--provider", "azure")
    assert "depend on the disk type" in told("instances", "--provider", "gcp")
    assert "catalog show" not in told("instances", "--provider", "aws")


def test_show_finds_things_by_any_case_and_tells_each_figure_with_its_source_and_date():
    text = told("show", "gp2")
    assert "iops_burst: fixed 3,000, capacity 5,400,000" in text
    assert text.count("(2023-05-11)") > 2
    assert "usd a month: per_gib 0.1" in text
    text = told("show", "p10")
    assert "P10: gib 128, iops 500, throughput 100" in text
    assert "P15:" not in text
    assert "read_iops 100,125" in told("show", "i3.large")
    assert "adapter 256" in told("show", "PVSCSI")
    assert "PremiumV2_LRS" in told("show", "Premium SSD v2")
    assert "io2" in told("show", "Block Express")


def test_disks_names_every_part_of_vsphere_and_each_can_be_shown():
    text = told("disks", "--provider", "vsphere")
    for name in ("VMFS", "NFS41", "vsan", "VVOL", "thin", "eager-zeroed", "pvscsi", "iops-limit"):
        assert name in text
        assert ")" in told("show", name), "its source"
    assert "gp2" not in text
    document = json.loads(told("disks", "--output", "json"))
    assert "VMFS" in [one["name"] for one in document["vsphere"]]


def test_no_cloud_is_asked_about_vsphere_and_an_unknown_name_gets_the_nearest_ones():
    with pytest.raises(InvalidValue, match="vsphere has no API"):
        told("disks", "--provider", "vsphere", "--refresh")
    with pytest.raises(InvalidValue) as caught:
        told("show", "gp9")
    assert "gp2" in caught.value.advice
    assert len(caught.value.advice) < 200


@pytest.mark.slow
def test_every_name_that_is_listed_can_be_shown_and_every_figure_has_a_source(monkeypatch):
    things = tuple(_things(SHIPPED))  # once, and not for every name
    monkeypatch.setattr("diskbench.catalog.listing._things", lambda _: things)
    disks = [name for _, name, _ in disk_entries()]
    for name in (*disks, *(row.type for row in machine_rows(SHIPPED))):
        for thing in find(SHIPPED, name):
            assert thing.lines, name
            for line, _, source in thing.lines:
                assert source or line == "speed", (name, line)


PLAIN = "[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=read\nsize=1m\n"


@pytest.fixture(autouse=True)
def _ask_fio_again():
    profile_jobs._fio.cache_clear()
    yield
    profile_jobs._fio.cache_clear()


run = partial(printed, "profiles")


@pytest.mark.slow
def test_list_names_every_profile_with_its_time():
    document = json.loads(run("list", "--output", "json"))
    assert document["format"] == 1
    listed = {entry["name"]: entry for entry in document["profiles"]}
    assert 20 < listed["quick"]["expected_s"] < 40
    assert listed["soak"]["expected_s"] >= 86400
    assert "quick" in run("list")


def test_show_tells_question_source_and_parameters():
    shown = run("show", "quick")
    assert "question" in shown
    assert "runtime=4 (duration)" in shown
    assert json.loads(run("show", "quick", "--output", "json"))["name"] == "quick"


def test_render_prints_complete_job_files_one_a_step_and_names_a_device(tmp_path):
    text = run("render", "quick", "--path", str(tmp_path), "--set", "runtime=2")
    assert text.count("; ===== step") == 6
    assert f"directory={tmp_path}/diskbench-TRIAL" in text
    one = run("render", "quick", "--step", "1", "--set", "size=1m")
    assert "; =====" not in one
    assert [s.name for s in parse(one) if not s.is_global] == ["seq-read-1m"]
    text = run("render", "quick", "--device", "/dev/loop99", "--size", "0.5", "--step", "0")
    assert "filename=/dev/loop99" in text
    assert f"size={2**29}" in text
    text = run("render", "offered-load", "--step", "2")
    assert "assume a measured rate" in text
    assert "% of" not in text


@pytest.mark.slow
def test_validate_asks_fio(tmp_path):
    path = tmp_path / "mine.fio"
    path.write_text(PLAIN)
    assert "2 steps; fio " in run("validate", str(path))
    assert "were checked with" in run("validate", "offered-load")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["show", "quik"], UnknownName),
        (["render", "quick", "--set", "runtme=1"], UnknownName),
        (["render", "quick", "--set", "runtime"], InvalidValue),
        (["render", "quick", "--set", "runtime=0"], InvalidValue),
        (["render", "quick", "--size", "0"], InvalidValue),
        (["render", "quick", "--size", "nan"], InvalidValue),
        (["render", "quick", "--step", "99"], InvalidValue),
        (["render", "quick", "--path", "/x", "--device", "/dev/x"], InvalidValue),
        (["render", "quick", "--path", "/x;y"], InvalidValue.__mro__[1]),
        (["validate", "/nonexistent/x.fio"], ProfileError),
    ],
)
def test_bad_input_is_the_users_error(arguments, error):
    with pytest.raises(error) as caught:
        run(*arguments)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("line", ["rw=sideways", "sync=maybe", "iodepth_batch=many"])
def test_what_fio_refuses_is_told_in_its_words(tmp_path, line):
    path = tmp_path / "mine.fio"
    path.write_text(f"[a]\nsize=1m\n{line}\n")
    with pytest.raises(ProfileError, match="fio refuses it") as caught:
        run("validate", str(path))
    assert f"profiles render {path} --step 0" in str(caught.value.advice), "as it was typed"


def test_without_fio_validate_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="no fio on this machine") as caught:
        run("validate", "quick")
    assert getattr(caught.value, "exit_code", None) == 2


@pytest.mark.parametrize(
    ("name", "can", "cannot"),
    [
        ("aws", ["rents", "gp3, io1, io2", "terminates"], ["caches"]),
        ("azure", ["PremiumV2_LRS, UltraSSD_LRS", "none|readonly|readwrite", "deallocates"], []),
        ("gcp", ["pd-extreme, hyperdisk-balanced", "maxRunDuration"], ["caches"]),
        ("vsphere", ["rents"], ["apart from size", "caches", "ends what nobody gives back"]),
        ("lab", ["spends no burst credit"], ["ends what nobody gives back"]),
        ("ssh", ["measures existing machines"], ["rents"]),
    ],
)
def test_a_provider_can_what_its_type_can(name: str, can: list[str], cannot: list[str]) -> None:
    found = "; ".join(abilities(provider(name)))
    assert [word for word in can if word not in found] == []
    assert [word for word in cannot if word in found] == []


def test_a_provider_of_somebody_elses_is_known_by_its_type_alone() -> None:
    class Theirs:
        name = "theirs"

        def check(self, cell: object) -> None: ...

        def host_caches(self) -> tuple[str, ...]:
            return ("write-back",)

    measures, caches = abilities(Theirs())
    assert measures == "measures existing machines"
    assert caches == "caches disks on their host: --cache write-back"


def test_all_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    providers()
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "]
    assert listed == list(provider_names())
