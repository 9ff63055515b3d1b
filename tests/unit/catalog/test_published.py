"""Published figures: complete, in our units, and each beside what was printed.

`diskbench.load_published()` for notebooks.

Which published figures a run is set beside, and why none is.
"""

import dataclasses
import json
import re
from collections import Counter
from importlib import resources
from statistics import fmean

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.api_page import documented

import diskbench
from diskbench.catalog.post_file import UNITS, parse_post
from diskbench.catalog.published import (
    FACTOR,
    NEAREST,
    SEEDS,
    RunSubject,
    filtered,
    find_published,
    group,
    load_published,
    match,
    part,
    prefixes,
)
from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.profiles import shipped_profile

FIGURES = load_published()
CLOUD_TYPES = {"aws", "azure", "gcp"}


def text_of(seed: str) -> str:
    return (resources.files("diskbench.catalog") / "data/published" / f"{seed}.yaml").read_text()


def number(printed: str) -> float:
    found = re.search(r"\d[\d,]*(\.\d+)?", printed)
    assert found, printed
    return float(found[0].replace(",", ""))


def only(figure_id: str):
    (found,) = find_published(figure_id)
    return found


def test_every_table_of_the_five_posts_is_there_whole_with_ids_of_its_own():
    assert Counter((f.seed, f.table) for f in FIGURES) == {
        ("iaas-2018", "results"): 12 * 3, ("iaas-2018", "bonnie"): 2 * 3,
        ("iaas-2018", "azure-caching"): 1, ("iaas-2018", "before-the-fall"): 3,
        ("iaas-2018", "after-the-fall"): 3, ("iaas-2018", "freenas-local"): 1,
        ("azure-caching", "latencies"): 11 * 3, ("ebs-types", "m3.medium-read"): 7 * 2,
        ("ebs-types", "m3.medium-write"): 7, ("ebs-types", "c3.8xlarge-read"): 7 * 2,
        ("ebs-types", "c3.8xlarge-write"): 7, ("san-vs-local", "stated"): 6,
        ("san-vs-local", "aberrant"): 2, ("ebs-fio", "fio"): 4,
    }  # fmt: skip
    assert len({f.id for f in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert re.fullmatch(r"[a-z0-9.-]+(/[a-zA-Z0-9.-]+){3}", figure.id)
        assert figure.id.startswith(f"{figure.seed}/{figure.table}/")


def test_some_cells_are_as_the_posts_print_them():
    assert only("iaas-2018/results/gp2/iops").value == 3634
    assert only("iaas-2018/results/nvme-ssd/read").value == 1_614_000_000
    assert only("iaas-2018/results/io1-1000/iops").stddev == 1.8
    assert only("iaas-2018/bonnie/samsung/bonnie-seeks").printed == "981"
    assert only("azure-caching/latencies/hdd/write-max").value == 464_461_000
    assert only("azure-caching/latencies/ssd-cached/device-cache-write-mean").value == 456_000
    assert only("ebs-types/m3.medium-write/root-gp2/write").printed_samples[0] == "1200"
    assert only("ebs-types/c3.8xlarge-read/io1-5000/buffered").printed == "353.584"
    assert only("san-vs-local/aberrant/sata/stat-rand").value == 460_000
    assert only("ebs-fio/fio/gp2/write-250m").value == 655


def test_a_value_is_what_was_printed_in_our_unit_or_the_mean_of_five_samples():
    for figure in FIGURES:
        scale, metrics = UNITS[figure.unit]
        assert figure.metric in metrics, figure.id
        pairs = [
            (figure.value, figure.printed),
            *zip(figure.samples, figure.printed_samples, strict=True),
        ]
        for value, printed in pairs:
            assert value == pytest.approx(number(printed) * scale, abs=0.5), figure.id
    of_five = [f for f in FIGURES if f.seed == "ebs-types"]
    assert all(len(f.samples) == f.n == 5 and f.statistic == "mean" for f in of_five)
    for figure in of_five:
        assert figure.value == pytest.approx(fmean(figure.samples), rel=1e-6), figure.id


def test_each_names_its_source_and_is_dated_or_said_not_to_be():
    for seed in SEEDS:
        source = yaml.safe_load(text_of(seed))["source"]
        assert source["title"]
        assert re.fullmatch(r"\d{3}_[0-9a-f]{16}\.txt", source["file"])
        assert source["date"] or source["undated"]


def test_the_workload_of_each_is_a_step_of_a_shipped_profile_with_its_parameters():
    for profile, step in {(f.profile, f.step) for f in FIGURES}:
        assert f"[{step}]" in shipped_profile(profile).template
    for figure in FIGURES:
        known = {parameter.name for parameter in shipped_profile(figure.profile).parameters}
        assert set(figure.parameters) <= known, figure.id


def test_disk_types_of_clouds_are_those_of_the_catalogue():
    from diskbench.catalog.lookup import disk_types

    for figure in FIGURES:
        if figure.provider in CLOUD_TYPES:
            assert figure.disk_type in disk_types(figure.provider), figure.id


def test_what_nobody_should_believe_is_doubted():
    """The two that the verdict must see through, and what memory answered."""
    assert only("san-vs-local/aberrant/sata/stat-seq").doubt.code == "served-from-cache"
    assert only("san-vs-local/aberrant/sata/stat-rand").doubt.code == "served-from-cache"
    assert only("iaas-2018/bonnie/samsung/bonnie-seeks").doubt.code == "client-bound"
    for figure in FIGURES:
        if figure.step == "cached-reads-T" or figure.cache == "readwrite":
            assert figure.doubt.code == "served-from-cache", figure.id


def test_an_id_may_be_given_up_to_any_slash():
    figure = only("iaas-2018/results/gp2/iops")
    for prefix in prefixes(figure.id):
        assert figure in find_published(prefix)
        assert find_published(f"{prefix}/") == find_published(prefix)
    assert len(find_published("iaas-2018/results/gp2")) == 3


@pytest.mark.parametrize("name", ["", "/", "iaas", "iaas-2018/results/gp3", "iaas-2018/res"])
def test_an_unknown_id_is_refused(name):
    with pytest.raises(UnknownName, match="published figure"):
        find_published(name)


def test_filters_take_post_provider_and_disk():
    assert {f.seed for f in filtered(FIGURES, seed="ebs-fio")} == {"ebs-fio"}
    assert {f.provider for f in filtered(FIGURES, provider="gcp")} == {"gcp"}
    assert {f.disk_type for f in filtered(FIGURES, disk="pd-ssd")} == {"pd-ssd"}
    assert {f.disk for f in filtered(FIGURES, disk="samsung")} == {
        "NVMe SSD (Samsung 960 PRO)",
        "Samsung 960 PRO 2TB NVMe",
    }
    assert filtered(FIGURES, seed="ebs-fio", provider="gcp") == ()


@pytest.mark.parametrize("wanted", [{"seed": "x"}, {"provider": "x"}, {"disk": "gp9"}])
def test_filters_refuse_what_is_not_there(wanted):
    with pytest.raises(UnknownName, match="known:"):
        filtered(FIGURES, **wanted)


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda d: d["tables"][0]["rows"][0].update(disk="tape"), "no disk 'tape'"),
        (lambda d: d["tables"][0]["rows"][0].update(machine="pc"), "no machine 'pc'"),
        (lambda d: d["workloads"].pop("read-25m"), "no workload 'read-25m'"),
        (lambda d: d["workloads"]["read-250m"].update(unit="ms"), "ms is not a unit of iops"),
        (lambda d: d["source"].pop("undated"), "a source has a date"),
        (lambda d: d["tables"][0]["rows"][0]["figures"]["read-25m"].pop("printed"), "printed"),
        (
            lambda d: d["tables"][0]["rows"][0]["figures"]["read-25m"].update(samples=[1.0]),
            "as many samples as printed ones",
        ),
    ],
)
def test_a_file_with_a_fault_is_refused_and_says_which(break_it, told):
    data = yaml.safe_load(text_of("ebs-fio"))
    break_it(data)
    with pytest.raises(InvalidValue, match=re.escape(told)):
        parse_post(data, "ebs-fio")


