"""What may be asked of any cloud that rents, and in which words what may not is refused."""

from itertools import product

import pytest

from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.providers.asked import check_count, check_lab, check_ssh, whole_throughput
from diskbench.providers.networks import ssh_cidr
from diskbench.providers.options import EmulationOptions
from diskbench.providers.registry import provider
from diskbench.providers.vsphere.plugin import VsphereOptions

DISKS = {
    "aws": RentSpec(disk="gp2", size_gib=20),
    "azure": RentSpec(disk="Premium_LRS", size_gib=20),
    "fake": RentSpec(disk="plain", size_gib=20),
    "gcp": RentSpec(disk="pd-ssd", size_gib=20),
    "lab": RentSpec(disk="gp2", size_gib=20),
    "vsphere": RentSpec(size_gib=20, vsphere=VsphereOptions(datastore="nvme")),
}
OWNED = {"azure": {"azure": {"cache": "readonly"}}, "vsphere": {"vsphere": {"iops_limit": 500}}}


@pytest.mark.parametrize(
    ("name", "owner"), [(name, owner) for name in DISKS for owner in OWNED if name != owner]
)
def test_what_another_cloud_alone_knows_is_refused_and_not_ignored(name, owner):
    spec = DISKS[name].with_groups({**DISKS[name].groups(), **OWNED[owner]})
    with pytest.raises(InvalidValue, match=f"cannot be used with --provider {name}") as refused:
        check(name, spec)
    assert owner in refused.value.advice


def check(name: str, spec: RentSpec | None = None, **fields: object) -> None:
    target, rent = TargetSpec(kind="device", path=""), spec or DISKS[name]
    rent = rent.model_copy(update=fields)
    provider(name).check(Cell(provider=name, target=target, rent=rent, profile="quick"))


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        *product(("aws", "azure", "gcp"), (
            (("diskbench-lease", "0123456789abcdef"),), (("Diskbench-Owner", "me"),),
            (("team", "x" * 300),), (("k" * 600, "x"),), (("team", "db\n"),),
            tuple((f"key-{number}", "") for number in range(70)), (("team", "a"), ("TEAM", "b")),
        )),
        ("aws", (("Cost Center", "R&D"),)), ("aws", (("Name", "mine"),)),
        ("aws", (("aws:createdBy", "me"),)), ("azure", (("cost?", "1"),)),
        ("azure", (("hidden-title", "1"),)), ("gcp", (("CostCenter", "42"),)),
        ("gcp", (("cost", "R&D"),)), ("gcp", (("1st", "x"),)),
    ],
)  # fmt: skip
def test_a_tag_that_a_cloud_refuses_or_that_is_ours_is_refused_before_renting(name, tags):
    with pytest.raises(InvalidValue, match=r"--tag|\d\d tags"):
        check(name, tags=tags)


def test_tags_that_a_cloud_takes_are_let_through_and_refused_where_nothing_carries_them():
    check("aws", tags=(("Cost Center", "R+D: 42/7"), ("Équipe", "données"), ("env", "")))
    check("azure", tags=(("Cost Center", "R&D <7>"), ("Équipe", "données"), ("env", "")))
    check("gcp", tags=(("cost-center", "r_d-42"), ("env", "")))
    for name in ("lab", "fake"):
        with pytest.raises(InvalidValue, match=f"--tag .*cannot be used with --provider {name}"):
            check(name, tags=(("team", "db"),))


def test_a_stripe_has_several_disks_and_all_fit_the_machine():
    with pytest.raises(InvalidValue, match="needs several disks"):
        check_count(RentSpec(stripe=True), 8)
    for stripe in (True, False):
        with pytest.raises(InvalidValue, match="--count 9 is too many"):
            check_count(RentSpec(count=9, stripe=stripe), 8)
    for let_through in (RentSpec(), RentSpec(count=8, stripe=True), RentSpec(count=8)):
        check_count(let_through, 8)


def test_a_network_for_ssh_is_one_and_counts():
    with pytest.raises(InvalidValue, match="not a network"):
        check_ssh(RentSpec(ssh_cidr="here"), "your rules are")
    with pytest.raises(InvalidValue, match="your rules are not changed"):
        check_ssh(RentSpec(ssh_cidr="::/0", security_group="g"), "your rules are")


def test_throughput_is_sold_whole_and_the_labs_options_are_for_emulated_clouds():
    for typed in (None, 250.0):
        assert whole_throughput(RentSpec(throughput_mib_per_s=typed), "MiB/s") == typed
    with pytest.raises(InvalidValue, match="whole MiB/s"):
        whole_throughput(RentSpec(throughput_mib_per_s=250.7), "MiB/s")
    spec, endpoint = RentSpec(lab=EmulationOptions(noise=0.1)), "http://127.0.0.1:PORT"
    check_lab(spec, emulated=True, endpoint=endpoint)
    with pytest.raises(InvalidValue, match="real machines") as refused:
        check_lab(spec, emulated=False, endpoint=endpoint)
    assert endpoint in refused.value.advice


@pytest.mark.parametrize(
    ("spec", "private", "let_in"),
    [
        (RentSpec(), None, "203.0.113.7/32"),
        (RentSpec(ssh_cidr="198.51.100.0/24"), None, "198.51.100.0/24"),
        (RentSpec(security_group="mine"), None, None),
        (RentSpec(), "https://127.0.0.1:1", "127.0.0.0/8"),
    ],
)
def test_ssh_is_let_in_from_here_unless_said_otherwise(spec, private, let_in):
    assert ssh_cidr(spec, private, lambda: "203.0.113.7/32") == let_in
    # A private cloud sees this machine at an address that must be typed.
    with pytest.raises(InvalidValue, match=r"cloud\.example"):
        ssh_cidr(RentSpec(), "https://cloud.example", lambda: "203.0.113.7/32")
