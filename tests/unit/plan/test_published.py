"""Trials beside published figures, and verdicts on published figures."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.books import SHIPPED
from tests.rigs.plans import make_plan
from tests.rigs.runs import bare_run

from diskbench.catalog.published import find_published, load_published
from diskbench.engine.matrix.matrix_file import load_matrix
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.run import GOBONNIEGO_FILE
from diskbench.plan import published
from diskbench.plan.matrix import expand
from diskbench.plan.published import RunSubject, asked_of, matching, nearest, part
from diskbench.providers.azure.plugin import AzureOptions

FIGURES = load_published()
ROW = bare_run(
    provider="ssh", profile="gobonniego", parameters={"workers": 4}, cloud="aws",
    memory_bytes=8 * 2**30, disk_size_bytes=20 * 2**30, size_bytes=2**30, instance_type="c4.xlarge",
)  # fmt: skip


def rented(provider, spec, *, cloud=None, iops=None):
    typed = (spec.disk or "").removeprefix("root:") or spec.text("datastore")
    disk = DiskSpec(type=typed, size_gib=spec.size_gib or 20, iops=iops)
    scope = Scope(provider=provider, region=spec.region)
    return make_plan(rental=Rental(scope=scope, spec=spec, cloud=cloud, offer="", disk=disk))


def test_what_was_not_rented_has_a_size_and_no_type_and_an_import_its_profile():
    asked = asked_of(ROW, make_plan())
    assert (asked.cloud, asked.disk_type, asked.size_gib) == ("aws", None, 20)
    assert (asked.memory_gib, asked.instance_type) == (8, "c4.xlarge")
    assert asked_of(replace(ROW, cloud=None), None).cloud == "ssh"
    row = replace(ROW, provider=GOBONNIEGO_FILE, profile="gp2.json")
    assert asked_of(row, None).profile == "gobonniego"
    # A disk of the lab is of the cloud that it imitates.
    spec = RentSpec(disk="gp2", size_gib=20)
    asked = asked_of(replace(ROW, provider="lab"), rented("lab", spec, cloud="aws"))
    assert (asked.cloud, asked.disk_type, asked.size_gib) == ("aws", "gp2", 20)


@pytest.mark.parametrize(
    ("said", "disk"),
    [
        ("aws:gp2:20", ("aws", "gp2", 20, None, None)),
        ("aws:io1:100:iops=1000", ("aws", "io1", 100, 1000, None)),
        ("azure:Premium_LRS:256:cache=read-only", ("azure", "Premium_LRS", 256, None, "readonly")),
        ("azure:Premium_LRS:256", ("azure", "Premium_LRS", 256, None, "none")),
    ],
)
def test_an_imported_run_is_of_the_disk_that_it_was_said_to_be_of(said, disk):
    labels = {"as_disk": said, "as_machine": "c5.large"}
    asked = asked_of(replace(ROW, provider=GOBONNIEGO_FILE, labels=labels), None)
    assert ((asked.cloud, asked.disk_type, asked.size_gib, asked.iops, asked.cache)) == disk
    assert (asked.instance_type, asked.profile, asked.by_tool) == ("c5.large", "gobonniego", True)


def test_a_disk_of_azure_has_the_host_cache_that_was_typed_or_none():
    def cache_of(disk, typed=None):
        spec = RentSpec(disk=disk, size_gib=64, azure=AzureOptions(cache=typed))
        return asked_of(ROW, rented("azure", spec)).cache

    assert cache_of("Premium_LRS") == "none"
    assert cache_of("Premium_LRS", "ReadWrite") == "readwrite"
    assert cache_of("temp-disk") is cache_of("root:Premium_LRS") is None


def matched(name):
    """The published disks that the cells of a shipped matrix are set beside, in its order."""
    found = []
    for one in expand(load_matrix(name).matrix, seed=1):
        spec = one.cell.rent
        if spec is None or one.cell.replicate:
            continue
        row = {"profile": one.cell.profile, "parameters": {}, "instance_type": spec.instance_type}
        asked = asked_of(replace(ROW, **row), rented(one.cell.provider, spec, iops=spec.iops))
        figures = matching(asked, FIGURES)
        assert figures, one.key
        found.append({figure.group for figure in figures})
    return found


@pytest.mark.parametrize("name", ["iaas-2018", "azure-caching", "ebs-types", "san-vs-local"])
def test_every_disk_of_a_matrix_that_repeats_a_post_has_its_figures(name):
    assert set().union(*matched(name)) >= {
        figure.group
        for figure in FIGURES
        if figure.seed == name and figure.table in ("results", "latencies")
    }
    assert all(any(one.startswith(name) for one in names) for names in matched(name))


def only(name):
    (figure,) = find_published(name)
    return published.published_verdict(figure, SHIPPED)


@pytest.mark.parametrize("figure", find_published("san-vs-local/aberrant"), ids=lambda f: f.step)
def test_what_no_sata_link_carries_is_served_from_cache(figure):
    found = published.published_verdict(figure, SHIPPED)
    assert found.words() == "no: served from cache"
    assert found.stands_for.limiter.name == "page-cache"
    assert "146,484" in found.stands_for.limiter.evidence[0]


def test_one_thread_that_fills_a_core_makes_a_figure_doubtful_and_a_faster_core_is_believed():
    found = only("iaas-2018/bonnie/samsung/bonnie-seeks")
    assert found.stands_for.iops == 981
    assert found.words() == "with care: CPU limit of the load generator"
    assert found.stands_for.limiter.name == "client"
    busy, share = found.stands_for.limiter.evidence
    assert busy == "the busiest core was 100 % busy (limit 90 %)"
    assert share == "the load generator's share of it is unknown"
    assert only("iaas-2018/bonnie/crucial/bonnie-seeks").trust == "yes"


@pytest.mark.parametrize("disk", ["standard", "gp2", "io1-1000"])
def test_reads_on_a_c4_xlarge_met_its_path_to_ebs(disk):
    assert only(f"iaas-2018/results/{disk}/read").stands_for.limiter.name == "vm-throughput"


def test_more_than_was_promised_is_not_to_be_planned_with_and_a_san_is_as_fast_as_its_line():
    found = only("iaas-2018/results/standard/iops")
    assert (found.trust, found.stands_for.limiter.name) == ("with care", "unknown")
    assert [one.code for one in found.reasons] == ["above-promise"]
    assert only("san-vs-local/stated/san/block-read").stands_for.limiter.name == "network"


@pytest.mark.slow
def test_what_a_post_doubts_itself_is_kept():
    for figure in FIGURES:
        found = published.published_verdict(figure, SHIPPED)
        if figure.doubt is not None:
            assert figure.doubt.code in {one.code for one in found.reasons}, figure.id
        else:
            found_by_rules = {one.code for one in found.reasons if one.weight != "note"}
            assert found_by_rules <= {"above-promise", "below-promise", "too-short"}, figure.id


GP2 = RunSubject(
    profile="gobonniego", cloud="aws", disk_type="gp2", size_gib=20, instance_type="c4.xlarge",
    region="us-east-1",
)  # fmt: skip


ST1 = RunSubject(profile="hdparm", cloud="aws", disk_type="st1", size_gib=500)
IO1 = RunSubject(profile="hdparm", cloud="aws", disk_type="io1", iops=400)
HDD = RunSubject(profile="diskspd", cloud="azure", disk_type="Standard_LRS", size_gib=64)
SMALL, LARGE = (
    RunSubject("ebs-randrw", {"size": mib * 2**20}, cloud="aws", disk_type="gp2", size_gib=8)
    for mib in (25, 250)
)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_run_of_the_same_disk_and_workload_gets_the_figure(figure):
    same = RunSubject(
        profile=figure.profile, parameters=dict(figure.parameters), cloud=figure.provider,
        disk_type=figure.disk_type, size_gib=figure.size_gib, iops=figure.provisioned_iops,
        cache=figure.cache, instance_type=figure.instance_type,
    )  # fmt: skip
    assert figure in matching(same, FIGURES)


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        *((replace(GP2, size_gib=size), ["results/gp2"]) for size in (10, 20, 40)),
        (replace(GP2, instance_type="m7i.large"), ["results/gp2"]),
        (ST1, ["c3.8xlarge-read/st1", "m3.medium-read/st1"]),
        (replace(ST1, instance_type="c3.8xlarge"), ["c3.8xlarge-read/st1"]),
        (IO1, ["c3.8xlarge-read/io1-400", "m3.medium-read/io1-400"]),
        (replace(HDD, cache="none"), ["latencies/hdd"]),
        (replace(HDD, cache="readwrite"), ["latencies/hdd-cached"]),
        (replace(HDD, cache="readonly"), []),
    ],
)
def test_size_machine_caching_and_provisioned_iops_choose_the_figures(asked, taken):
    found = {figure.group.partition("/")[2] for figure in matching(asked, FIGURES)}
    assert sorted(found) == taken


@pytest.mark.parametrize(("asked", "values"), [(SMALL, {5000, 1300}), (LARGE, {2600, 655})])
def test_parameters_part_figures(asked, values):
    assert {figure.value for figure in matching(asked, FIGURES)} == values


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
    assert part(replace(GP2, **changes), figure)[0] == criterion


@pytest.mark.parametrize(
    ("asked", "told", "nearby"),
    [
        ({"profile": "quick", "cloud": "aws", "disk_type": "gp2"}, "profile quick", None),
        ({"size_gib": 20.0}, "is unknown", None),
        ({"cloud": "oci", "disk_type": "block"}, "on a disk of oci", None),
        ({"cloud": "aws", "disk_type": "gp3", "size_gib": 20}, "gp3 of aws", "standard"),
        ({"cloud": "gcp", "disk_type": "pd-ssd", "size_gib": 1000}, "other sizes", "pd-ssd-256"),
        ({"cloud": "gcp", "disk_type": "pd-ssd", "size_gib": 5}, "other sizes", "pd-ssd-20"),
        (vars(replace(HDD, cache="readonly")), "other host caching", None),
    ],
)
def test_where_nothing_matches_the_reason_and_the_nearest_are_told(asked, told, nearby):
    subject = RunSubject(**{"profile": "gobonniego", **asked})
    why_not, near = nearest(subject, FIGURES)
    assert (matching(subject, FIGURES), told in why_not) == ((), True)
    assert 1 <= len(near) <= published.NEAREST
    assert nearby is None or near[0].name == f"iaas-2018/results/{nearby}"
    assert all(find_published(one.name) and one.why for one in near)


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
    found = matching(asked, FIGURES)
    why_not, near = nearest(asked, [figure for figure in FIGURES if part(asked, figure)])
    assert why_not
    assert near
    assert not {f.group for f in found} & {one.name for one in near}
    for figure in found:
        assert figure.profile == asked.profile
        assert (figure.provider, figure.disk_type) == (asked.cloud, asked.disk_type)
        if figure.size_gib and asked.size_gib:
            bigger, smaller = sorted((figure.size_gib, asked.size_gib), reverse=True)
            assert bigger <= published.FACTOR * smaller * (1 + 1e-9)
