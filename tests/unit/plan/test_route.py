"""Which cells a worker can reach."""

import pytest

from diskbench.errors import InvalidValue, UnknownName
from diskbench.plan.route import EVERYWHERE, read_patterns, serves


@pytest.mark.parametrize(
    ("patterns", "route", "does"),
    [
        (EVERYWHERE, "aws", True),
        (EVERYWHERE, "vsphere/site-a", True),
        (("aws",), "aws", True),
        (("aws",), "aws/site-a", True),
        (("aws/*",), "aws", True),
        (("aws/*",), "aws/site-a", True),
        (("aws",), "azure", False),
        (("vsphere/site-a",), "vsphere/site-a", True),
        (("vsphere/site-a",), "vsphere/site-b", False),
        (("vsphere/site-a",), "vsphere", False),
        (("vsphere/site-?",), "vsphere/site-b", True),
        (("aws", "vsphere/site-a"), "vsphere/site-a", True),
        ((), "aws", False),
    ],
)
def test_a_worker_serves_the_routes_that_its_patterns_name(patterns, route, does):
    assert serves(patterns, route) is does


def test_patterns_are_read_from_one_text_each_once():
    assert read_patterns(" aws/* ,vsphere/site-a,aws/*", ["aws", "vsphere"]) == (
        "aws/*",
        "vsphere/site-a",
    )


def test_a_pattern_of_no_provider_is_told_with_the_nearest():
    with pytest.raises(UnknownName) as raised:
        read_patterns("aws,vspere/site-a", ["aws", "vsphere"])
    assert "vspere" in raised.value.message
    assert "vsphere" in raised.value.advice


def test_no_pattern_at_all_is_refused():
    with pytest.raises(InvalidValue):
        read_patterns(" , ", ["aws"])
