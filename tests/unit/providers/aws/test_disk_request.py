"""What cannot be had on AWS is refused before any call, with the value and what is allowed; which
machine is good enough for a disk, and which one measures itself."""

import pytest
from tests.books import SHIPPED

from diskbench.catalog.lookup import limits
from diskbench.errors import InvalidValue, UnknownName, UserError
from diskbench.model.options import RentSpec
from diskbench.providers.aws.disk_request import disk_request
from diskbench.providers.aws.offer import candidates, figures, foresee, too_small
from diskbench.providers.options import EmulationOptions
from diskbench.providers.skeleton.offer import needs
from diskbench.units import MIB

GP2 = {"disk": "gp2", "size_gib": 20}
SNAPSHOT = {**GP2, "snapshot": "snap-0123456789abcdef0"}
KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    ("typed", "says", "advises"),
    [
        ({}, "needs a disk", "--disk TYPE"),
        ({"disk": "gp2"}, "--disk gp2 needs a size", "--size GIB"),
        ({"disk": "gp4", "size_gib": 20}, "'gp4'", "did you mean gp"),
        ({"disk": "st1", "size_gib": 10}, "st1: size 10 GiB", "125 to 16,384 GiB"),
        ({"disk": "gp2", "size_gib": 20, "iops": 300}, "not accept --iops", "leave --iops out"),
        ({"disk": "io1", "size_gib": 20}, "io1 needs --iops", "100 to 1,000"),
        ({"disk": "io1", "size_gib": 20, "iops": 5000}, "250 per GiB", "at most 50 per GiB"),
        ({"disk": "gp3", "size_gib": 100, "throughput_mib_per_s": 1000}, "throughput of 1,000",
         "0.25 per IOPS"),
        ({"disk": "gp3", "size_gib": 100, "iops": 100}, "100", "3,000 to 80,000"),
        ({**GP2, "count": 22, "stripe": True}, "--count 22", "at most 21"),
        ({"disk": "root", "count": 2, "stripe": True}, "one root disk", "leave --count out"),
        ({"disk": "root:gp5"}, "'gp5'", "did you mean gp"),
        ({"disk": "root:st1", "size_gib": 125}, "cannot start from st1", "root:gp3"),
        ({"disk": "instance-store", "size_gib": 20}, "--size 20", "--instance-type"),
        ({**GP2, "snapshot": "ami-0123"}, "--from-snapshot 'ami-0123'", "snap-0123456789abcdef0"),
        ({**SNAPSHOT, "count": 2, "stripe": True}, "with --stripe", "leave --stripe out"),
        ({"disk": "instance-store", "snapshot": "snap-01"}, "with --disk instance", "gp3"),
        ({**GP2, "aws": {"initialization_rate": 200}}, "without a snapshot", "--from-snapshot"),
        ({**SNAPSHOT, "aws": {"initialization_rate": 99}}, "99 is not available", "100 to 300"),
        ({**SNAPSHOT, "aws": {"initialization_rate": 301}}, "301 is not available", "100 to 300"),
        ({**GP2, "kms_key": "mine"}, "--kms-key 'mine'", "alias/aws/ebs"),
        ({**GP2, "kms_key": "arn:aws:kms:us-east-1:1:key/x"}, "--kms-key", "alias/aws/ebs"),
        ({**GP2, "region": "nowhere"}, "'nowhere'", "eu-central-1"),
        ({**GP2, "region": "us-east-1", "zone": "us-west-2a"}, "not in", "us-east-1a"),
        ({**GP2, "subnet": "mine"}, "--subnet 'mine'", "subnet-0123456789abcdef0"),
        ({**GP2, "security_group": "mine"}, "--security-group 'mine'", "sg-0123456789abcdef0"),
        ({**GP2, "instance_type": "big"}, "--instance-type 'big'", "m7i.large"),
        ({**GP2, "ssh_cidr": "everywhere"}, "'everywhere' is not a network", "203.0.113.7/32"),
        ({**GP2, "endpoint_url": "localhost:5000"}, "not a URL", "http://HOST:PORT"),
        ({**GP2, "endpoint_url": "http://ec2.example.com"}, "in the clear", "https"),
        ({**GP2, "lab": EmulationOptions(noise=0.1),
          "endpoint_url": "https://ec2.us-east-1.amazonaws.com"}, "real machines",
         "--endpoint-url"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused(typed, says, advises):
    with pytest.raises(UserError) as refused:
        disk_request(RentSpec(**typed))
    assert says in refused.value.message
    assert advises in refused.value.advice


@pytest.mark.parametrize(
    ("typed", "kind", "disk_type"),
    [
        (GP2, "volume", "gp2"),
        ({"disk": "io1", "size_gib": 100, "iops": 5000}, "volume", "io1"),
        ({**GP2, "count": 4, "stripe": True}, "volume", "gp2"),
        ({"disk": "root"}, "root", "gp3"),
        ({"disk": "root", "size_gib": 50, "iops": 4000}, "root", "gp3"),
        ({"disk": "root:gp2", "size_gib": 50}, "root", "gp2"),
        ({"disk": "instance-store"}, "instance-store", "instance-store"),
        ({**GP2, "lab": EmulationOptions(time_scale=60), "endpoint_url": "http://127.0.0.1:5000"},
         "volume", "gp2"),
    ],
)  # fmt: skip
def test_what_can_be_had_is_taken(typed, kind, disk_type):
    asked = disk_request(RentSpec(**typed))
    assert (asked.kind, asked.type) == (kind, disk_type)


def test_a_cell_that_rents_nothing_is_told_how_and_a_misspelt_type_what_there_is():
    with pytest.raises(InvalidValue, match="--disk TYPE --size GIB"):
        disk_request(None)
    with pytest.raises(UnknownName) as refused:
        disk_request(RentSpec(disk="instancestore"))
    assert {"gp2", "root", "instance-store"} <= set(refused.value.known)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        f"mrk-{KEY.replace('-', '')}",
        "alias/aws/ebs",
        f"arn:aws:kms:eu-central-1:123456789012:key/{KEY}",
        f"arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/{KEY}",
        "arn:aws-cn:kms:cn-north-1:123456789012:alias/team/disks",
    ],
)
def test_every_form_that_ec2_takes_names_a_key(key):
    disk_request(RentSpec(**GP2, kms_key=key))


