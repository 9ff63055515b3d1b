"""`diskbench catalog`: disks, instances, show."""

import json
from functools import partial

import pytest
from tests.books import SHIPPED
from tests.rigs.cli import printed

from diskbench.catalog.entry import clouds
from diskbench.catalog.listing import disk_entries, find, machine_rows
from diskbench.catalog.lookup import disk_types
from diskbench.errors import InvalidValue

told = partial(printed, "catalog")


def test_disks_lists_every_type_of_every_cloud_or_of_one():
    text = told("disks")
    for cloud in clouds():
        for name in disk_types(cloud):
            assert name in text
    assert "3/GiB, 100–16,000;" in text
    document = json.loads(told("disks", "--provider", "gcp", "--output", "json"))
    assert (document["format"], {one["cloud"] for one in document["disks"]}) == (1, {"gcp"})
    assert "Premium_LRS" not in told("disks", "--provider", "gcp")


def test_the_document_of_disks_carries_every_figure_with_its_source():
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


def test_show_tells_each_figure_with_its_source_and_date_and_a_tier_without_the_others():
    text = told("show", "gp2")
    assert "iops_burst: fixed 3,000, capacity 5,400,000" in text
    assert text.count("(2023-05-11)") > 2
    assert "usd a month: per_gib 0.1" in text
    text = told("show", "p10")
    assert "P10: gib 128, iops 500, throughput 100" in text
    assert "P15:" not in text


def test_show_finds_machines_parts_and_titles_by_any_case():
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
def test_every_name_that_is_listed_can_be_shown_and_every_figure_has_a_source():
    disks = [name for _, name, _ in disk_entries()]
    for name in (*disks, *(row.type for row in machine_rows(SHIPPED))):
        for thing in find(SHIPPED, name):
            assert thing.lines, name
            for line, _, source in thing.lines:
                assert source or line == "speed", (name, line)
