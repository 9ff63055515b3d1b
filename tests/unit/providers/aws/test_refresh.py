"""Limits and prices of EC2 as its APIs tell them, made a patch of the catalogue."""

import json

import boto3
import pytest
from botocore.stub import Stubber
from tests.books import SHIPPED

from diskbench.catalog.books import Books
from diskbench.providers.aws.client import AwsClient, AwsTiming
from diskbench.providers.aws.refresh import overlay, refreshed

TODAY = "2026-11-21"
C4 = {
    "InstanceType": "c4.xlarge", "CurrentGeneration": False, "Hypervisor": "xen",
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]}, "VCpuInfo": {"DefaultVCpus": 4},
    "MemoryInfo": {"SizeInMiB": 7680}, "BurstablePerformanceSupported": False,
    "EbsInfo": {
        "EbsOptimizedSupport": "default",
        "EbsOptimizedInfo": {
            "BaselineBandwidthInMbps": 800, "BaselineThroughputInMBps": 100.0, "BaselineIops": 6500,
            "MaximumBandwidthInMbps": 800, "MaximumThroughputInMBps": 100.0, "MaximumIops": 6500,
        },
    },
}  # fmt: skip
NEW = {
    **C4, "InstanceType": "z9.large",
    "EbsInfo": {
        "EbsOptimizedSupport": "default", "MaximumEbsAttachments": 32,
        "EbsOptimizedInfo": {
            "BaselineThroughputInMBps": 100.0, "BaselineIops": 4000,
            "MaximumThroughputInMBps": 600.0, "MaximumIops": 20000,
        },
    },
}  # fmt: skip


def sold(unit, usd, **attributes):
    """One product as GetProducts has it: JSON in text."""
    price = {"unit": unit, "pricePerUnit": {"USD": f"{usd:.10f}"}}
    terms = {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.RATE": price}}}}
    return json.dumps({"product": {"attributes": attributes}, "terms": terms})


MACHINES = [sold("Hrs", 0.21, instanceType="c4.xlarge"), sold("Hrs", 0.5, instanceType="z9.large")]
STORAGE = [
    sold("GB-Mo", 0.11, volumeApiName="gp2"),
    sold("GB-Mo", 0.09, volumeApiName="gp3"),
    sold("IOPS-Mo", 0.006, volumeApiName="gp3", usagetype="EBS:VolumeP-IOPS.gp3"),
    sold("GiBps-mo", 40.96, volumeApiName="gp3", usagetype="EBS:VolumeP-Throughput.gp3"),
    sold("GB-Mo", 0.125, volumeApiName="io2"),
    sold("IOPS-Mo", 0.065, volumeApiName="io2", usagetype="EBS:VolumeP-IOPS.io2"),
    sold("IOPS-Mo", 0.046, volumeApiName="io2", usagetype="EBS:VolumeP-IOPS.io2.tier2"),
    sold("IOPS-Mo", 0.032, volumeApiName="io2", usagetype="EBS:VolumeP-IOPS.io2.tier3"),
    sold("GB-Mo", 0.05, usagetype="EBS:SnapshotUsage"),
]


def book_of(*types):
    machines, storage = ([json.loads(one) for one in told] for told in (MACHINES, STORAGE))
    return Books((overlay(SHIPPED.of("aws"), list(types), machines, storage, TODAY),)).of("aws")


def test_limits_and_prices_take_the_place_of_the_shipped_ones_and_say_where_they_are_from():
    book = book_of(C4)
    found = book.machines.types["c4.xlarge"]
    assert (found.iops, found.mb_per_s) == (6500, 100)
    assert found.burst_iops is None, "a maximum that is the baseline is none"
    assert found.max_disks == 40, "what the API does not tell stays"
    assert "DescribeInstanceTypes" in book.machines.sources[found.source].words()
    price = book.prices.machine_price("c4.xlarge")
    assert price[0] == book.prices.machine_hourly_usd("c4.xlarge") == 0.21
    assert book.prices.sources[price[1]].words().endswith(f"({TODAY})")
    types = book_of(NEW, {**NEW, "InstanceType": "z9.huge"}).machines.types
    found = types["z9.large"]
    assert (found.iops, found.burst_iops, found.max_disks) == (4000, 20_000, 32)
    assert "z9.huge" not in types


def test_volumes_are_priced_by_gib_iops_and_throughput():
    volumes = book_of(C4).prices.disks
    assert volumes["gp2"].per_gib == 0.11
    assert volumes["gp3"].per_iops[0].usd == 0.006
    assert volumes["gp3"].per_mib_per_s == pytest.approx(0.04)
    assert volumes["gp3"].free_iops == 3000
    tiers = [(step.up_to, step.usd) for step in volumes["io2"].per_iops]
    assert tiers == [(32_000, 0.065), (64_000, 0.046), (None, 0.032)]
    assert volumes["st1"].per_gib == 0.045, "what was not told stays"


@pytest.mark.slow
def test_the_apis_are_asked_as_their_models_say():
    """botocore holds requests and answers to the service's own model."""
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
    ec2, pricing = (boto3.client(name, **keys) for name in ("ec2", "pricing"))
    with Stubber(ec2) as types, Stubber(pricing) as prices:
        types.add_response("describe_instance_types", {"InstanceTypes": [C4]})
        prices.add_response("get_products", {"PriceList": MACHINES[:1], "NextToken": "more"})
        prices.add_response("get_products", {"PriceList": MACHINES[1:]})
        for _ in range(3):
            prices.add_response("get_products", {"PriceList": STORAGE[:2]})

        class Session:
            region = "us-east-1"
            profile = None

            def edge(self, service, timing):
                client = ec2 if service == "ec2" else pricing
                return AwsClient(client, service, self, timing)  # type: ignore[arg-type]

        found = refreshed(Session(), AwsTiming(), SHIPPED.of("aws"), TODAY)  # type: ignore[arg-type]
        types.assert_no_pending_responses()
        prices.assert_no_pending_responses()
    assert "c4.xlarge" in found.patches["machines.yaml"]["types"]
    patch = found.patches["prices.yaml"]
    assert patch["machines"]["refreshed-prices"]["c4.xlarge"] == 0.21
    assert patch["disks"]["gp2"]["per_gib"] == 0.11
