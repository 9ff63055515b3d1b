"""What makes no stripe is said before any host is asked."""

import pytest
from tests.rigs.fake_host import FakeHost, Fault

from diskbench.errors import InvalidValue
from diskbench.hosts.device import DeviceProof
from diskbench.hosts.stripe import stripe, stripe_uuid

TRIAL = "01jd0000000000000000000001"


def member(name, size_bytes=2**30, path=None):
    path = path or f"/dev/{name}"
    return DeviceProof(path=path, number="-", identity=f"vol-{name}", size_bytes=size_bytes)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([], "two or more disks, not 0"),
        ([member("a")], "two or more disks, not 1"),
        ([member("a"), member("a")], "names one disk twice"),
        ([member("a"), member("b", 2**31)], "1,073,741,824 and 2,147,483,648 bytes"),
        ([member("a"), member("b", path="/dev/b c")], "not the name of a disk"),
        ([member("a"), member("b", path="/dev/b\t-\tx")], "not the name of a disk"),
    ],
)
def test_disks_that_make_no_stripe_are_refused(members, why):
    with pytest.raises(InvalidValue, match=why):
        stripe(FakeHost(faults=[Fault("refuse")]), TRIAL, members)


def test_a_trials_array_is_known_by_a_uuid_of_its_own_that_never_changes():
    assert stripe_uuid(TRIAL) == "58ca45ea-e72b-5b81-9607-229212b09784"
    assert stripe_uuid(TRIAL) != stripe_uuid(TRIAL[:-1] + "2")