def test_the_frame_has_the_documented_columns_and_a_row_a_figure():
    frame = diskbench.load_published()
    assert {name: str(kind) for name, kind in frame.schema.items()} == documented("load_published")
    assert frame.columns == list(documented("load_published"))
    (row,) = frame.filter(frame["id"] == "iaas-2018/bonnie/samsung/bonnie-seeks").to_dicts()
    assert (row["doubt"], row["date"], row["value"]) == ("client-bound", "2018-03-16", 981)
    assert frame["id"].to_list() == [figure.id for figure in load_published()]
    (gp2,) = frame.filter(id="iaas-2018/results/gp2/iops").to_dicts()
    assert (gp2["value"], gp2["printed"], gp2["n"], gp2["doubt"]) == (3634, "3634", 10, "burst")
    (write,) = frame.filter(id="ebs-types/m3.medium-write/st1/write").to_dicts()
    assert write["samples"] == [37_200_000] * 5
    assert json.loads(write["parameters"]) == {"bs": 4096, "count": 102400}


GP2 = RunSubject(
    profile="gobonniego", cloud="aws", disk_type="gp2", size_gib=20, instance_type="c4.xlarge",
    region="us-east-1",
)  # fmt: skip


def asked_as(figure, **changes) -> RunSubject:
    """A run of exactly what a figure was of."""
    same = RunSubject(
        profile=figure.profile, parameters=dict(figure.parameters), cloud=figure.provider,
        disk_type=figure.disk_type, size_gib=figure.size_gib, iops=figure.provisioned_iops,
        cache=figure.cache, instance_type=figure.instance_type, region=figure.region,
        memory_gib=figure.memory_gib,
    )  # fmt: skip
    return dataclasses.replace(same, **changes)


def taken(asked: RunSubject) -> set[str]:
    return {group(figure) for figure in match(asked, FIGURES).figures}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_run_of_the_same_disk_and_workload_gets_the_figure(figure):
    assert figure in match(asked_as(figure), FIGURES).figures


