"""Which published figures a run is set beside, and why none is."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.catalog.published.figures import find_published, load_published
from diskbench.catalog.published.match import FACTOR, NEAREST, RunSubject, group, match, part

FIGURES = load_published()
GP2 = RunSubject(
    profile="gobonniego",
    cloud="aws",
    disk_type="gp2",
    size_gib=20,
    instance_type="c4.xlarge",
    region="us-east-1",
)


def asked_as(figure, **changes) -> RunSubject:
    """A run of exactly what a figure was of."""
    same = RunSubject(
        profile=figure.profile,
        parameters=dict(figure.parameters),
        cloud=figure.provider,
        disk_type=figure.disk_type,
        size_gib=figure.size_gib,
        iops=figure.provisioned_iops,
        cache=figure.cache,
        instance_type=figure.instance_type,
        region=figure.region,
        memory_gib=figure.memory_gib,
    )
    return dataclasses.replace(same, **changes)


def taken(asked: RunSubject) -> set[str]:
    return {group(figure) for figure in match(asked, FIGURES).figures}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_run_of_the_same_disk_and_workload_gets_the_figure(figure):
    assert figure in match(asked_as(figure), FIGURES).figures


def test_a_gp2_of_20_gib_gets_the_figures_of_that_disk_and_no_other():
    assert taken(GP2) == {"iaas-2018/results/gp2"}


def test_other_machines_do_not_part_figures():
    assert taken(dataclasses.replace(GP2, instance_type="m7i.large")) == {"iaas-2018/results/gp2"}


def test_of_two_machines_that_match_the_same_one_is_taken():
    st1 = RunSubject(profile="hdparm", cloud="aws", disk_type="st1", size_gib=500)
    assert len(taken(st1)) == 2
    same = dataclasses.replace(st1, instance_type="c3.8xlarge")
    assert taken(same) == {"ebs-types/c3.8xlarge-read/st1"}


@pytest.mark.parametrize(
    ("changes", "criterion"),
    [
        ({"profile": "quick"}, "workload"),
        ({"cloud": "azure"}, "cloud"),
        ({"disk_type": "gp3"}, "disk type"),
        ({"disk_type": None}, "disk type"),
        ({"size_gib": 41}, "size"),
        ({"size_gib": 9.9}, "size"),
    ],
)
def test_a_run_parts_from_a_figure_at_the_first_thing_that_differs(changes, criterion):
    (figure,) = find_published("iaas-2018/results/gp2/iops")
    where = part(dataclasses.replace(GP2, **changes), figure)
    assert where is not None
    assert where.criterion == criterion


@pytest.mark.parametrize("size", [10, 20, 40])
def test_sizes_within_a_factor_of_two_are_the_same_disk(size):
    assert taken(dataclasses.replace(GP2, size_gib=size)) == {"iaas-2018/results/gp2"}


def test_host_caching_parts_figures_of_azure():
    hdd = RunSubject(profile="diskspd", cloud="azure", disk_type="Standard_LRS", size_gib=64)
    assert taken(dataclasses.replace(hdd, cache="none")) == {"azure-caching/latencies/hdd"}
    cached = dataclasses.replace(hdd, cache="readwrite")
    assert taken(cached) == {"azure-caching/latencies/hdd-cached"}
    assert "caching" in match(dataclasses.replace(hdd, cache="readonly"), FIGURES).why_not


def test_provisioned_iops_part_figures_of_io1():
    io1 = RunSubject(profile="hdparm", cloud="aws", disk_type="io1", iops=400)
    assert {name.rpartition("/")[2] for name in taken(io1)} == {"io1-400"}


def test_parameters_part_the_two_fio_lines():
    small = RunSubject("ebs-randrw", {"size": 25 * 2**20}, cloud="aws", disk_type="gp2", size_gib=8)
    figures = match(small, FIGURES).figures
    assert {figure.value for figure in figures} == {5000, 1300}
    large = dataclasses.replace(small, parameters={"size": 250 * 2**20})
    assert {figure.value for figure in match(large, FIGURES).figures} == {2600, 655}


@pytest.mark.parametrize(
    ("asked", "told", "nearest"),
    [
        (RunSubject("quick", cloud="aws", disk_type="gp2"), "profile quick", None),
        (RunSubject("gobonniego", size_gib=20.0), "not known", None),
        (RunSubject("gobonniego", cloud="oci", disk_type="block"), "on a disk of oci", None),
        (
            RunSubject("gobonniego", cloud="aws", disk_type="gp3", size_gib=20),
            "gp3 of aws",
            "iaas-2018/results/standard",
        ),
        (
            RunSubject("gobonniego", cloud="gcp", disk_type="pd-ssd", size_gib=1000),
            "other sizes",
            "iaas-2018/results/pd-ssd-256",
        ),
        (
            RunSubject("gobonniego", cloud="gcp", disk_type="pd-ssd", size_gib=5),
            "other sizes",
            "iaas-2018/results/pd-ssd-20",
        ),
    ],
)
def test_where_nothing_matches_the_reason_and_the_nearest_are_told(asked, told, nearest):
    found = match(asked, FIGURES)
    assert found.figures == ()
    assert told in found.why_not
    assert 1 <= len(found.nearest) <= NEAREST
    assert nearest is None or found.nearest[0].name == nearest
    assert all(find_published(one.name) and one.words for one in found.nearest)


def test_beside_no_figures_nothing_matches():
    assert match(GP2, ()).why_not == "nothing is published"


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
def test_it_is_always_figures_or_a_reason(asked):
    found = match(asked, FIGURES)
    assert bool(found.figures) != bool(found.why_not)
    assert bool(found.figures) != bool(found.nearest)
    assert not {group(f) for f in found.figures} & {one.name for one in found.nearest}


@settings(max_examples=40, deadline=None)
@given(anything)
def test_what_is_taken_is_of_the_same_disk_and_workload(asked):
    for figure in match(asked, FIGURES).figures:
        assert figure.profile == asked.profile
        assert (figure.provider, figure.disk_type) == (asked.cloud, asked.disk_type)
        if figure.size_gib and asked.size_gib:
            bigger, smaller = sorted((figure.size_gib, asked.size_gib), reverse=True)
            assert bigger <= FACTOR * smaller * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(anything, st.randoms())
def test_the_order_of_figures_does_not_matter(asked, random):
    shuffled = list(FIGURES)
    random.shuffle(shuffled)
    ids = {figure.id for figure in match(asked, FIGURES).figures}
    assert {figure.id for figure in match(asked, shuffled).figures} == ids
