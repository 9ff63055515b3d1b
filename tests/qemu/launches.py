"""The requests with which diskbench rents a machine, as its adapters send them: nothing here says
what is in them."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

from tests.qemu.conftest import LEASE, LEASE_S

from diskbench.model.options import RentSpec
from diskbench.model.rental import Claim
from diskbench.providers.aws import disk_request as of_aws
from diskbench.providers.aws import provision as aws
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.azure import disk_request as of_azure
from diskbench.providers.azure import requests as azure
from diskbench.providers.azure.client import Azure, AzureTiming
from diskbench.providers.gcp import disk_request as of_gcp
from diskbench.providers.gcp import provision as gcp
from diskbench.providers.gcp.client import GceTiming
from diskbench.providers.gcp.requests import GcpOrder

USER = "debian"
"""The default user of the test image, and of Debian's images of AWS."""
MEMORY = 8 * 2**30
DISK_GIB = 1


@dataclass
class _Api:
    """Takes one call down in place of a cloud's API, and looks on."""

    answer: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)

    def call(self, *words):
        self.request = next(one for one in reversed(words) if isinstance(one, dict))
        return self.answer

    tried = call

    def note(self, text):
        self.notes.append(text)

    def stopping(self):
        return False

    def span(self, _name):
        return nullcontext()


def _order(keys, api):
    expires_at = time.time() + LEASE_S
    claim = Claim(lease_id=LEASE, expires_at=expires_at, owner="tests", version="0")
    return {"claim": claim, "spec": RentSpec(), "keys": keys, "watch": api}


def run_instances(keys, *, instance_id, zone):
    api = _Api({"Instances": [{"InstanceId": instance_id}]})
    details = of_aws.AwsResolved(
        account_id="123456789012", region=zone[:-1], size_gib=DISK_GIB, places=(),
        ssh_cidr=None, emulated=False, requested=of_aws.AwsDiskRequest(kind="volume", type="gp3"),
        machine=of_aws.AwsMachine(
            type="m6i.large", arch="x86_64", vcpus=2, memory_bytes=MEMORY, hypervisor="nitro",
            ebs_nvme=True, ebs_optimized="default", ebs=of_aws.EbsFigures(),
        ),
        image=of_aws.AwsImage(
            id="ami-0123456789abcdef0", name="debian-12", arch="x86_64", root_device="/dev/xvda",
            root_gib=8, user=USER,
        ),
    )  # fmt: skip
    order = AwsOrder(**_order(keys, api), details=details, timing=AwsTiming(), ec2=cast("Any", api))
    aws._launch(
        order, "sg-0123", of_aws.AwsZone(zone=zone, subnet="subnet-0123", vpc="vpc-0123"), 0
    )
    return api.request


def insert_instance(keys, *, zone, user):
    """Compute Engine's instances.insert: the instance; `user` is the image's login user."""
    api = _Api({})
    details = of_gcp.GcpResolved(
        project="a-project", region=zone.rpartition("-")[0], size_gib=DISK_GIB, boot_type="",
        zones=(zone,), emulated=False,
        requested=of_gcp.GcpDiskRequest(kind="disk", type="pd-balanced"),
        machine=of_gcp.GcpMachine(
            type="n2-standard-2", arch="x86_64", vcpus=2, memory_bytes=MEMORY, max_disks=16
        ),
        image=of_gcp.GcpImage(
            link="projects/p/global/images/i", name="i", arch="x86_64", root_gib=10, user=user
        ),
        network=of_gcp.GcpNetwork(network="global/networks/default"),
    )  # fmt: skip
    order = GcpOrder(
        **_order(keys, api), details=details, timing=GceTiming(), compute=cast("Any", api)
    )
    gcp._launch(order, zone)
    instance: dict[str, Any] = api.request["instanceResource"]
    return instance


def put_machine(keys):
    details = of_azure.AzureResolved(
        region="westeurope", size_gib=DISK_GIB, os_type="Premium_LRS", zones=(), subnet=None,
        ssh_cidr=None, emulated=False,
        requested=of_azure.AzureDiskRequest(kind="disk", type="Premium_LRS"),
        machine=of_azure.AzureMachine(
            size="Standard_D2s_v5", arch="x86_64", vcpus=2, memory_bytes=MEMORY, premium=True,
            interface="scsi", uncached=of_azure.DiskPath(), cached=of_azure.DiskPath(),
            cacheable=True, max_disks=4,
        ),
        image=of_azure.AzureImage(
            name="debian", reference={"publisher": "Debian", "offer": "debian-12", "sku": "12-gen2",
                                      "version": "0.1"},
        ),
    )  # fmt: skip
    timing = AzureTiming()
    edge = Azure("00000000-0000-0000-0000-000000000000", None).edge(timing)
    order = azure.AzureOrder(**_order(keys, _Api({})), details=details, timing=timing, edge=edge)
    return azure.machine(order, None).request