def offered(**more):
    """What is expected for 100 GiB of gp3 in us-east-1."""
    spec = RentSpec(disk="gp3", size_gib=100, region="us-east-1", **more)
    return foresee(SHIPPED, spec, disk_request(spec))


def test_a_snapshot_and_its_fast_restore_cost_and_a_rate_without_a_price_is_named():
    plain, filled = offered(), offered(snapshot_of_fill=True)
    assert filled.hourly_usd == pytest.approx(plain.hourly_usd + 0.05 * 100 / 730)
    restored = offered(snapshot_of_fill=True, aws={"fast_snapshot_restore": True})
    (fast,) = [part for part in restored.prices if part.name.startswith("fast restore")]
    assert (fast.hourly_usd, fast.minimum_s) == (0.75, 3600)
    rated = offered(snapshot_of_fill=True, aws={"initialization_rate": 200})
    (unknown,) = [part.name for part in rated.prices if part.hourly_usd is None]
    assert unknown == "loading at 200 MiB/s"
    loads = [one.loads_bytes_per_s for one in (plain, filled, restored, rated)]
    assert loads == [None, 0.0, None, 200 * MIB]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"snapshot": "snap-0123"}, "--from-snapshot snap-0123 names one"),
        ({"disk": "instance-store", "size_gib": None}, "cannot be used with --disk instance-store"),
        ({"stripe": True, "count": 2}, "--snapshot-of-fill cannot be used with --stripe"),
        ({"aws": {"fast_snapshot_restore": True, "initialization_rate": 200}},
         "--fast-snapshot-restore is for"),
    ],
)  # fmt: skip
def test_a_snapshot_that_cannot_be_filled_is_refused(more, says):
    asked = {"disk": "gp3", "size_gib": 100, "snapshot_of_fill": True, **more}
    with pytest.raises(InvalidValue, match=says):
        disk_request(RentSpec(**asked))


BOOK = SHIPPED.of("aws")


def test_disks_need_a_fifth_more_of_their_machine_than_the_sum_of_their_ceilings():
    one, four = needs(limits("aws", "gp2", 20)), needs(limits("aws", "gp2", 20), 4)
    assert one == pytest.approx((3600, 1.2 * 128 * 2**20 / 1e6))
    assert four == pytest.approx((4 * one[0], 4 * one[1]))


@pytest.mark.parametrize(
    ("disk", "size", "iops", "chosen"),
    [
        ("gp2", 20, None, "c6in.large"),  # 161 MB/s: an m5.large sustains 81
        ("gp2", 256, None, "c6in.xlarge"),  # 250 MiB/s
        ("gp3", 100, None, "c6in.large"),
        ("io1", 100, 400, "c6in.large"),  # 100 MiB/s
        ("io1", 100, 5000, "c6in.2xlarge"),  # 500 MiB/s
    ],
)
def test_the_default_is_the_cheapest_machine_whose_baseline_is_enough(disk, size, iops, chosen):
    need = needs(limits("aws", disk, size, iops))
    assert candidates(BOOK, need, arch="x86_64")[0] == chosen
    entry = BOOK.machines.types[chosen]
    assert entry.iops >= need[0]
    assert entry.mb_per_s >= need[1]


@pytest.mark.parametrize(
    "asked", [{}, {"arch": "arm64"}, {"disks": 30}, {"local_disks": 1}], ids=str
)
def test_candidates_are_of_today_and_fit_the_cheapest_first(asked):
    options = {"arch": "x86_64", **asked}
    names = candidates(BOOK, (0.0, 0.0), **options)
    prices = [BOOK.prices.machine_hourly_usd(name) or 0.0 for name in names]
    assert prices == sorted(prices)
    assert names
    for name in names:
        entry = BOOK.machines.types[name]
        assert (entry.current, entry.burstable, entry.arch) == (True, False, options["arch"]), name
        assert entry.vcpus >= 2, name
        assert entry.max_disks > asked.get("disks", 0), name
        assert (entry.local is not None and entry.local.nvme) or "local_disks" not in asked, name
    assert candidates(BOOK, (1e7, 0.0), **options) == (), "nothing sustains that"


def test_a_machine_that_would_measure_itself_or_has_no_published_limits_is_told():
    need = needs(limits("aws", "gp2", 20))

    def told(machine: str, need: tuple[float, float] = need) -> str | None:
        return too_small(machine, figures(BOOK.machines.types[machine]), need, "c6in.large")

    assert told("m5.large") == (
        "m5.large sustains 3,600 IOPS and 81 MB/s (18,750 and 594 for half an hour a day), "
        "but the disk needs 3,600 and 161: the VM, not the disk, would be the bottleneck; "
        "c6in.large is large enough"
    )
    assert "publishes no EBS limit for m3.medium" in str(told("m3.medium"))
    assert told("c6in.large") is told("c6in.large", needs(None)) is None