def test_of_machines_that_match_the_same_one_is_taken_and_others_part_no_figures():
    assert taken(dataclasses.replace(GP2, instance_type="m7i.large")) == {"iaas-2018/results/gp2"}
    st1 = RunSubject(profile="hdparm", cloud="aws", disk_type="st1", size_gib=500)
    assert len(taken(st1)) == 2
    same = dataclasses.replace(st1, instance_type="c3.8xlarge")
    assert taken(same) == {"ebs-types/c3.8xlarge-read/st1"}


@pytest.mark.parametrize(
    ("changes", "criterion"),
    [
        ({"profile": "quick"}, "workload"), ({"cloud": "azure"}, "cloud"),
        ({"disk_type": "gp3"}, "disk type"), ({"disk_type": None}, "disk type"),
        ({"size_gib": 41}, "size"), ({"size_gib": 9.9}, "size"),
    ],
)  # fmt: skip
def test_a_run_parts_from_a_figure_at_the_first_thing_that_differs(changes, criterion):
    (figure,) = find_published("iaas-2018/results/gp2/iops")
    assert part(dataclasses.replace(GP2, **changes), figure).criterion == criterion


@pytest.mark.parametrize("size", [10, 20, 40])
def test_sizes_within_a_factor_of_two_are_the_same_disk(size):
    assert taken(dataclasses.replace(GP2, size_gib=size)) == {"iaas-2018/results/gp2"}


def test_caching_provisioned_iops_and_parameters_part_figures():
    hdd = RunSubject(profile="diskspd", cloud="azure", disk_type="Standard_LRS", size_gib=64)
    assert taken(dataclasses.replace(hdd, cache="none")) == {"azure-caching/latencies/hdd"}
    cached = dataclasses.replace(hdd, cache="readwrite")
    assert taken(cached) == {"azure-caching/latencies/hdd-cached"}
    assert "caching" in match(dataclasses.replace(hdd, cache="readonly"), FIGURES).why_not
    io1 = RunSubject(profile="hdparm", cloud="aws", disk_type="io1", iops=400)
    assert {name.rpartition("/")[2] for name in taken(io1)} == {"io1-400"}
    small = RunSubject("ebs-randrw", {"size": 25 * 2**20}, cloud="aws", disk_type="gp2", size_gib=8)
    assert {figure.value for figure in match(small, FIGURES).figures} == {5000, 1300}
    large = dataclasses.replace(small, parameters={"size": 250 * 2**20})
    assert {figure.value for figure in match(large, FIGURES).figures} == {2600, 655}


@pytest.mark.parametrize(
    ("asked", "told", "nearest"),
    [
        ({"profile": "quick", "cloud": "aws", "disk_type": "gp2"}, "profile quick", None),
        ({"size_gib": 20.0}, "not known", None),
        ({"cloud": "oci", "disk_type": "block"}, "on a disk of oci", None),
        ({"cloud": "aws", "disk_type": "gp3", "size_gib": 20}, "gp3 of aws", "standard"),
        ({"cloud": "gcp", "disk_type": "pd-ssd", "size_gib": 1000}, "other sizes", "pd-ssd-256"),
        ({"cloud": "gcp", "disk_type": "pd-ssd", "size_gib": 5}, "other sizes", "pd-ssd-20"),
    ],
)
def test_where_nothing_matches_the_reason_and_the_nearest_are_told(asked, told, nearest):
    found = match(RunSubject(**{"profile": "gobonniego", **asked}), FIGURES)
    assert (found.figures, told in found.why_not) == ((), True)
    assert 1 <= len(found.nearest) <= NEAREST
    assert nearest is None or found.nearest[0].name == f"iaas-2018/results/{nearest}"
    assert all(find_published(one.name) and one.why for one in found.nearest)


anything = st.builds(
    RunSubject,
    profile=st.sampled_from(sorted({f.profile for f in FIGURES} | {"quick"})),
    cloud=st.sampled_from([None, "aws", "azure", "gcp", "vsphere", "ssh", "oci"]),
    disk_type=st.none() | st.sampled_from(sorted({f.disk_type for f in FIGURES} | {"gp3"})),
    size_gib=st.none() | st.floats(0.01, 65536),
    iops=st.none() | st.floats(1, 300000),
    cache=st.sampled_from([None, "none", "readonly", "readwrite"]),
    instance_type=st.none() | st.sampled_from(["c4.xlarge", "m3.medium", "x"]),
)


@settings(max_examples=40, deadline=None)
@given(anything)
def test_it_is_always_figures_of_the_same_disk_and_workload_or_a_reason(asked):
    found = match(asked, FIGURES)
    assert bool(found.figures) != bool(found.why_not)
    assert bool(found.figures) != bool(found.nearest)
    assert not {group(f) for f in found.figures} & {one.name for one in found.nearest}
    for figure in match(asked, FIGURES).figures:
        assert figure.profile == asked.profile
        assert (figure.provider, figure.disk_type) == (asked.cloud, asked.disk_type)
        if figure.size_gib and asked.size_gib:
            bigger, smaller = sorted((figure.size_gib, asked.size_gib), reverse=True)
            assert bigger <= FACTOR * smaller * (1 + 1e-9)
